/*
 * A user signs in at an MCP server: it is asked who gives out tokens for it, the browser goes
 * there, and comes back with a code that deft changes for tokens. What the tokens are, the client
 * keeps: sealed, beside the server in the settings.
 *
 * Ownership: as store/user/mcp_sign_in_store.h.
 */
#ifndef DEFT_FCGI_AGENT_MCP_MCP_SIGN_IN_H
#define DEFT_FCGI_AGENT_MCP_MCP_SIGN_IN_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "fcgi/settings/keep.h"
#include "store/user/mcp_sign_in_store.h"

struct error;
struct mcp_return;
struct mcp_trial;
struct request;

/* Where browsers come back to, on the app origin. */
#define MCP_REDIRECT_PATH "/api/mcp/oauth/redirect"

/* What POST …/start answers. Errors in words for the user; ERROR_INTERNAL is ours. */
int mcp_sign_in_begin(const struct mcp_trial *trial, json_t **answer_out,
                      struct error *err) NONNULL MUST_CHECK;
/* True for the state that this one was begun with. */
bool mcp_sign_in_is_of(const struct mcp_sign_in *sign_in, const char *state) NONNULL MUST_CHECK;
/*
 * Ends the sign-in that the state belongs to, in whichever way; ERROR_NOT_FOUND when there is none
 * that waits for it.
 */
int mcp_sign_in_complete(const struct request *request, const struct mcp_return *back,
                         struct mcp_sign_in *sign_in_out, struct error *err) NONNULL MUST_CHECK;
/* What GET …/status answers. A new reference. */
json_t *mcp_sign_in_to_json(const struct request *request,
                            const struct mcp_sign_in *sign_in) NONNULL MUST_CHECK;

#endif
