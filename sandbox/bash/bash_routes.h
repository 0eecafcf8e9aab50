/*
 * Routes below /api/bash.
 * Source: docs/api/action-server.md
 */
#ifndef DEFT_SANDBOX_BASH_BASH_ROUTES_H
#define DEFT_SANDBOX_BASH_BASH_ROUTES_H

#include "base/attr.h"

struct server_request;

/* Handlers of the route table, sandbox/action_routes.c; each answers its request. */
void bash_handle_start(struct server_request *request) NONNULL;
void bash_handle_execute(struct server_request *request) NONNULL;
void bash_handle_stop(struct server_request *request) NONNULL;
void bash_handle_search(struct server_request *request) NONNULL;
void bash_handle_get(struct server_request *request) NONNULL;
void bash_handle_batch(struct server_request *request) NONNULL;
void bash_handle_clear(struct server_request *request) NONNULL;

#endif
