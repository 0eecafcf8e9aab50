/*
 * Requests that a runtime run: finds it by its session or adds it, and queues its start.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_LIFECYCLE_CREATE_H
#define DEFT_RUNTIME_LIFECYCLE_LIFECYCLE_CREATE_H

#include "base/attr.h"

struct error;
struct runtime;
struct service;
struct start_spec;
struct tenant;

/*
 * The runtime of the spec's session, existing or newly added; its start is queued unless it runs.
 * The caller releases *runtime_out. ERROR_UNAVAILABLE if nothing can be started now, or its tenant
 * paused it and the spec is not the tenant's; ERROR_INVALID for an image that cannot be used,
 * ERROR_RATE_LIMITED if its tenant has too many.
 */
int lifecycle_create(struct service *service, struct start_spec *spec, struct runtime *runtime_out,
                     struct error *err) NONNULL MUST_CHECK;
/* For resume: sets the desired state to running and queues the start. ERROR_NOT_FOUND, also for a
 * runtime of another tenant (NULL: all may be resumed, except those that their tenants paused:
 * ERROR_UNAVAILABLE), ERROR_RATE_LIMITED. */
int lifecycle_resume(struct service *service, const char *id, const struct tenant *tenant,
                     struct error *err) __attribute__((nonnull(1, 2, 4))) MUST_CHECK;

#endif
