#include "worker/agent/mcp/server_connection.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/mcp.h"
#include "client/mcp_session.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/model.h"
#include "worker/agent/core/secret_list.h"
#include "worker/context.h"

void server_connection_init(struct server_connection *connection, const struct agent *agent,
                            const char *name, json_t *server)
{
    *connection = (struct server_connection){
        .context = agent->context,
        .user_id = agent->conversation.user_id,
        .address_of = model_address_owner(&agent->conversation),
        .name = name,
        .server = json_incref(server),
        .transport = mcp_server_transport(server),
    };
    cancel_init(&connection->cancel);
}

void server_connection_done(struct server_connection *connection)
{
    server_connection_close(connection);
    cancel_done(&connection->cancel);
    json_decref(connection->server);
    json_decref(connection->kept);
}

void server_connection_hide(struct agent *agent, const struct server_connection *connection)
{
    server_connection_hide_config(agent, connection->server);
}

void server_connection_hide_config(struct agent *agent, const json_t *server)
{
    const json_t *auth = json_object_get(server, "auth");
    const json_t *tokens = json_object_get(json_object_get(auth, "state"), "tokens");
    const char *const values[] = {
        json_text_or(auth, "value", ""),
        json_text_or(auth, "password", ""),
        json_text_or(tokens, "access_token", ""),
        json_text_or(tokens, "refresh_token", ""),
        json_text_or(json_object_get(server, "headers"), "Authorization", ""),
    };
    const char *name = NULL;
    json_t *value = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        const char *word = strchr(values[i], ' ');

        secret_list_hide(&agent->secrets, values[i]);
        if (word != NULL)
            secret_list_hide(&agent->secrets, word + 1);
    }
    json_object_foreach (json_object_get(auth, "headers"), name, value) {
        if (json_is_string(value))
            secret_list_hide(&agent->secrets, json_string_value(value));
    }
}

static void note_changed(struct server_connection *connection, const struct server_connection *from)
{
    if (from->session != NULL && mcp_take_tools_changed(mcp_session_connection(from->session)))
        connection->has_changed_tools = true;
}

bool server_connection_take_changed(struct server_connection *connection)
{
    bool has_changed = false;

    note_changed(connection, connection);
    has_changed = connection->has_changed_tools;
    connection->has_changed_tools = false;
    return has_changed;
}

/* Everything but the time, which a call sets. */
static struct mcp_options options_of(struct server_connection *connection, int64_t timeout_ms)
{
    return (struct mcp_options){
        .http = connection->context->http,
        .url = json_text_or(connection->server, "url", ""),
        .headers = connection->headers.items,
        .uses_sse = connection->transport == MCP_SSE,
        .address_of = connection->address_of,
        .timeout_ms = timeout_ms,
        .cancel = &connection->cancel,
    };
}

int server_connection_prepare(struct server_connection *connection, int64_t timeout_ms,
                              struct error *err)
{
    const struct mcp_options options = options_of(connection, timeout_ms);

    server_connection_close(connection);
    if (server_connection_read_headers(connection, err) < 0)
        return -1;
    connection->session = mcp_session_new(&options);
    return 0;
}

int server_connection_resume(struct server_connection *connection, const json_t *kept,
                             struct error *err)
{
    const struct mcp_options options = options_of(connection, 0);

    server_connection_close(connection);
    if (server_connection_read_headers(connection, err) < 0)
        return -1;
    connection->session = mcp_session_resume(&options, kept);
    connection->is_greeted = true;
    return 0;
}

void server_connection_drop_ended(struct server_connection *connection)
{
    if (connection->is_greeted && !mcp_is_connected(mcp_session_connection(connection->session)))
        server_connection_close(connection);
}

int server_connection_greet(struct server_connection *connection, struct error *err)
{
    if (connection->is_greeted)
        return 0;
    if (mcp_session_begin(connection->session, err) < 0)
        return -1;
    connection->is_greeted = true;
    return 0;
}

static void drop_headers(struct server_connection *connection)
{
    mcp_headers_done(&connection->headers);
    connection->headers = (struct mcp_headers)MCP_HEADERS_INIT;
}

void server_connection_close(struct server_connection *connection)
{
    mcp_session_freep(&connection->session);
    connection->is_greeted = false;
    connection->is_shared = false;
    drop_headers(connection);
}

int server_connection_read_headers(struct server_connection *connection, struct error *err)
{
    drop_headers(connection);
    return mcp_headers_read(&connection->headers, connection->server, err);
}

/* --- copies --- */

static void share_session(struct server_connection *connection, struct server_connection *with)
{
    const struct mcp_options options = options_of(connection, 0);

    connection->session = mcp_session_share(with->session, &options);
}

/* A stream belongs to one thread at a time. */
static void take_session(struct server_connection *connection, struct server_connection *from)
{
    const struct mcp_options options = options_of(connection, 0);

    connection->session = TAKE_PTR(from->session);
    mcp_set_options(mcp_session_connection(connection->session), &options);
    server_connection_close(from);
}

/* Enters the session of another connection; stays without one if the credentials are bad. */
static void enter_session(struct server_connection *connection, struct server_connection *other)
{
    struct error ignored = ERROR_INIT;

    server_connection_close(connection);
    if (!other->is_greeted || server_connection_read_headers(connection, &ignored) < 0)
        return;
    if (connection->transport == MCP_STREAMABLE_HTTP)
        share_session(connection, other);
    else
        take_session(connection, other);
    connection->is_greeted = true;
}

void server_connection_copy(struct server_connection *connection,
                            struct server_connection *copy_out)
{
    *copy_out = *connection;
    copy_out->server = json_deep_copy(connection->server);
    copy_out->headers = (struct mcp_headers)MCP_HEADERS_INIT;
    copy_out->session = NULL;
    copy_out->kept = NULL;
    copy_out->has_changed_tools = false;
    cancel_init(&copy_out->cancel);
    enter_session(copy_out, connection);
    copy_out->is_shared = copy_out->is_greeted && copy_out->transport == MCP_STREAMABLE_HTTP;
}

static void take_tokens(struct server_connection *connection, const struct server_connection *copy)
{
    struct error ignored = ERROR_INIT;

    if (json_equal(connection->server, copy->server))
        return;
    json_put(connection->server, "auth", json_deep_copy(json_object_get(copy->server, "auth")));
    if (connection->session != NULL)
        error_ignore(server_connection_read_headers(connection, &ignored),
                     "the next request without credentials is refused");
}

void server_connection_join(struct server_connection *connection, struct server_connection *copy)
{
    bool is_intact = copy->is_greeted && mcp_session_is_intact(copy->session);

    take_tokens(connection, copy);
    note_changed(connection, copy);
    if (is_intact && !copy->is_shared)
        enter_session(connection, copy);
    if (!is_intact && copy->is_shared)
        server_connection_close(connection);
    server_connection_done(copy);
}
