/*
 * Networks of sandboxes: one each, in a subnet that the host has no route into.
 *
 * Ownership: a new network is tracked in docker->prealloc until a row names it.
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_NETWORK_H
#define DEFT_RUNTIME_DOCKER_NETWORK_H

#include "base/attr.h"
#include "runtime/backend/prealloc.h"

struct docker;
struct error;

/* With an unused name. */
int docker_make_network(struct docker *docker, char name_out[PREALLOC_NAME_BYTES],
                        struct error *err) NONNULL MUST_CHECK;
int docker_remove_network(struct docker *docker, const char *name,
                          struct error *err) NONNULL MUST_CHECK;

#endif
