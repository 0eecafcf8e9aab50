/*
 * Pauses and resumes containers.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_CONTAINER_PAUSE_H
#define DEFT_RUNTIME_DOCKER_CONTAINER_PAUSE_H

#include <stdbool.h>

#include "base/attr.h"

struct docker;
struct error;

/* Pause and resume a container; success if it is already so. */
int docker_pause_container(struct docker *docker, const char *container_id,
                           struct error *err) NONNULL MUST_CHECK;
int docker_resume_container(struct docker *docker, const char *container_id,
                            struct error *err) NONNULL MUST_CHECK;
int docker_container_is_paused(struct docker *docker, const char *container_id, bool *is_paused_out,
                               struct error *err) NONNULL MUST_CHECK;

#endif
