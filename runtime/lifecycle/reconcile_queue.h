/*
 * Queue of work for the reconciler's thread, which brings the actual state to the desired one:
 * desired states in rows, containers without rows, rows without containers, packet filter rules,
 * networks and homes made in advance. It is woken by changes, and checks everything once a minute
 * anyway.
 *
 * Ownership: reconcile_queue_free() after its thread has ended.
 * Threading: reconcile_queue_add() and reconcile_queue_add_event() from any thread.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_RECONCILE_QUEUE_H
#define DEFT_RUNTIME_LIFECYCLE_RECONCILE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/backend/backend.h"

struct reconcile_queue;

enum { RECONCILE_QUEUE_NEWS_MAX = 256 };

/* Tasks, as bits. */
#define RECONCILE_DESIRED 1U /* rows whose status is not the desired one */
#define RECONCILE_ALL 2U     /* rows against containers, leftovers */
#define RECONCILE_REFILL 4U  /* networks and homes made in advance */
#define RECONCILE_RULES 8U   /* the packet filter */
#define RECONCILE_IDLE 32U   /* idle sandboxes */
/* As RECONCILE_REFILL, a second later: leaves the processor to a sandbox that has just started. */
#define RECONCILE_REFILL_LATER 16U

struct reconcile_queue *reconcile_queue_new(void) MUST_CHECK;
void reconcile_queue_free(struct reconcile_queue *reconcile_queue);
/* Adds tasks, as bits, and wakes the reconciler. */
void reconcile_queue_add(struct reconcile_queue *reconcile_queue, unsigned what) NONNULL;
/* Adds a copy of the event; when there is no room, a check of everything instead. */
void reconcile_queue_add_event(struct reconcile_queue *reconcile_queue,
                               const struct backend_event *event) NONNULL;
/* Asks the reconciler's thread to end. */
void reconcile_queue_stop(struct reconcile_queue *reconcile_queue) NONNULL;
bool reconcile_queue_is_stopping(struct reconcile_queue *reconcile_queue) NONNULL MUST_CHECK;
/*
 * Waits for tasks or events, at most until until_ms. Returns the tasks, as bits; *n_out events,
 * which the caller owns.
 */
unsigned reconcile_queue_take(struct reconcile_queue *reconcile_queue, int64_t until_ms,
                              struct backend_event events_out[RECONCILE_QUEUE_NEWS_MAX],
                              size_t *n_out) NONNULL MUST_CHECK;

#endif
