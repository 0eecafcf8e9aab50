/*
 * The sessions of a conversation at its MCP servers, kept in its row from run to run: any worker
 * can continue them. Only sessions over streamable HTTP that have a name.
 *
 * A session is sealed to its conversation and its server's name, with what is needed to end it. It
 * is only continued with the configuration that it was made with, apart from its tokens; after a
 * change, and in a fork, another one is made. A job tells the server of the end of a session.
 * Threading: the conversation's thread, or a job's.
 * Decision: docs/decisions/0099-living-mcp-servers.md
 */
#ifndef DEFT_WORKER_AGENT_MCP_SERVER_SESSION_H
#define DEFT_WORKER_AGENT_MCP_SERVER_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct agent;
struct error;
struct server_connection;
struct uuid;
struct worker_context;

/* Continues the session of a new connection, if one is kept. */
void server_session_restore(const struct agent *agent,
                            struct server_connection *connection) NONNULL;
/* Puts the session into the agent's state; true if that has changed and is to be stored. */
bool server_session_keep(struct agent *agent,
                         struct server_connection *connection) NONNULL MUST_CHECK;

/* A session of such a job. */
struct ended_session {
    struct worker_context *context;
    const struct uuid *conversation_id;
    const char *server; /* its name */
    const char *sealed;
};

/*
 * Tells the server that the session has ended, within that time, with a renewed token if it needs
 * one. Errors as mcp_end(), keyring_open() and mcp_grant_renew().
 */
int server_session_end(const struct ended_session *ended, int64_t timeout_ms,
                       struct error *err) NONNULL MUST_CHECK;

#endif
