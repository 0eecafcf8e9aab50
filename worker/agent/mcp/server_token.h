/*
 * Access tokens of MCP servers that a user has signed in at: renewed before they expire, and when
 * the server does not accept them.
 *
 * Ownership: new tokens are the connection's, for the run; what the conversation stores stays, and
 * leads to the newest (auth/mcp_grant.h).
 * Threading: the thread that uses the connection. The conversation's thread masks the new tokens
 * afterwards, with server_connection_hide(). cancel_set(&connection->cancel) ends a renewal.
 */
#ifndef DEFT_WORKER_AGENT_MCP_SERVER_TOKEN_H
#define DEFT_WORKER_AGENT_MCP_SERVER_TOKEN_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct server_connection;

/* Before a talk: renews the token if it expires within a minute. Errors as mcp_grant_renew(). */
int server_token_settle(struct server_connection *connection, struct error *err) NONNULL MUST_CHECK;
/* Whether a server that refuses the credentials may accept new ones: the user has signed in. */
bool server_token_is_of_sign_in(const struct server_connection *connection) NONNULL MUST_CHECK;
/* After ERROR_UNAUTHENTICATED: renews the token that was refused. Errors as mcp_grant_renew(). */
int server_token_replace(struct server_connection *connection,
                         struct error *err) NONNULL MUST_CHECK;

#endif
