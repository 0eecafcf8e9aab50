/*
 * The conversations that this worker runs: a thread each, on a small stack. A thread claims its own
 * conversation, runs it, and ends.
 *
 * Ownership: the pool owns its slots and threads; pool_free() after pool_is_empty() said so.
 * Threading: all functions from the main thread; the threads meet it under the pool's lock and each
 *            slot's control.
 */
#ifndef DEFT_WORKER_POOL_H
#define DEFT_WORKER_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;
struct pool;
struct worker_context;

int pool_new(struct worker_context *context, struct pool **pool_out,
             struct error *err) NONNULL MUST_CHECK;
void pool_free(struct pool *pool);

/* Readable when a thread has claimed something or has ended: then call pool_tend(). */
int pool_fd(const struct pool *pool) NONNULL MUST_CHECK;
/* Something may wait to be claimed: a thread looks, if there is room. */
void pool_look(struct pool *pool) NONNULL;
/* Joins threads that have ended, and looks again where that made room. */
void pool_tend(struct pool *pool) NONNULL;
/* Renews all leases, and passes on what was found with them: lost leases and stop requests. */
void pool_beat(struct pool *pool) NONNULL;
/* True when this worker runs that conversation; "": any at all. */
bool pool_holds(struct pool *pool, const char *conversation_id) NONNULL MUST_CHECK;
/* No more claims; what runs is handed over at the next step, or after a few seconds. */
void pool_drain(struct pool *pool) NONNULL;
bool pool_is_empty(struct pool *pool) NONNULL MUST_CHECK;

#endif
