/*
 * Containers: creation of those that never run, and removal.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_CONTAINER_H
#define DEFT_RUNTIME_DOCKER_CONTAINER_H

#include <jansson.h>

#include "base/attr.h"

struct docker;
struct error;

/* Creates a container that never runs; its id is in the reply, a new reference. */
int docker_make_helper(struct docker *docker, const json_t *body, json_t **reply_out,
                       struct error *err) NONNULL MUST_CHECK;
/* `name`: a container's name or id; success if it does not exist. */
int docker_remove_container(struct docker *docker, const char *name,
                            struct error *err) NONNULL MUST_CHECK;

#endif
