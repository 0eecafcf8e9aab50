/*
 * The newest tokens of a user's sign-in at an MCP server. Copies of its first tokens lie in
 * settings and conversations, and a refresh token may be valid for one use only: so what it was
 * exchanged for is kept here, and is found by every refresh token that the sign-in ever had.
 *
 *     CLEANUP(mcp_grant_freep) struct mcp_grant *grant = NULL;
 *     if (mcp_grant_store_lock(scope, refresh_token, &grant, err) < 0) …
 *     … mcp_grant_state(grant), or exchange the tokens and mcp_grant_store_put()
 *
 * Ownership: a locked grant holds a connection and a transaction until mcp_grant_free(). Others who
 * want the grant wait meanwhile, at most for the statement timeout of their handle.
 * Threading: a grant belongs to one thread.
 * Decision: docs/decisions/0096-renewed-mcp-tokens.md
 */
#ifndef DEFT_STORE_USER_MCP_GRANT_STORE_H
#define DEFT_STORE_USER_MCP_GRANT_STORE_H

#include <jansson.h>

#include "base/attr.h"

struct document_scope;
struct error;
struct mcp_grant;

/* Refresh tokens of a grant, and grants of a user, that are remembered: the newest. */
enum { MCP_GRANT_TOKENS_MAX = 1000, MCP_GRANTS_MAX = 200 };

/*
 * Locks the grant of the scope's user that had that refresh token; a new one if none had. The scope
 * is borrowed until mcp_grant_free(). ERROR_UNAVAILABLE and ERROR_TIMEOUT: no connection, or
 * another one holds the grant for too long.
 */
int mcp_grant_store_lock(const struct document_scope *scope, const char *refresh_token,
                         struct mcp_grant **grant_out, struct error *err) NONNULL MUST_CHECK;
/* The tokens as they were last put, in clear; NULL if they were never renewed. Borrowed. */
const json_t *mcp_grant_state(const struct mcp_grant *grant) NONNULL MUST_CHECK;
/* Stores new tokens, sealed, with the refresh token that leads to them from now on; commits. */
int mcp_grant_store_put(struct mcp_grant *grant, const char *refresh_token, const json_t *state,
                        struct error *err) NONNULL MUST_CHECK;
/* Unlocks; what was not put is as it was. */
void mcp_grant_free(struct mcp_grant *grant);
void mcp_grant_freep(struct mcp_grant **grant) NONNULL;

#endif
