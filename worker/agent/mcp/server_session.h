/*
 * The sessions of a conversation at its MCP servers, kept in its row from run to run: any worker
 * can continue them. Only sessions over streamable HTTP that have a name.
 *
 * A session is sealed to its conversation, its server and the server's configuration without its
 * tokens: after a change of the configuration, and in a fork, another one is made.
 * Threading: the conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_MCP_SERVER_SESSION_H
#define DEFT_WORKER_AGENT_MCP_SERVER_SESSION_H

#include <stdbool.h>

#include "base/attr.h"

struct agent;
struct server_connection;

/* Continues the session of a new connection, if one is kept. */
void server_session_restore(const struct agent *agent,
                            struct server_connection *connection) NONNULL;
/* Puts the session into the agent's state; true if that has changed and is to be stored. */
bool server_session_keep(struct agent *agent,
                         struct server_connection *connection) NONNULL MUST_CHECK;

#endif
