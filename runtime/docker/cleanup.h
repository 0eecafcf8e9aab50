/*
 * Removes objects of this instance that belong to no row, or all of them.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_CLEANUP_H
#define DEFT_RUNTIME_DOCKER_CLEANUP_H

#include "base/attr.h"

struct docker;
struct error;
struct kept_source;

/* Removes networks, volumes and build steps that belong to no row, and those made in advance beyond
 * the wanted number. */
int docker_remove_leftovers(struct docker *docker, const struct kept_source *source,
                            struct error *err) NONNULL MUST_CHECK;
/* Removes all objects of this instance. */
int docker_remove_all(struct docker *docker, struct error *err) NONNULL MUST_CHECK;

#endif
