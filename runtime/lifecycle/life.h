/*
 * Operations on a runtime: each takes its gate, reads its row, looks up the step in the state table
 * and carries it out. The row always tells what to do next, so a killed service resumes where it
 * stopped.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_LIFE_H
#define DEFT_RUNTIME_LIFECYCLE_LIFE_H

#include "base/attr.h"
#include "runtime/core/state.h"

struct error;
struct service;

/* Carries out a queued start; a failure is stored in the row. */
int life_launch(struct service *service, const char *id, struct error *err) NONNULL MUST_CHECK;
/* Pause, stop or delete: stores the desired state, then applies it. ERROR_NOT_FOUND. */
int life_wish(struct service *service, enum verb verb, const char *id,
              struct error *err) NONNULL MUST_CHECK;
/* Applies the verb if it leads to the row's desired state. */
int life_apply(struct service *service, enum verb verb, const char *id,
               struct error *err) NONNULL MUST_CHECK;
/* Records that its container is gone; no-op unless the row still names that container. */
int life_lose(struct service *service, const char *id, const char *container_id, const char *why,
              struct error *err) NONNULL MUST_CHECK;
/* Ends the sandbox and starts it again on its home with the current deft-action and settings; no-op
 * unless the row still names that container. */
int life_renew(struct service *service, const char *id, const char *container_id,
               struct error *err) NONNULL MUST_CHECK;
/* Stores a detail in the row of a running runtime; NULL removes it. */
int life_note(struct service *service, const char *id, const char *container_id, const char *detail,
              struct error *err) __attribute__((nonnull(1, 2, 3, 5))) MUST_CHECK;
/* Pauses the container again of a runtime that is paused in its row. */
int life_hold(struct service *service, const char *id, struct error *err) NONNULL MUST_CHECK;
/* Removes the container of a runtime that should have none. */
int life_clear(struct service *service, const char *id, struct error *err) NONNULL MUST_CHECK;

#endif
