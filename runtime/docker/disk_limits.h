/*
 * Disk of the engine: free space, and which size limits the engine supports.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_DISK_LIMITS_H
#define DEFT_RUNTIME_DOCKER_DISK_LIMITS_H

#include <stdint.h>

#include "base/attr.h"

struct backend_space;
struct docker;
struct error;

/* Free space of the engine's data folder; ERROR_NOT_FOUND if it is on another machine. */
int docker_free_space(struct docker *docker, struct backend_space *space_out,
                      struct error *err) NONNULL MUST_CHECK;
/* Tries which size limits this engine supports. */
void docker_detect_limits(struct docker *docker) NONNULL;
/* Size limits of a new workspace, and of other writes in a sandbox; 0: none. */
int64_t docker_volume_limit(struct docker *docker) NONNULL MUST_CHECK;
int64_t docker_layer_limit(struct docker *docker) NONNULL MUST_CHECK;

#endif
