#include "sandbox/actions/mcp_tool.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/tools/mcp.h"
#include "model/tools/mcp_observation.h"
#include "model/tools/mcp_tools.h"
#include "sandbox/core/action_observation.h"
#include "sandbox/ports/mcp_program.h"
#include "sandbox/ports/mcp_programs.h"

enum { MAX_TIMEOUT_MS = MCP_CALL_MAX_MS, MAX_NAME_BYTES = 1000 };

static const json_t *args_of(const json_t *body)
{
    return json_object_get(body, "args");
}

static bool is_list(const json_t *body)
{
    return text_equal(json_text_or(args_of(body), "method", ""), "tools/list");
}

static bool is_name(const json_t *args, const char *member)
{
    const char *name = json_text_or(args, member, "");

    return name[0] != '\0' && strlen(name) <= MAX_NAME_BYTES;
}

static int64_t timeout_ms_of(const json_t *body)
{
    return json_int_or(body, "timeout_ms", 0);
}

int mcp_tool_check(const json_t *body, struct error *err)
{
    const json_t *args = args_of(body);
    const json_t *arguments = json_object_get(body, "arguments");

    if (!is_name(args, "server"))
        return error_set(err, ERROR_INVALID, "args.server must be a name of at most %d bytes",
                         MAX_NAME_BYTES);
    if (!is_list(body) && !text_equal(json_text_or(args, "method", ""), "tools/call"))
        return error_set(err, ERROR_INVALID, "args.method must be tools/list or tools/call");
    if (!is_list(body) && !is_name(args, "name"))
        return error_set(err, ERROR_INVALID, "args.name must be a name of at most %d bytes",
                         MAX_NAME_BYTES);
    if (json_text_or(json_object_get(body, "program"), "command", "")[0] == '\0')
        return error_set(err, ERROR_INVALID, "program must be an object with a command");
    if (arguments != NULL && !json_is_object(arguments))
        return error_set(err, ERROR_INVALID, "arguments must be an object");
    if (timeout_ms_of(body) < 1 || timeout_ms_of(body) > MAX_TIMEOUT_MS)
        return error_set(err, ERROR_INVALID, "timeout_ms must be an integer from 1 to %d",
                         MAX_TIMEOUT_MS);
    return 0;
}

int mcp_tool_start(const struct mcp_tool_call *call, struct mcp_call **call_out, struct error *err)
{
    const json_t *body = call->body;
    const struct mcp_program_order order = {
        .conversation = call->conversation,
        .server = json_text_or(args_of(body), "server", ""),
        .order = json_object_get(body, "program"),
        .working_dir = call->working_dir,
    };
    const struct mcp_call_spec spec = {
        .tool = is_list(body) ? NULL : json_text_or(args_of(body), "name", ""),
        .arguments = json_object_get(body, "arguments"),
        .timeout_ms = timeout_ms_of(body),
        .progressed = call->progressed,
        .told = call->told,
        .owner = call->owner,
    };

    return mcp_programs_call(call->programs, &order, &spec, call_out, err);
}

static json_t *failure(const char *kind, const char *why)
{
    json_t *observation = json_object();

    json_put_text(observation, "kind", kind);
    json_put(observation, "content", action_observation_content(why, strlen(why)));
    json_put(observation, "is_error", json_true());
    json_put_text(observation, "error", why);
    return observation;
}

static json_t *listing(const struct mcp_outcome *outcome)
{
    json_t *observation = json_object();

    json_put_text(observation, "kind", MCP_LIST_OBSERVATION_KIND);
    json_put(observation, "content", json_array());
    json_put(observation, "is_error", json_false());
    json_put(observation, "tools", json_incref(outcome->tools));
    return observation;
}

json_t *mcp_tool_observation(const json_t *body, const struct mcp_outcome *outcome)
{
    const char *name = json_text_or(args_of(body), "name", "");
    json_t *observation = NULL;

    if (outcome->why != NULL) {
        observation =
            failure(is_list(body) ? MCP_LIST_OBSERVATION_KIND : MCP_OBSERVATION_KIND, outcome->why);
        json_put_text(observation, "tool_name", name);
        return observation;
    }
    if (outcome->tools != NULL)
        return listing(outcome);
    observation = mcp_observation(name, outcome->result);
    json_put(observation, "has_changed_tools", json_boolean(outcome->has_changed_tools));
    return observation;
}
