/*
 * The tokens of MCP servers that a user has signed in at, in the form that is kept next to the
 * server in settings and conversations: {"tokens", "client_info", "token_expires_at"}; and their
 * renewal. Of all processes that hold the same tokens one renews them, and the others get the new
 * ones from the store.
 *
 * Threading: no state; any thread.
 * Source: RFC 6749, section 6; RFC 9700, section 4.14.2 (rotation).
 * Decision: docs/decisions/0096-renewed-mcp-tokens.md
 */
#ifndef DEFT_AUTH_MCP_GRANT_H
#define DEFT_AUTH_MCP_GRANT_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "client/oauth.h"

struct document_scope;
struct error;

/* Makes that form from a token endpoint's answer; shares both arguments. A new reference. */
json_t *mcp_grant_state_new(json_t *tokens, json_t *client) NONNULL MUST_CHECK;
/* Whether the access token expires within a minute and a refresh token is there; false for NULL. */
bool mcp_grant_is_over(const json_t *state) MUST_CHECK;
/* Whether there is a refresh token; false for NULL. */
bool mcp_grant_can_renew(const json_t *state) MUST_CHECK;

struct mcp_renewal {
    const struct document_scope *scope; /* of the user who signed in */
    struct oauth oauth;
    const char *url;     /* of the MCP server */
    const char *refused; /* access token that the server does not accept; NULL: none */
};

/*
 * For a state whose access token is over or was refused: *state_out is a new reference to one with
 * a usable token, either as another process has renewed it, or renewed here; from then on the
 * latter's refresh token may be the only valid one. Messages are for the user: ERROR_INVALID if
 * only a new sign-in helps, otherwise as oauth_ask_tokens() and mcp_grant_store_lock().
 */
int mcp_grant_renew(const struct mcp_renewal *renewal, const json_t *held, json_t **state_out,
                    struct error *err) NONNULL MUST_CHECK;

#endif
