/*
 * State of the Docker back end, and the names of its objects on the engine.
 *
 * Ownership: docker_backend.h creates and releases it.
 * Threading: settings and names are read-only after docker_backend_new(); the lock guards the rest.
 */
#ifndef DEFT_RUNTIME_DOCKER_DOCKER_H
#define DEFT_RUNTIME_DOCKER_DOCKER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/lock.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/prealloc.h"
#include "runtime/backend/sandbox_users.h"
#include "runtime/docker/docker_settings.h"
#include "runtime/docker/engine.h"

struct http_call;

/* A home "x" is the volumes <instance>-ws-x and <instance>-j-x; its suffix: see sandbox_users.h. */
#define HOME_ID_BYTES 11
#define DOCKER_NAME_BYTES 160

struct docker {
    struct backend backend; /* must be first */
    struct docker_settings settings;
    struct engine engine;
    struct prealloc *prealloc;
    char action_volume[DOCKER_NAME_BYTES]; /* named after a hash of its content */
    char empty_image[DOCKER_NAME_BYTES];
    struct lock lock;   /* guards all below */
    struct error state; /* ERROR_NONE: the engine is reachable and prepared */
    struct http_call *watch;
    struct http_call *build_call;
    bool is_stopping_builds;
    struct condition stop_wanted;
    bool is_stopping;
    json_t *known_images;  /* image → true: its architecture is supported */
    char architecture[32]; /* the engine's, in an image's terms: "amd64" */
    int64_t n_cpus;
    char root[256];            /* the engine's data folder; "" until known */
    bool limits_volumes;       /* supports size limits of volumes */
    bool limits_layers;        /* and of container file systems */
    struct users_in_use users; /* of homes made by this process; the engine lists the others */
    bool is_podman;            /* takes a seccomp profile as a file, Docker as text */
};

/* Names of the engine's objects of a runtime or a home; they begin with the instance. */
void docker_container_name(const struct docker *docker, const char *runtime_id,
                           char name[DOCKER_NAME_BYTES]) NONNULL;
void docker_workspace_name(const struct docker *docker, const char *home,
                           char name[DOCKER_NAME_BYTES]) NONNULL;
void docker_journal_name(const struct docker *docker, const char *home,
                         char name[DOCKER_NAME_BYTES]) NONNULL;
/* As found when the engine was last reached. */
bool docker_is_podman(struct docker *docker) NONNULL MUST_CHECK;

#endif
