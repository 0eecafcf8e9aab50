/*
 * Delivers webhooks: a thread that keeps a few calls in progress and otherwise checks every second
 * for due deliveries. All its state is in PostgreSQL: any number of workers may run it
 * concurrently, and any may be killed.
 *
 * Ownership: sender_free() releases everything, once sender_stop() has ended the thread.
 * Threading: all functions from the main thread.
 * Decision: docs/decisions/0017-webhooks.md
 */
#ifndef DEFT_WORKER_WEBHOOKS_SENDER_H
#define DEFT_WORKER_WEBHOOKS_SENDER_H

#include "base/attr.h"

struct error;
struct sender;
struct worker_context;

/* context: borrowed. *sender_out = NULL if there are no receivers. */
int sender_start(const struct worker_context *context, struct sender **sender_out,
                 struct error *err) NONNULL MUST_CHECK;
/*
 * Gives calls in progress a moment to end, and releases the rest to other workers. NULL is allowed.
 */
void sender_stop(struct sender *sender);
/* Call after http_free(): a dropped call may still signal the sender. */
void sender_free(struct sender *sender);

#endif
