/*
 * Makes networks and homes in advance, so that a start does not wait for them.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_PREALLOC_REFILL_H
#define DEFT_RUNTIME_DOCKER_PREALLOC_REFILL_H

#include <stdbool.h>

#include "base/attr.h"

struct docker;
struct error;

/* Makes one more network or home, if too few are ready. */
int docker_refill(struct docker *docker, bool *is_full_out, struct error *err) NONNULL MUST_CHECK;

#endif
