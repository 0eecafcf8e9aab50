/*
 * The tokens of an MCP server that a user has signed in at (auth/mcp_grant.h), as clients keep them
 * next to the server, and as a test of the server uses them.
 */
#ifndef DEFT_FCGI_AGENT_MCP_MCP_TOKEN_H
#define DEFT_FCGI_AGENT_MCP_MCP_TOKEN_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct mcp_probe;
struct request;

/* A copy whose secrets only this server can open. A new reference. */
json_t *mcp_token_seal(const struct request *request, json_t *state) NONNULL MUST_CHECK;
/*
 * For a test of a server (the probe's, which is changed here) with an expired token: requests a new
 * one, puts it into the server, and into the user's settings if they hold the old one. *state_out
 * is a new reference to the new state, NULL if there is none. Error messages are for the user.
 */
int mcp_token_freshen(const struct mcp_probe *probe, json_t *server, json_t **state_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
