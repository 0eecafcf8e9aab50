/*
 * The feed of conversations: takes the database's hints, and keeps the streams that readers use.
 *
 * Ownership: main() owns it; readers leave before feed_done().
 */
#ifndef DEFT_GATEWAY_FEED_FEED_H
#define DEFT_GATEWAY_FEED_FEED_H

#include <stdint.h>

#include "base/attr.h"
#include "gateway/feed/stream_registry.h"

struct db_async;
struct model_waits;
struct ticker;

struct feed {
    struct stream_registry streams;
    struct model_waits *model_waits;
    struct db_async *back; /* for events older than a stream keeps */
    int64_t max_readers;   /* of one conversation */
};

/* The pipes and the ticker are borrowed. */
void feed_init(struct feed *feed, struct db_async *live, struct db_async *back,
               struct ticker *ticker) NONNULL;
void feed_done(struct feed *feed) NONNULL;

/* A conversation has new events, or a new snapshot. */
void feed_take_change(struct feed *feed, const char *conversation_id) NONNULL;
/* Pieces of answers: lines of a conversation's id and JSON. */
void feed_take_progress(struct feed *feed, const char *lines) NONNULL;
/* Hints may have been missed. */
void feed_refresh(struct feed *feed) NONNULL;
/* Does what is due; returns the ms until something is, or -1. */
int64_t feed_tick(struct feed *feed, int64_t now_ms) NONNULL MUST_CHECK;

#endif
