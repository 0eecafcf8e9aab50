#include "worker/agent/mcp/server_token.h"

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "auth/mcp_grant.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "store/user/document_store.h"
#include "worker/agent/mcp/server_connection.h"
#include "worker/context.h"

enum { RENEW_MS = 20000 };

static json_t *auth_of(const struct server_connection *connection)
{
    return json_object_get(connection->server, "auth");
}

static const json_t *state_of(const struct server_connection *connection)
{
    return json_object_get(auth_of(connection), "state");
}

bool server_token_is_of_sign_in(const struct server_connection *connection)
{
    return text_equal(json_text_or(auth_of(connection), "strategy", ""), "oauth2") &&
           state_of(connection) != NULL;
}

/* refused: NULL if the token has expired. */
static int renew(struct server_connection *connection, const char *refused, struct error *err)
{
    const struct worker_context *context = connection->context;
    const struct document_scope scope = {context->grant_db, &context->keyring, connection->user_id};
    const struct mcp_renewal renewal = {
        .scope = &scope,
        .oauth = {context->http, connection->address_of, clock_monotonic_ms() + RENEW_MS,
                  &connection->cancel},
        .url = json_text_or(connection->server, "url", ""),
        .refused = refused,
    };
    json_auto_t *fresh = NULL;

    if (mcp_grant_renew(&renewal, state_of(connection), &fresh, err) < 0)
        return -1;
    json_put(auth_of(connection), "state", json_incref(fresh));
    return server_connection_read_headers(connection, err);
}

int server_token_settle(struct server_connection *connection, struct error *err)
{
    if (!server_token_is_of_sign_in(connection) || !mcp_grant_is_over(state_of(connection)))
        return 0;
    return renew(connection, NULL, err);
}

int server_token_replace(struct server_connection *connection, struct error *err)
{
    const json_t *tokens = json_object_get(state_of(connection), "tokens");

    return renew(connection, json_text_or(tokens, "access_token", ""), err);
}
