/*
 * Back end for sandboxes as containers of a Docker engine, or another engine with its API.
 *
 * Ownership: release with the backend's free function; settings' texts live as long as the process.
 */
#ifndef DEFT_RUNTIME_DOCKER_DOCKER_BACKEND_H
#define DEFT_RUNTIME_DOCKER_DOCKER_BACKEND_H

#include "base/attr.h"

struct backend;
struct docker_settings;
struct error;
struct http;

/* ERROR_NOT_FOUND if deft-action is missing. */
int docker_backend_new(const struct docker_settings *settings, struct http *http,
                       struct backend **backend_out, struct error *err) NONNULL MUST_CHECK;

#endif
