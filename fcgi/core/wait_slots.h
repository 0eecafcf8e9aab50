/*
 * Limits requests that wait, possibly for minutes, for something outside this process: a sandbox, a
 * model, a server named by a user, or a worker. Each pool of threads has a number of slots for
 * them, so that other threads stay free, and no user can take all slots.
 *
 * Threading: any thread.
 * Decision: docs/decisions/0038-threads-by-kind.md
 */
#ifndef DEFT_FCGI_CORE_WAIT_SLOTS_H
#define DEFT_FCGI_CORE_WAIT_SLOTS_H

#include <stddef.h>

#include "base/attr.h"

struct error;
struct uuid;
struct wait_slots;

/* n_slots: at least 1; one user gets at most three quarters of them, rounded up. */
struct wait_slots *wait_slots_new(size_t n_slots) MUST_CHECK;
void wait_slots_free(struct wait_slots *slots);

/*
 * Takes a slot. user: "" counts as a user, too. ERROR_UNAVAILABLE when all are taken,
 * ERROR_RATE_LIMITED when that user's share is.
 */
int wait_slot_take(struct wait_slots *slots, const struct uuid *user,
                   struct error *err) NONNULL MUST_CHECK;
/* Returns the slot. */
void wait_slot_return(struct wait_slots *slots, const struct uuid *user) NONNULL;

#endif
