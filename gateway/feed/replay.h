/*
 * Events older than a stream keeps, read for a single reader.
 *
 * Ownership: an event_reader owns its replay.
 */
#ifndef DEFT_GATEWAY_FEED_REPLAY_H
#define DEFT_GATEWAY_FEED_REPLAY_H

#include <stdint.h>

#include "base/attr.h"

struct db_async;
struct error;
struct replay;
struct uuid;

struct replay_source {
    struct db_async *back; /* borrowed until the replay is freed */
    /* Events have arrived, or reading them failed with err. */
    void (*loaded)(void *owner, const struct error *err);
    void *owner;
};

struct replay *replay_new(const struct replay_source *source,
                          const struct uuid *conversation_id) NONNULL MUST_CHECK;
void replay_free(struct replay *replay);
/*
 * Returns the body of the event with that seq, borrowed until the next call. NULL if it is not
 * loaded: it is then requested.
 */
const char *replay_body(struct replay *replay, int64_t seq) NONNULL MUST_CHECK;

#endif
