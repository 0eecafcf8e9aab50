/*
 * Idle reaper: pauses unused sandboxes, ends those that have been paused for long, and removes the
 * files of those that have been at rest for long. Each decision is stored in the row first, so it
 * is carried out even after a crash.
 *
 * Threading: the reconciler's thread.
 * Decision: docs/decisions/0022-rest.md
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_REST_H
#define DEFT_RUNTIME_LIFECYCLE_REST_H

#include <stdint.h>

#include "base/attr.h"

struct error;
struct service;

/* Interval of checks, in milliseconds, so that limits are kept to about a tenth. */
int64_t rest_interval_ms(const struct service *service) NONNULL MUST_CHECK;
/* Checks all running and resting runtimes once. */
int rest_look(struct service *service, struct error *err) NONNULL MUST_CHECK;

#endif
