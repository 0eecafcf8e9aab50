/*
 * Homes: a workspace and a journal volume each, owned by a pair of users of its own.
 *
 * Ownership: a new home is tracked in docker->prealloc until a row names it.
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_HOME_VOLUMES_H
#define DEFT_RUNTIME_DOCKER_HOME_VOLUMES_H

#include "base/attr.h"
#include "runtime/backend/prealloc.h"

struct docker;
struct error;

/* With an unused name. */
int docker_make_home(struct docker *docker, char home_out[PREALLOC_NAME_BYTES],
                     struct error *err) NONNULL MUST_CHECK;
int docker_remove_home(struct docker *docker, const char *home,
                       struct error *err) NONNULL MUST_CHECK;
/* Reserve a home's users while its volumes are removed, so that no new home gets them. `home`: a
 * home's or a volume's name. */
void docker_hold_users(struct docker *docker, const char *home) NONNULL;
void docker_release_users(struct docker *docker, const char *home) NONNULL;

#endif
