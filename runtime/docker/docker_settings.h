/*
 * What an operator sets for the Docker back end.
 *
 * Ownership: texts live as long as the process.
 */
#ifndef DEFT_RUNTIME_DOCKER_DOCKER_SETTINGS_H
#define DEFT_RUNTIME_DOCKER_DOCKER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

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

struct docker_settings {
    const char *socket;
    const char *api_version;
    const char *instance; /* prefix of all names, and a label */
    const char *action_binary;
    const char *ca_bundle; /* certificates for images that have none; "" or missing: none */
    const char *subnets; /* IPv4 range that sandbox networks are cut from, such as 10.201.0.0/16 */
    int64_t n_spares;    /* of each kind, kept ready */
    int64_t ready_ms;    /* a sandbox that is not ready by then has failed */
    int64_t may_pull;
    const char *registries; /* that are asked for images; separated by blanks */
    const char *own_image;  /* the administrator's, from wherever it comes */
    int64_t build_ms;       /* a build that takes longer has failed */
    struct docker_profile profile;
};

#endif
