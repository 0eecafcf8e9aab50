/*
 * The streams of a gateway by conversation, and those with work due later.
 *
 * Ownership: streams live as long as they have readers; the registry makes and frees them.
 */
#ifndef DEFT_GATEWAY_FEED_STREAM_REGISTRY_H
#define DEFT_GATEWAY_FEED_STREAM_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "gateway/feed/event_poller.h"
#include "gateway/feed/stream.h"

struct db_async;
struct ticker;
struct uuid;

struct stream_registry {
    void *by_conversation;  /* a tree of tsearch(), of the streams' ids */
    struct stream_list all; /* least recently polled first */
    struct stream_parts parts;
    struct event_poller poller;
    size_t n_cooled; /* since memory was last returned */
};

/* live, ticker: borrowed. */
void stream_registry_init(struct stream_registry *registry, struct db_async *live,
                          struct ticker *ticker) NONNULL;
/* No stream may be left. */
void stream_registry_done(struct stream_registry *registry) NONNULL;

/* Returns the stream of that conversation, or NULL when it has no reader. */
struct stream *stream_registry_find(const struct stream_registry *registry,
                                    const char *conversation_id) NONNULL MUST_CHECK;
/* Returns the stream of that conversation, new or shared. */
struct stream *stream_registry_get(struct stream_registry *registry,
                                   const struct uuid *conversation_id,
                                   const struct uuid *user_id) NONNULL MUST_CHECK;
/* Frees a stream that has no reader left. */
void stream_registry_drop_if_unused(struct stream_registry *registry,
                                    struct stream *stream) NONNULL;

/* Schedules reading that stream's events. */
void stream_registry_poll(struct stream_registry *registry, struct stream *stream) NONNULL;
/* As above, for all streams. */
void stream_registry_poll_all(struct stream_registry *registry) NONNULL;
/* Does what is due; returns the ms until the next snapshot is due, or -1. */
int64_t stream_registry_tick(struct stream_registry *registry, int64_t now_ms) NONNULL MUST_CHECK;

#endif
