/*
 * Idle reaper: pauses unused sandboxes, stops those that have been paused for long, and deletes the
 * files of those that have been paused or stopped for long. Each decision is stored in the row
 * first, so it is carried out even after a crash.
 *
 * Threading: the reconciler's thread.
 * Decision: docs/decisions/0022-rest.md
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_IDLE_REAPER_H
#define DEFT_RUNTIME_LIFECYCLE_IDLE_REAPER_H

#include <stdint.h>

#include "base/attr.h"

struct error;
struct service;

/* Interval of checks, in milliseconds, so that limits are kept to about a tenth. */
int64_t idle_reaper_interval_ms(const struct service *service) NONNULL MUST_CHECK;
/* Checks all running and resting runtimes once. */
int idle_reaper_check(struct service *service, struct error *err) NONNULL MUST_CHECK;

#endif
