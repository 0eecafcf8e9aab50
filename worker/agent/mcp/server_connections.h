/*
 * Connections of a run to its agent's MCP servers: over HTTP, one session each, made at the first
 * use and again if the server has forgotten it. A server that is a program in the sandbox is
 * started for each talk.
 *
 * Ownership: the agent owns its connections until server_connections_free().
 * Threading: the conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_MCP_SERVER_CONNECTIONS_H
#define DEFT_WORKER_AGENT_MCP_SERVER_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "client/cancel.h"
#include "client/mcp_headers.h"
#include "model/tools/mcp_config.h"

struct agent;
struct error;
struct mcp_session;

struct server_connection {
    const char *name; /* in the configuration */
    json_t *server;   /* its configuration, with its secrets */
    enum mcp_transport transport;
    struct mcp_headers headers;
    struct mcp_session *session; /* NULL: none is open */
    struct cancel renewal;       /* of its access token */
};

struct server_connections {
    json_t *servers;
    struct server_connection items[MCP_SERVERS_MAX];
    size_t n;
};

/* The agent's, which are made from its specification at the first call. Borrowed. */
struct server_connections *server_connections_of(struct agent *agent) NONNULL MUST_CHECK;
void server_connections_free(struct server_connections *connections);
/* The one of that name, or NULL. Borrowed. */
struct server_connection *server_connections_find(struct server_connections *connections,
                                                  const char *name) NONNULL MUST_CHECK;
/* True if a server has said that its tools have changed; says so once. */
bool server_connections_take_changed(struct server_connections *connections) NONNULL MUST_CHECK;

/*
 * Prepares a session, over HTTP, whose calls have that time together; nothing is sent yet.
 * ERROR_INVALID if the server's credentials cannot be used.
 */
int server_connection_prepare(const struct agent *agent, struct server_connection *connection,
                              int64_t timeout_ms, struct error *err) NONNULL MUST_CHECK;
void server_connection_close(struct server_connection *connection) NONNULL;
/* Takes the headers of further requests, also of an open session, from the configuration. */
int server_connection_read_headers(struct server_connection *connection,
                                   struct error *err) NONNULL MUST_CHECK;
/* Ends the talk of another thread with ERROR_CANCELLED. */
void server_connection_cancel(struct server_connection *connection) NONNULL;
/* Masks the server's credentials from now on: it may repeat them. */
void server_connection_hide(struct agent *agent,
                            const struct server_connection *connection) NONNULL;

#endif
