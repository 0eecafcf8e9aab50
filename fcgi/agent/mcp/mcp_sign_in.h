/*
 * A user's sign-in at an MCP server: the server names its authorization server, the browser goes
 * there, and comes back with a code that deft exchanges for tokens. The client keeps the tokens:
 * sealed, next to the server in the settings.
 *
 * Ownership: as store/user/mcp_sign_in_store.h.
 */
#ifndef DEFT_FCGI_AGENT_MCP_MCP_SIGN_IN_H
#define DEFT_FCGI_AGENT_MCP_MCP_SIGN_IN_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "fcgi/settings/user_documents.h"
#include "store/user/mcp_sign_in_store.h"

struct error;
struct mcp_return;
struct mcp_probe;
struct request;

/* The redirect path for browsers, on the app origin. */
#define MCP_REDIRECT_PATH "/api/mcp/oauth/redirect"

/* The reply to POST …/start. Error messages are for the user; ERROR_INTERNAL is deft's fault. */
int mcp_sign_in_begin(const struct mcp_probe *probe, json_t **answer_out,
                      struct error *err) NONNULL MUST_CHECK;
/* True for the state that this sign-in was begun with. */
bool mcp_sign_in_is_of(const struct mcp_sign_in *sign_in, const char *state) NONNULL MUST_CHECK;
/*
 * Ends the sign-in that the state belongs to, successfully or not; ERROR_NOT_FOUND when none is
 * waiting for that state.
 */
int mcp_sign_in_complete(const struct request *request, const struct mcp_return *back,
                         struct mcp_sign_in *sign_in_out, struct error *err) NONNULL MUST_CHECK;
/* The reply to GET …/status. A new reference. */
json_t *mcp_sign_in_to_json(const struct request *request,
                            const struct mcp_sign_in *sign_in) NONNULL MUST_CHECK;

#endif
