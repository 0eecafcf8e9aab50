/*
 * Prepares the engine: its properties, the empty image, and the volume with deft-action that all
 * sandboxes share.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_SHARED_OBJECTS_H
#define DEFT_RUNTIME_DOCKER_SHARED_OBJECTS_H

#include <jansson.h>

#include "base/attr.h"

struct docker;
struct error;
struct strbuf;

/* Creates the objects that all sandboxes share: the empty image, the volume with deft-action. */
int docker_make_shared_objects(struct docker *docker, struct error *err) NONNULL MUST_CHECK;
/* Names the action volume after the hash of its content; ERROR_NOT_FOUND without the binary. */
int docker_name_action_volume(struct docker *docker, struct error *err) NONNULL MUST_CHECK;
/* Copies an archive into a volume through a container that never runs. */
int docker_fill_volumes(struct docker *docker, const json_t *body, const struct strbuf *archive,
                        struct error *err) NONNULL MUST_CHECK;

#endif
