#include "worker/agent/mcp/server_connections.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/conversation/sealed_secrets.h"
#include "model/tools/project_servers.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/secret_lookup.h"
#include "worker/agent/mcp/server_session.h"
#include "worker/agent/mcp/variables.h"

static struct server_connections *connections_new(struct agent *agent)
{
    json_auto_t *secrets = agent_open_secrets(agent);
    json_auto_t *spec = conversation_spec_with_secrets(&agent->conversation, secrets);
    json_auto_t *servers = mcp_servers_of(spec);
    struct server_connections *connections = NEW(struct server_connections);
    const char *name = NULL;
    json_t *server = NULL;

    connections->servers = json_object();
    connections->digests = project_servers_digests(agent->conversation.spec);
    json_object_foreach (servers, name, server)
        json_put(connections->servers, name, variables_expand(agent, server));
    json_object_foreach (connections->servers, name, server) {
        struct server_connection *connection = &connections->items[connections->n++];

        server_connection_init(connection, agent, name, server);
        server_connection_hide(agent, connection);
        server_session_restore(agent, connection);
    }
    return connections;
}

struct server_connections *server_connections_of(struct agent *agent)
{
    if (agent->servers == NULL)
        agent->servers = connections_new(agent);
    return agent->servers;
}

void server_connections_settle(struct agent *agent)
{
    json_auto_t *digests = NULL;

    if (agent->servers == NULL)
        return;
    digests = project_servers_digests(agent->conversation.spec);
    if (json_equal(agent->servers->digests, digests))
        return;
    (void)server_connections_keep_sessions(agent);
    server_connections_free(TAKE_PTR(agent->servers));
}

void server_connections_free(struct server_connections *connections)
{
    if (connections == NULL)
        return;
    for (size_t i = 0; i < connections->n; i++)
        server_connection_done(&connections->items[i]);
    json_decref(connections->servers);
    json_decref(connections->digests);
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

    for (size_t i = 0; i < connections->n; i++)
        has_changed = server_connection_take_changed(&connections->items[i]) || has_changed;
    return has_changed;
}

bool server_connections_keep_sessions(struct agent *agent)
{
    struct server_connections *connections = server_connections_of(agent);
    bool has_changed = false;

    for (size_t i = 0; i < connections->n; i++)
        has_changed = server_session_keep(agent, &connections->items[i]) || has_changed;
    return has_changed;
}
