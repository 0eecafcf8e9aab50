/*
 * The ContainerCreate request for sandboxes: constants, and the few fields that vary. Pure.
 *
 * Source: Docker Engine API v1.41, ContainerCreate
 */
#ifndef DEFT_RUNTIME_DOCKER_CONTAINER_CONFIG_H
#define DEFT_RUNTIME_DOCKER_CONTAINER_CONFIG_H

#include <jansson.h>

#include "base/attr.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/mount_paths.h"

struct docker_profile;
struct error;

/* Labels of all objects of deft. */
#define LABEL_MANAGED "deft.managed"
#define LABEL_INSTANCE "deft.instance"
#define LABEL_RUNTIME "deft.runtime_id"
#define LABEL_SESSION "deft.session_id"
#define LABEL_CONVERSATION "deft.conversation_id"
#define LABEL_ROLE "deft.role"
/* For images only: containers inherit their image's labels. */
#define LABEL_IMAGE_OF "deft.image_of"

/* Names of one sandbox's objects. */
struct docker_names {
    const char *instance;
    const char *network;
    const char *action_volume;
    const char *workspace_volume;
    const char *journal_volume;
    const char *init_key; /* for the one call that sets session key and environment */
};

/* A new reference, or NULL with err set. */
json_t *container_config_json(const struct docker_profile *profile,
                              const struct docker_names *names, const struct sandbox_config *order,
                              struct error *err) NONNULL MUST_CHECK;
/* Request for a container that is never started, to copy files into a volume. */
json_t *container_config_helper_json(const char *instance, const char *image, const char *volume,
                                     const char *target, struct error *err) NONNULL MUST_CHECK;
/* {"deft.managed": "1", "deft.instance": …, "deft.role": …}. */
json_t *docker_labels(const char *instance, const char *role, struct error *err) NONNULL MUST_CHECK;

#endif
