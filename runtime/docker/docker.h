/*
 * Sandboxes as containers of a Docker engine (or another that speaks its API).
 *
 * Ownership: the backend's free function releases it; settings' texts live as long as the process.
 */
#ifndef DEFT_RUNTIME_DOCKER_DOCKER_H
#define DEFT_RUNTIME_DOCKER_DOCKER_H

#include <stdint.h>

#include "base/attr.h"
#include "runtime/docker/docker_body.h"

struct backend;
struct error;
struct http;

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

/* ERROR_NOT_FOUND when deft-action is missing. */
int docker_new(const struct docker_settings *settings, struct http *http,
               struct backend **backend_out, struct error *err) NONNULL MUST_CHECK;

#endif
