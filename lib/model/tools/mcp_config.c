#include "model/tools/mcp_config.h"

#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/tools/mcp.h"
#include "model/tools/project_servers.h"

enum { CALL_MS = 300000, CALL_MIN_S = 1, MS_PER_S = 1000, CALL_MAX_S = MCP_CALL_MAX_MS / MS_PER_S };

static bool is_usable(const json_t *server)
{
    return json_bool_or(server, "enabled", 1) != 0 &&
           (json_text_or(server, "url", "")[0] != '\0' ||
            json_text_or(server, "command", "")[0] != '\0');
}

static json_t *config_of(const json_t *spec)
{
    return json_object_get(json_object_get(spec, "agent"), "mcp_config");
}

/* Servers that are there stay. */
static void add_usable(json_t *servers, json_t *more)
{
    const char *name = NULL;
    json_t *server = NULL;

    json_object_foreach (more, name, server) {
        if (is_usable(server) && json_object_size(servers) < MCP_SERVERS_MAX &&
            json_object_get(servers, name) == NULL)
            json_put(servers, name, json_incref(server));
    }
}

bool mcp_server_is_own(const json_t *spec, const char *name)
{
    return json_object_get(config_of(spec), name) != NULL;
}

json_t *mcp_servers_of(const json_t *spec)
{
    json_auto_t *of_project = project_servers_consented(spec);
    json_t *servers = json_object();

    add_usable(servers, config_of(spec));
    add_usable(servers, of_project);
    return servers;
}

enum mcp_transport mcp_server_transport(const json_t *server)
{
    const char *url = json_text_or(server, "url", "");
    const char *name = json_text_or(server, "transport", json_text_or(server, "type", ""));

    if (url[0] == '\0' || text_equal(name, "stdio"))
        return MCP_STDIO;
    if (text_equal(name, "sse") || (name[0] == '\0' && strstr(url, "/sse") != NULL))
        return MCP_SSE;
    return MCP_STREAMABLE_HTTP;
}

bool mcp_server_is_sequential(const json_t *spec, const char *name)
{
    json_auto_t *servers = mcp_servers_of(spec);
    const json_t *server = json_object_get(servers, name);

    return server != NULL && mcp_server_transport(server) == MCP_SSE;
}

int64_t mcp_server_call_ms(const json_t *server)
{
    double own_s = json_number_or(server, "timeout", 0);

    if (own_s < CALL_MIN_S || own_s > CALL_MAX_S)
        return CALL_MS;
    return (int64_t)(own_s * MS_PER_S);
}

bool mcp_servers_need_sandbox(const struct conversation *conversation)
{
    json_auto_t *servers = mcp_servers_of(conversation->spec);
    const char *name = NULL;
    json_t *server = NULL;

    json_object_foreach (servers, name, server) {
        if (mcp_server_transport(server) == MCP_STDIO)
            return true;
    }
    return false;
}

json_t *mcp_server_program(const json_t *server)
{
    static const char *const members[] = {"command", "args", "env", "cwd"};
    json_t *program = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put(program, members[i], json_incref(json_object_get(server, members[i])));
    return program;
}

json_t *mcp_server_order(const json_t *server, json_t *messages, int64_t timeout_ms)
{
    json_t *order = mcp_server_program(server);

    json_put(order, "timeout_ms", json_integer(timeout_ms));
    json_put(order, "messages", json_incref(messages));
    return order;
}
