/*
 * Tells receivers of conversations: a thread of its own, which keeps a few calls under way and
 * otherwise looks each second for what is due. All it knows is in PostgreSQL; any number of workers
 * may do this side by side, and any may be killed.
 *
 * Ownership: sender_free() releases everything, once sender_stop() has ended the thread.
 * Threading: all functions from the main thread.
 */
#ifndef DEFT_WORKER_WEBHOOKS_SENDER_H
#define DEFT_WORKER_WEBHOOKS_SENDER_H

#include "base/attr.h"

struct error;
struct sender;
struct worker_context;

/* context: borrowed. *sender_out = NULL when there is nobody to be told. */
int sender_start(const struct worker_context *context, struct sender **sender_out,
                 struct error *err) NONNULL MUST_CHECK;
/* Lets calls that are under way end for a moment, gives the others to other workers. NULL is fine.
 */
void sender_stop(struct sender *sender);
/* Behind http_free(): a call that is dropped may still tell the sender of its end. */
void sender_free(struct sender *sender);

#endif
