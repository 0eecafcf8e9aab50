/*
 * The one body that ever creates a sandbox: constants, and the few fields that vary. Pure.
 *
 * Source: Docker Engine API v1.41, ContainerCreate
 */
#ifndef DEFT_RUNTIME_DOCKER_DOCKER_BODY_H
#define DEFT_RUNTIME_DOCKER_DOCKER_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/layout.h"

struct error;

/* Labels of everything that is ours. */
#define LABEL_MANAGED "deft.managed"
#define LABEL_INSTANCE "deft.instance"
#define LABEL_RUNTIME "deft.runtime_id"
#define LABEL_SESSION "deft.session_id"
#define LABEL_CONVERSATION "deft.conversation_id"
#define LABEL_ROLE "deft.role"
/* Of images alone: containers inherit what stands on their image. */
#define LABEL_IMAGE_OF "deft.image_of"

/* What an operator may set for all sandboxes. */
struct docker_profile {
    int64_t memory_bytes;
    int64_t nano_cpus;
    int64_t n_pids;
    int64_t n_files;       /* 0: the engine's own limit */
    int64_t n_of_user;     /* processes of a user on the host; 0: the engine's own limit */
    int64_t oom_score_adj; /* 0: left to the engine */
    int64_t tmp_bytes;
    bool has_resolver;   /* the packet filter leads questions for names to deft's own */
    bool is_for_podman;  /* which gives a tmpfs no owner, and has other names for logs */
    int64_t disk_bytes;  /* of its workspace, and of what it writes elsewhere; 0: no limit */
    int64_t layer_bytes; /* what the engine can hold it to, outside the workspace; 0: nothing */
    int64_t shm_bytes;
    int64_t is_root_read_only;
    const char *oci_runtime;     /* "": the engine's default */
    const char *seccomp_profile; /* JSON text; "": the engine's default */
    const char *seccomp_path;    /* the same as a file of the host */
};

/* Names of what belongs to one sandbox. */
struct docker_names {
    const char *instance;
    const char *network;
    const char *action_volume;
    const char *workspace_volume;
    const char *journal_volume;
    const char *init_key; /* lets the sandbox take its session key and environment, once */
};

/* A new reference, or NULL with err set. */
json_t *docker_create_body(const struct docker_profile *profile, const struct docker_names *names,
                           const struct sandbox_order *order, struct error *err) NONNULL MUST_CHECK;
/* A container that is never started, to put files into a volume. */
json_t *docker_helper_body(const char *instance, const char *image, const char *volume,
                           const char *target, struct error *err) NONNULL MUST_CHECK;
/* {"deft.managed": "1", "deft.instance": …, "deft.role": …}. */
json_t *docker_labels(const char *instance, const char *role, struct error *err) NONNULL MUST_CHECK;

#endif
