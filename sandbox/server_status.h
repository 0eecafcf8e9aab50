/*
 * Routes that report the server's state.
 */
#ifndef DEFT_SANDBOX_SERVER_STATUS_H
#define DEFT_SANDBOX_SERVER_STATUS_H

#include "base/attr.h"

struct server_request;

/* Handlers of the route table, sandbox/action_routes.c; each answers its request. */
void server_status_handle_alive(struct server_request *request) NONNULL;
void server_status_handle_ready(struct server_request *request) NONNULL;
void server_status_handle_info(struct server_request *request) NONNULL;

#endif
