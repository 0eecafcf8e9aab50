/*
 * The conversations that this worker runs: a thread each, with a small stack. A thread claims its
 * own conversation, runs it, and ends.
 *
 * Ownership: the pool owns its slots and threads; call pool_free() once pool_is_empty() is true.
 * Threading: all functions from the main thread; it shares state with the threads under the pool's
 *            lock and each slot's control.
 */
#ifndef DEFT_WORKER_POOL_H
#define DEFT_WORKER_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;
struct pool;
struct worker_context;

/* An empty pool of the size in the settings. context: borrowed. ERROR_UNAVAILABLE. */
int pool_new(struct worker_context *context, struct pool **pool_out,
             struct error *err) NONNULL MUST_CHECK;
void pool_free(struct pool *pool);

/* Readable when a thread has claimed something or has ended: then call pool_join_ended(). */
int pool_fd(const struct pool *pool) NONNULL MUST_CHECK;
/*
 * There may be work to claim: lets a thread look, if there is room, and if no lease of a run is
 * over. Renews those first.
 */
void pool_claim_work(struct pool *pool) NONNULL;
/* Joins ended threads, and looks for work if that made room. */
void pool_join_ended(struct pool *pool) NONNULL;
/* Renews all leases, and passes lost leases and stop requests on to the threads. */
void pool_renew_leases(struct pool *pool) NONNULL;
/* True if this worker runs that conversation; "": any. */
bool pool_holds(struct pool *pool, const char *conversation_id) NONNULL MUST_CHECK;
/* Stops claiming; hands running conversations over at their next step, or after a few seconds. */
void pool_drain(struct pool *pool) NONNULL;
bool pool_is_empty(struct pool *pool) NONNULL MUST_CHECK;

#endif
