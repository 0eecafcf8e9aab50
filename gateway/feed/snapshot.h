/*
 * The full_state that a stream's readers are due: loaded once, shared by all of them.
 *
 * Ownership: a stream owns its snapshot.
 */
#ifndef DEFT_GATEWAY_FEED_SNAPSHOT_H
#define DEFT_GATEWAY_FEED_SNAPSHOT_H

#include <stdint.h>

#include "base/attr.h"
#include "gateway/feed/event_cache.h"

struct db_async;
struct error;
struct frame;
struct snapshot;
struct uuid;

/* Where to load from; copied, and what it points to is borrowed until the load is over. */
struct snapshot_source {
    struct db_async *live;
    const struct uuid *conversation_id;
    const struct uuid *user_id;
    /* It was loaded, or failed with err. */
    void (*loaded)(void *owner, const struct error *err);
    void *owner;
};

struct snapshot *snapshot_new(void) MUST_CHECK;
void snapshot_free(struct snapshot *snapshot);
/*
 * Returns the seq of the snapshot for that round. -1 if there is none, or none of min_seq or later:
 * one is then requested from the source.
 */
int64_t snapshot_seq(struct snapshot *snapshot, const struct snapshot_source *source, int64_t round,
                     int64_t min_seq) NONNULL MUST_CHECK;
/* Returns its frame; the caller owns a reference. Only after a snapshot_seq() that is not -1. */
struct frame *snapshot_frame(struct snapshot *snapshot, enum frame_form form) NONNULL MUST_CHECK;

#endif
