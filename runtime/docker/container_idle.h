/*
 * Whether a container is idle, from the engine's process list.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_CONTAINER_IDLE_H
#define DEFT_RUNTIME_DOCKER_CONTAINER_IDLE_H

#include <stdbool.h>

#include "base/attr.h"

struct docker;
struct error;

/* Whether its server and shells are all idle. */
int docker_container_is_idle(struct docker *docker, const char *container_id, bool *is_at_rest_out,
                             struct error *err) NONNULL MUST_CHECK;

#endif
