#include "worker/agent/mcp/program_call.h"

#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "model/tools/agent_tool.h"
#include "model/tools/mcp.h"
#include "model/tools/mcp_config.h"
#include "model/tools/mcp_tools.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/call_action.h"
#include "worker/agent/mcp/server_connection.h"
#include "worker/agent/mcp/server_connections.h"
#include "worker/agent/mcp/variables.h"
#include "worker/agent/sandbox/own_action.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/agent/sandbox/sandbox_call.h"

/* The sandbox ends a call in time, which progress renews; this much later the sandbox is considered
 * hung. */
enum { MARGIN_MS = 60000 };

#define TOOL "mcp"

static struct server_connection *connection_of(struct agent *agent, const struct agent_tool *tool)
{
    return server_connections_find(server_connections_of(agent), mcp_tool_server(tool));
}

bool program_call_is_possible(struct agent *agent, const struct agent_tool *tool)
{
    const struct server_connection *connection = connection_of(agent, tool);

    return agent->sandbox != NULL && connection != NULL && connection->transport == MCP_STDIO;
}

/* name: of the tool; NULL: the list. A new reference. */
static json_t *args_of(const struct server_connection *connection, const char *name)
{
    json_t *args = json_object();

    json_put_text(args, "server", connection->name);
    json_put_text(args, "method", name != NULL ? "tools/call" : "tools/list");
    json_put_text(args, "name", name);
    return args;
}

/* The members that contain secrets. A new reference. */
static json_t *more_of(const struct server_connection *connection, int64_t timeout_ms)
{
    json_t *more = json_object();

    json_put(more, "program", mcp_server_program(connection->server));
    json_put(more, "timeout_ms", json_integer(timeout_ms));
    return more;
}

struct sandbox_tool_call *program_call_begin(struct agent *agent, size_t action,
                                             const struct agent_tool *tool)
{
    const struct server_connection *connection = connection_of(agent, tool);
    int64_t timeout_ms = mcp_server_call_ms(connection->server);
    json_auto_t *args = args_of(connection, mcp_tool_name(tool));
    json_auto_t *more = more_of(connection, timeout_ms);
    const struct sandbox_call_form form = {.tool = TOOL,
                                           .observation_kind = MCP_OBSERVATION_KIND,
                                           .args = args,
                                           .more = more,
                                           .timeout_ms = MCP_CALL_MAX_MS + MARGIN_MS};

    json_put(more, "arguments",
             variables_expand(agent, json_object_get(call_action_to_run(agent, action), "data")));
    return sandbox_call_begin_as(agent, action, &form);
}

void program_call_settle(struct agent *agent, const struct agent_tool *tool, json_t **observation,
                         struct strbuf *problem)
{
    struct server_connection *connection = connection_of(agent, tool);
    const char *failure = json_text_or(*observation, "error", NULL);

    if (connection != NULL && json_bool_or(*observation, "has_changed_tools", 0) != 0)
        connection->has_changed_tools = true;
    if (failure != NULL) {
        strbuf_appendf(problem, "The MCP server '%s' failed: %s", mcp_tool_server(tool), failure);
        json_decref(*observation);
        *observation = NULL;
        return;
    }
    (void)json_object_del(*observation, "has_changed_tools");
}

int program_list(struct agent *agent, const struct server_connection *connection,
                 int64_t timeout_ms, json_t *tools, struct error *err)
{
    json_auto_t *args = args_of(connection, NULL);
    json_auto_t *more = more_of(connection, timeout_ms);
    json_auto_t *observation = NULL;
    CLEANUP(strbuf_done) struct strbuf problem = STRBUF_INIT;
    struct action_request order = {.action_id = uuid_random(),
                                   .tool = TOOL,
                                   .observation_kind = MCP_LIST_OBSERVATION_KIND,
                                   .args = args,
                                   .more = more,
                                   .timeout_ms = timeout_ms + MARGIN_MS};
    const char *failure = NULL;

    if (agent->sandbox == NULL)
        return error_set(err, ERROR_INVALID, "The agent has no sandbox to run it in");
    if (own_action_run(agent, &order, &observation, &problem, err) < 0)
        return -1;
    sandbox_acknowledge(agent->sandbox, &order.action_id);
    failure = observation != NULL ? json_text_or(observation, "error", NULL) : problem.text;
    if (failure != NULL)
        return error_set(err, ERROR_INVALID, "%s", failure);
    (void)json_array_extend(tools, json_object_get(observation, "tools"));
    return 0;
}
