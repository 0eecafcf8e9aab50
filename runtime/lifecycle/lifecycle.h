/*
 * Operations on a runtime: each takes its lock, reads its row, looks up the step in the state table
 * and carries it out. The row always tells what to do next, so a killed service resumes where it
 * stopped.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_LIFECYCLE_H
#define DEFT_RUNTIME_LIFECYCLE_LIFECYCLE_H

#include "base/attr.h"
#include "runtime/core/runtime_state.h"

struct error;
struct service;

/* Carries out a queued start; a failure is stored in the row. */
int lifecycle_start(struct service *service, const char *id, struct error *err) NONNULL MUST_CHECK;
/* Pause, stop or delete: stores the desired state, then applies it. ERROR_NOT_FOUND. */
int lifecycle_request(struct service *service, enum runtime_verb verb, const char *id,
                      struct error *err) NONNULL MUST_CHECK;
/* Applies the verb if it leads to the row's desired state. */
int lifecycle_apply(struct service *service, enum runtime_verb verb, const char *id,
                    struct error *err) NONNULL MUST_CHECK;
/* Records that its container is gone; no-op unless the row still names that container. */
int lifecycle_record_loss(struct service *service, const char *id, const char *container_id,
                          const char *why, struct error *err) NONNULL MUST_CHECK;
/* Ends the sandbox and starts it again on its home with the current deft-action and settings; no-op
 * unless the row still names that container. */
int lifecycle_renew(struct service *service, const char *id, const char *container_id,
                    struct error *err) NONNULL MUST_CHECK;
/* Stores a detail in the row of a running runtime; NULL removes it. */
int lifecycle_set_detail(struct service *service, const char *id, const char *container_id,
                         const char *detail, struct error *err)
    __attribute__((nonnull(1, 2, 3, 5))) MUST_CHECK;
/* Pauses the container again if the row says that the runtime is paused. */
int lifecycle_pause_again(struct service *service, const char *id,
                          struct error *err) NONNULL MUST_CHECK;
/* Removes the container of a runtime that should have none. */
int lifecycle_remove_container(struct service *service, const char *id,
                               struct error *err) NONNULL MUST_CHECK;

#endif
