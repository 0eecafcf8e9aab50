#include "worker/agent/mcp/server_connections.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "client/mcp.h"
#include "client/mcp_session.h"
#include "model/conversation/conversation.h"
#include "model/conversation/sealed_secrets.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/model.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/core/secret_lookup.h"
#include "worker/agent/mcp/variables.h"
#include "worker/context.h"

void server_connection_hide(struct agent *agent, const struct server_connection *connection)
{
    const json_t *server = connection->server;
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

static struct server_connections *connections_new(struct agent *agent)
{
    json_auto_t *secrets = agent_open_secrets(agent);
    json_auto_t *spec = conversation_spec_with_secrets(&agent->conversation, secrets);
    json_auto_t *servers = mcp_servers_of(spec);
    struct server_connections *connections = NEW(struct server_connections);
    const char *name = NULL;
    json_t *server = NULL;

    connections->servers = json_object();
    json_object_foreach (servers, name, server)
        json_put(connections->servers, name, variables_expand(agent, server));
    json_object_foreach (connections->servers, name, server) {
        struct server_connection *connection = &connections->items[connections->n++];

        *connection = (struct server_connection){
            .name = name, .server = server, .transport = mcp_server_transport(server)};
        cancel_init(&connection->renewal);
        server_connection_hide(agent, connection);
    }
    return connections;
}

struct server_connections *server_connections_of(struct agent *agent)
{
    if (agent->servers == NULL)
        agent->servers = connections_new(agent);
    return agent->servers;
}

void server_connections_free(struct server_connections *connections)
{
    if (connections == NULL)
        return;
    for (size_t i = 0; i < connections->n; i++) {
        server_connection_close(&connections->items[i]);
        cancel_done(&connections->items[i].renewal);
    }
    json_decref(connections->servers);
    mem_free(connections);
}

struct server_connection *server_connections_find(struct server_connections *connections,
                                                  const char *name)
{
    for (size_t i = 0; i < connections->n; i++) {
        if (text_equal(connections->items[i].name, name))
            return &connections->items[i];
    }
    return NULL;
}

bool server_connections_take_changed(struct server_connections *connections)
{
    bool has_changed = false;

    for (size_t i = 0; i < connections->n; i++) {
        struct mcp_session *session = connections->items[i].session;

        if (session != NULL && mcp_take_tools_changed(mcp_session_connection(session)))
            has_changed = true;
    }
    return has_changed;
}

int server_connection_prepare(const struct agent *agent, struct server_connection *connection,
                              int64_t timeout_ms, struct error *err)
{
    const struct mcp_options options = {
        .http = agent->context->http,
        .url = json_text_or(connection->server, "url", ""),
        .headers = connection->headers.items,
        .uses_sse = connection->transport == MCP_SSE,
        .address_of = model_address_owner(&agent->conversation),
        .timeout_ms = timeout_ms,
    };

    server_connection_close(connection);
    cancel_reset(&connection->renewal);
    if (server_connection_read_headers(connection, err) < 0)
        return -1;
    connection->session = mcp_session_new(&options);
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
    drop_headers(connection);
}

int server_connection_read_headers(struct server_connection *connection, struct error *err)
{
    drop_headers(connection);
    return mcp_headers_read(&connection->headers, connection->server, err);
}

void server_connection_cancel(struct server_connection *connection)
{
    cancel_set(&connection->renewal);
    if (connection->session != NULL)
        mcp_cancel(mcp_session_connection(connection->session));
}
