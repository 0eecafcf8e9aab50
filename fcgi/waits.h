/*
 * Requests that wait for something outside of deft's processes, which may take minutes: a sandbox,
 * a model, a server that a user names, or for a worker. Each pool of threads has so many places for
 * them, so that the other threads stay for all else, and no user takes all places.
 *
 * Threading: any thread.
 */
#ifndef DEFT_FCGI_WAITS_H
#define DEFT_FCGI_WAITS_H

#include <stddef.h>

#include "base/attr.h"

struct error;
struct uuid;
struct waits;

/* n_places: at least 1, of which one user has three quarters at most. */
struct waits *waits_new(size_t n_places) MUST_CHECK;
void waits_free(struct waits *waits);

/*
 * Takes a place. user: "" counts as one, too. ERROR_UNAVAILABLE when all are taken,
 * ERROR_RATE_LIMITED when that user's share is.
 */
int waits_begin(struct waits *waits, const struct uuid *user, struct error *err) NONNULL MUST_CHECK;
/* Gives it back. */
void waits_end(struct waits *waits, const struct uuid *user) NONNULL;

#endif
