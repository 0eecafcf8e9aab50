/*
 * Users in the middle of signing in at an MCP server. The browser returns with a state that was
 * generated here; the first request that takes it continues, and it cannot be taken twice.
 *
 * Ownership: mcp_sign_in_done().
 * Threading: no state; any thread.
 */
#ifndef DEFT_STORE_USER_MCP_SIGN_IN_STORE_H
#define DEFT_STORE_USER_MCP_SIGN_IN_STORE_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;
struct error;
struct keyring;
struct document_scope;

#define SIGN_IN_STATES(X)                                                                          \
    X(SIGN_IN_PENDING, "pending")                                                                  \
    X(SIGN_IN_AUTHORIZING, "authorizing")                                                          \
    X(SIGN_IN_SUCCEEDED, "succeeded")                                                              \
    X(SIGN_IN_FAILED, "failed")

#define X(constant, text) constant,
enum sign_in_state { SIGN_IN_STATES(X) SIGN_IN_N_STATES };
#undef X

/* Its name on the wire and in the table. A constant. */
const char *sign_in_state_to_string(enum sign_in_state state) MUST_CHECK;

struct mcp_sign_in {
    struct uuid id;
    struct uuid user_id;
    enum sign_in_state status;
    json_t *body;         /* readable by clients */
    json_t *secrets;      /* sealed in the row */
    int64_t unchanged_ms; /* time in this state */
};

/* clang-format off */
#define MCP_SIGN_IN_INIT {.id = UUID_INIT, .user_id = UUID_INIT}
/* clang-format on */

void mcp_sign_in_done(struct mcp_sign_in *sign_in);

/* Stores a new one, pending; expired ones are removed, and a user keeps the newest few. */
int mcp_sign_in_store_add(const struct document_scope *scope, const struct mcp_sign_in *sign_in,
                          const char *state, struct error *err) NONNULL MUST_CHECK;
/* ERROR_NOT_FOUND when the user has none of that id. */
int mcp_sign_in_store_get(const struct document_scope *scope, const struct uuid *id,
                          struct mcp_sign_in *sign_in_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Sets the pending sign-in of a state to authorizing, for this caller alone; ERROR_NOT_FOUND when
 * there is none, or it has expired. scope->user_id is ignored.
 */
int mcp_sign_in_store_take(const struct document_scope *scope, const char *state,
                           struct mcp_sign_in *sign_in_out, struct error *err) NONNULL MUST_CHECK;
/* Stores the outcome. */
int mcp_sign_in_store_finish(const struct document_scope *scope, const struct mcp_sign_in *sign_in,
                             struct error *err) NONNULL MUST_CHECK;

#endif
