/*
 * How a runtime comes to be wanted: found by its session or added, and queued for its start.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_LIFE_BEGIN_H
#define DEFT_RUNTIME_LIFECYCLE_LIFE_BEGIN_H

#include "base/attr.h"

struct error;
struct runtime;
struct service;
struct start_spec;
struct tenant;

/*
 * The runtime of the spec's session: the one that is there, or a new one, whose row is added; its
 * start is queued unless it runs. The caller releases *runtime_out.
 * ERROR_UNAVAILABLE when nothing can be started now, ERROR_INVALID for an image that cannot be,
 * ERROR_RATE_LIMITED when its tenant has too many.
 */
int life_begin(struct service *service, struct start_spec *spec, struct runtime *runtime_out,
               struct error *err) NONNULL MUST_CHECK;
/* Wishes it running and queues its start; for resume. ERROR_NOT_FOUND, also for one that is not the
 * tenant's (NULL: all may be resumed), ERROR_RATE_LIMITED. */
int life_resume(struct service *service, const char *id, const struct tenant *tenant,
                struct error *err) __attribute__((nonnull(1, 2, 4))) MUST_CHECK;

#endif
