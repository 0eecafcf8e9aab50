/*
 * What can happen to a runtime: each function takes its gate, reads its row, asks the state table,
 * and does it. The row tells at any moment what is to be done next, so a killed service goes on
 * where it stopped.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_LIFE_H
#define DEFT_RUNTIME_LIFECYCLE_LIFE_H

#include "base/attr.h"
#include "runtime/core/state.h"

struct error;
struct service;

/* Starts what was queued; a failure is in the row afterwards. */
int life_launch(struct service *service, const char *id, struct error *err) NONNULL MUST_CHECK;
/* Pause, stop, delete: first written down as a wish, then done. ERROR_NOT_FOUND. */
int life_wish(struct service *service, enum verb verb, const char *id,
              struct error *err) NONNULL MUST_CHECK;
/* Does what the row wishes. */
int life_apply(struct service *service, enum verb verb, const char *id,
               struct error *err) NONNULL MUST_CHECK;
/* Its container is no more; no-op unless the row still names that container. */
int life_lose(struct service *service, const char *id, const char *container_id, const char *why,
              struct error *err) NONNULL MUST_CHECK;
/* Ends the sandbox and starts it again on its home, with what starts get now; no-op unless the row
 * still names that container. */
int life_renew(struct service *service, const char *id, const char *container_id,
               struct error *err) NONNULL MUST_CHECK;
/* Writes words into the row of a running one; NULL removes them. */
int life_note(struct service *service, const char *id, const char *container_id, const char *detail,
              struct error *err) __attribute__((nonnull(1, 2, 3, 5))) MUST_CHECK;
/* Holds one again that is paused, and runs all the same. */
int life_hold(struct service *service, const char *id, struct error *err) NONNULL MUST_CHECK;
/* Removes the container of a runtime that should have none. */
int life_clear(struct service *service, const char *id, struct error *err) NONNULL MUST_CHECK;

#endif
