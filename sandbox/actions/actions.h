/*
 * Actions: tool calls under an id, each run at most once. A repeated request for a running id waits
 * for the same result; a later one gets the stored result.
 *
 * Ownership: struct actions owns the conversations with their shells and editors.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_ACTIONS_ACTIONS_H
#define DEFT_SANDBOX_ACTIONS_ACTIONS_H

#include "base/attr.h"

struct action_server;
struct actions;
struct server_request;

struct actions *actions_new(struct action_server *server) NONNULL MUST_CHECK;
void actions_free(struct actions *actions);

/* Handlers; see routes.c. */
void actions_handle_put(struct server_request *request) NONNULL;
void actions_handle_get(struct server_request *request) NONNULL;
void actions_handle_delete(struct server_request *request) NONNULL;
void actions_handle_acknowledge(struct server_request *request) NONNULL;
void actions_handle_interrupt(struct server_request *request) NONNULL;
void actions_handle_progress(struct server_request *request) NONNULL;
void actions_handle_forget(struct server_request *request) NONNULL;

#endif
