/*
 * Lets sandboxes rest: pauses those that nobody uses, ends those that have been paused for long,
 * and removes the files of those that nobody came back to. What was decided stands in the row
 * first, so that whoever comes after a kill goes on with it.
 *
 * Threading: the reconciler's.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_REST_H
#define DEFT_RUNTIME_LIFECYCLE_REST_H

#include <stdint.h>

#include "base/attr.h"

struct error;
struct service;

/* How often to look, so that limits are kept to about a tenth; in milliseconds. */
int64_t rest_interval_ms(const struct service *service) NONNULL MUST_CHECK;
/* One look at all that runs or rests. */
int rest_look(struct service *service, struct error *err) NONNULL MUST_CHECK;

#endif
