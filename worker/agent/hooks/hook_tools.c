#include "worker/agent/hooks/hook_tools.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "llm/llm.h"
#include "model/conversation/conversation.h"
#include "model/event/observation_text.h"
#include "model/tools/agent_tool.h"
#include "model/tools/tool_call.h"
#include "model/tools/tool_check.h"
#include "model/tools/toolset.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/sandbox/own_action.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/context.h"

enum { CALL_TIMEOUT_MS = 60000 };

static const char *const allowed[] = {"glob", "grep", "read_file", "list_directory"};

struct hook_tools {
    struct conversation conversation; /* the hook's own, never stored */
    struct toolset *tools;
};

static bool is_allowed(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
        if (text_equal(allowed[i], name))
            return true;
    }
    return false;
}

/* The agent's specification with these tools alone. */
static json_t *spec_of(const struct agent *agent, const json_t *names)
{
    json_t *spec = json_copy(agent->conversation.spec);
    json_t *own = json_copy(json_object_get(spec, "agent"));
    json_t *tools = json_array();
    const json_t *name = NULL;
    size_t i = 0;

    json_array_foreach (names, i, name) {
        json_t *tool = json_object();

        json_put_text(tool, "name", json_is_string(name) ? json_string_value(name) : "");
        json_push(tools, tool);
    }
    json_put(own, "tools", tools);
    json_put(own, "mcp_config", json_object());
    json_put(spec, "agent", own);
    json_put(spec, "client_tools", json_array());
    (void)json_object_del(spec, MCP_LISTING);
    return spec;
}

struct hook_tools *hook_tools_new(const struct agent *agent, const json_t *names)
{
    struct hook_tools *tools = NEW(struct hook_tools);

    tools->conversation = (struct conversation)CONVERSATION_INIT;
    tools->conversation.spec = spec_of(agent, names);
    tools->tools = toolset_new(agent->context->catalogue, &tools->conversation);
    return tools;
}

void hook_tools_free(struct hook_tools *tools)
{
    if (tools == NULL)
        return;
    toolset_free(tools->tools);
    conversation_done(&tools->conversation);
    mem_free(tools);
}

void hook_tools_freep(struct hook_tools **tools)
{
    hook_tools_free(*tools);
    *tools = NULL;
}

json_t *hook_tools_functions(const struct hook_tools *tools)
{
    json_auto_t *all = toolset_functions(tools->tools);
    json_t *functions = json_array();
    json_t *function = NULL;
    size_t i = 0;

    json_array_foreach (all, i, function) {
        if (is_allowed(json_text_or(json_object_get(function, "function"), "name", "")))
            json_push(functions, json_incref(function));
    }
    return functions;
}

/* A model that is asked again after a crash may make another call in the same place. */
static struct uuid id_of(const struct uuid *id, const struct agent_tool *tool, const json_t *action)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    strbuf_appendf(&name, "%s/%s/", id->text, tool->name);
    json_append_text(&name, action);
    return uuid_from_name(name.text);
}

static int run(struct agent *agent, const struct uuid *id, const struct tool_call_check *check,
               struct strbuf *result, struct error *err)
{
    json_auto_t *args = json_copy(check->action);
    json_auto_t *observation = NULL;
    struct action_request order = {.action_id = id_of(id, check->tool, check->action),
                                   .tool = check->tool->name,
                                   .observation_kind = check->tool->observation_kind,
                                   .args = args,
                                   .timeout_ms = CALL_TIMEOUT_MS};

    (void)json_object_del(args, "kind");
    if (own_action_run(agent, &order, &observation, result, err) < 0)
        return -1;
    if (observation != NULL)
        observation_append_text(observation, result);
    sandbox_acknowledge(agent->sandbox, &order.action_id);
    return 0;
}

int hook_tools_run(struct agent *agent, const struct hook_tools *tools, const struct uuid *id,
                   const struct llm_tool_call *call, struct strbuf *result, struct error *err)
{
    CLEANUP(tool_call_check_done) struct tool_call_check check = {.tool = NULL};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    tool_call_check(tools->tools, call->name, call->arguments, &check);
    if (check.tool == NULL || !is_allowed(check.tool->name))
        strbuf_appendf(&text, "There is no tool '%s' here.", call->name);
    else if (check.action == NULL)
        strbuf_append(&text, check.problem);
    else if (run(agent, id, &check, &text, err) < 0)
        return -1;
    secret_list_mask_text(&agent->secrets, text.text, result);
    return 0;
}
