/*
 * Volumes, with a size limit where the engine supports one.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_VOLUME_H
#define DEFT_RUNTIME_DOCKER_VOLUME_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct docker;
struct error;

/* {"size": "…"}; a new reference, or NULL with err set. */
json_t *docker_size_option(int64_t bytes, struct error *err) NONNULL MUST_CHECK;
/* An existing one is left unchanged. size_bytes: its size limit; 0: none. */
int docker_make_volume(struct docker *docker, const char *name, const char *role,
                       int64_t size_bytes, struct error *err) NONNULL MUST_CHECK;
/* Success if it does not exist. */
int docker_remove_volume(struct docker *docker, const char *name,
                         struct error *err) NONNULL MUST_CHECK;

#endif
