/*
 * The streams of a gateway by conversation, and those with work due later.
 *
 * Ownership: streams belong to their subscribers; this is only an index.
 */
#ifndef DEFT_GATEWAY_STREAMS_H
#define DEFT_GATEWAY_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct gateway;
struct stream;

/* A list through one of a stream's links. */
struct stream_list {
    struct stream *first;
    struct stream *last;
};

struct streams {
    struct stream **buckets;
    size_t n_buckets; /* a power of two, or 0 */
    size_t n;
    struct stream_list all;  /* least recently looked at first */
    struct stream_list due;  /* with a snapshot that is held back briefly */
    struct stream_list warm; /* with events in memory, longest unused first */
    size_t n_cooled;         /* since memory was last returned */
};

void streams_done(struct streams *streams) NONNULL;
/* Returns the stream of that conversation, or NULL when it has no subscriber. */
struct stream *streams_find(const struct streams *streams,
                            const char *conversation_id) NONNULL MUST_CHECK;
void streams_add(struct streams *streams, struct stream *stream) NONNULL;
void streams_remove(struct streams *streams, struct stream *stream) NONNULL;

/* Does what is due; returns the ms until the next snapshot is due, or -1. */
int64_t streams_tick(struct gateway *gateway, int64_t now_ms) NONNULL MUST_CHECK;

#endif
