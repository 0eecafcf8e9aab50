/*
 * Connections of a run to its agent's MCP servers.
 *
 * Ownership: the agent owns its connections until server_connections_free().
 * Threading: the conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_MCP_SERVER_CONNECTIONS_H
#define DEFT_WORKER_AGENT_MCP_SERVER_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/tools/mcp_config.h"
#include "worker/agent/mcp/server_connection.h"

struct agent;

struct server_connections {
    json_t *servers;
    json_t *digests; /* of the workspace's servers among them */
    struct server_connection items[MCP_SERVERS_MAX];
    size_t n;
};

/* The agent's, which are made from its specification at the first call. Borrowed. */
struct server_connections *server_connections_of(struct agent *agent) NONNULL MUST_CHECK;
/*
 * Before a step: drops connections that were made before the user's consents to the workspace's
 * servers changed. No call runs.
 */
void server_connections_settle(struct agent *agent) NONNULL;
void server_connections_free(struct server_connections *connections);
/* The one of that name, or NULL. Borrowed. */
struct server_connection *server_connections_find(struct server_connections *connections,
                                                  const char *name) NONNULL MUST_CHECK;
/* True if a server has said that its tools have changed; says so once. */
bool server_connections_take_changed(struct server_connections *connections) NONNULL MUST_CHECK;
/* Puts the sessions into the agent's state; true if that has changed and is to be stored. */
bool server_connections_keep_sessions(struct agent *agent) NONNULL;

#endif
