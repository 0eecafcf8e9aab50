/*
 * Queue of work for the reconciler's thread, which brings the actual state to the desired one:
 * desired states in rows, containers without rows, rows without containers, packet filter rules,
 * spares. It is woken by changes, and checks everything once a minute anyway.
 *
 * Ownership: reconciler_free() after its thread has ended.
 * Threading: reconciler_ask() and reconciler_tell() from any thread.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_RECONCILER_H
#define DEFT_RUNTIME_LIFECYCLE_RECONCILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/backend/backend.h"

struct reconciler;

enum { RECONCILER_NEWS_MAX = 256 };

/* Tasks, as bits. */
#define RECONCILE_WISHES 1U /* rows whose status is not the desired one */
#define RECONCILE_ALL 2U    /* rows against containers, leftovers */
#define RECONCILE_REFILL 4U /* spares */
#define RECONCILE_RULES 8U  /* the packet filter */
#define RECONCILE_REST 32U  /* idle sandboxes */
/* As RECONCILE_REFILL, a second later: leaves the processor to a sandbox that has just started. */
#define RECONCILE_REFILL_LATER 16U

struct reconciler *reconciler_new(void) MUST_CHECK;
void reconciler_free(struct reconciler *reconciler);
void reconciler_ask(struct reconciler *reconciler, unsigned what) NONNULL;
void reconciler_tell(struct reconciler *reconciler, const struct news *news) NONNULL;
void reconciler_stop(struct reconciler *reconciler) NONNULL;
bool reconciler_is_stopping(struct reconciler *reconciler) NONNULL MUST_CHECK;
/*
 * Waits for tasks or events, at most until until_ms. Returns the tasks, as bits; *n_out events,
 * which the caller owns.
 */
unsigned reconciler_take(struct reconciler *reconciler, int64_t until_ms,
                         struct news news_out[RECONCILER_NEWS_MAX],
                         size_t *n_out) NONNULL MUST_CHECK;

#endif
