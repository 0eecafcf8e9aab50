/*
 * The tokens of an MCP server that a user has signed in at, in the form in which clients keep them
 * beside the server: {"tokens", "client_info", "token_expires_at"}.
 */
#ifndef DEFT_FCGI_AGENT_MCP_MCP_TOKEN_H
#define DEFT_FCGI_AGENT_MCP_MCP_TOKEN_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct mcp_trial;
struct request;

/* That form of a token endpoint's answer; it shares both. A new reference. */
json_t *mcp_token_state(json_t *tokens, json_t *client) NONNULL MUST_CHECK;
/* A copy whose secrets only this server can open. A new reference. */
json_t *mcp_token_seal(const struct request *request, json_t *state) NONNULL MUST_CHECK;
/*
 * For a try of a server (the trial's, which is changed here) whose token is over: asks for a new
 * one, puts it into the server, and into the user's settings where they hold the old one.
 * *state_out is a new reference to what is new, NULL when nothing is. Errors in words.
 */
int mcp_token_freshen(const struct mcp_trial *trial, json_t *server, json_t **state_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
