/*
 * Settings of the Docker back end.
 *
 * Ownership: texts live as long as the process.
 * Decision: docs/decisions/0024-disk.md
 */
#ifndef DEFT_RUNTIME_DOCKER_DOCKER_SETTINGS_H
#define DEFT_RUNTIME_DOCKER_DOCKER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* Settings of all sandboxes. */
struct docker_profile {
    int64_t memory_bytes;
    int64_t nano_cpus;
    int64_t n_pids;
    int64_t n_files;       /* 0: the engine's default */
    int64_t n_of_user;     /* a user's processes on the host; 0: the engine's default */
    int64_t oom_score_adj; /* 0: the engine's default */
    int64_t tmp_bytes;
    bool has_resolver;   /* the packet filter redirects DNS queries to deft's resolver */
    bool is_for_podman;  /* which has no tmpfs owner and another name for log files */
    int64_t disk_bytes;  /* of its workspace, and of its other writes; 0: unlimited */
    int64_t layer_bytes; /* limit outside the workspace, if supported; 0: none */
    int64_t shm_bytes;
    int64_t is_root_read_only;
    const char *oci_runtime;     /* "": the engine's default */
    const char *seccomp_profile; /* JSON text; "": the engine's default */
    const char *seccomp_path;    /* the same as a file on the host */
};

struct docker_settings {
    const char *socket;
    const char *api_version;
    const char *instance; /* prefix of all names, and label value */
    const char *action_binary;
    const char *ca_bundle; /* for images without certificates; "" or missing: none */
    const char *subnets;   /* IPv4 range for sandbox networks, such as 10.201.0.0/16 */
    int64_t n_prealloc;    /* networks, and homes, to make in advance */
    int64_t ready_ms;      /* a start fails if the sandbox is not ready by then */
    int64_t may_pull;
    const char *registries; /* allowed sources of images; separated by blanks */
    const char *own_image;  /* the administrator's, from any registry */
    int64_t build_ms;       /* a build that takes longer fails */
    struct docker_profile profile;
};

#endif
