/*
 * Starts a sandbox's container and waits until its server listens; explains failures.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_CONTAINER_START_H
#define DEFT_RUNTIME_DOCKER_CONTAINER_START_H

#include "base/attr.h"

struct docker;
struct error;
struct sandbox_config;
struct started_sandbox;

/* Creates and starts the order's container; returns once its server listens. */
int docker_start_container(struct docker *docker, const struct sandbox_config *order,
                           struct started_sandbox *place_out, struct error *err) NONNULL MUST_CHECK;
/* Why it ended, from its state and its last output; `tail` may be "". */
void docker_explain_end(struct docker *docker, const char *name, const char *tail,
                        struct error *why_out) NONNULL;

#endif
