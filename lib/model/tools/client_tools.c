#include "model/tools/client_tools.h"

#include <stdbool.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/schema/client_arguments.h"
#include "model/tools/tool_check.h"

const json_t *client_tools_of(const struct conversation *conversation)
{
    return json_object_get(conversation->spec, "client_tools");
}

const json_t *client_tool_find(const struct conversation *conversation, const char *name)
{
    const json_t *tools = client_tools_of(conversation);

    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);

        if (text_equal(json_text_or(tool, "name", ""), name))
            return tool;
    }
    return NULL;
}

static char *action_kind(const char *name)
{
    CLEANUP(strbuf_done) struct strbuf kind = STRBUF_INIT;

    strbuf_append(&kind, CLIENT_ACTION_PREFIX);
    strbuf_append(&kind, name);
    return strbuf_take(&kind);
}

static json_t *description(const struct agent_tool *tool, const struct catalogue *catalogue,
                           const struct conversation *conversation)
{
    (void)catalogue;
    (void)conversation;
    return json_text_of(json_text_or(tool->provided, "description", ""));
}

static json_t *parameters(const struct agent_tool *tool, const struct catalogue *catalogue)
{
    (void)catalogue;
    return json_deep_copy(json_object_get(tool->provided, "parameters"));
}

static json_t *definition(const struct agent_tool *tool, const struct catalogue *catalogue,
                          const struct conversation *conversation)
{
    json_t *annotations = json_object_get(tool->provided, "annotations");
    json_t *json = json_object();

    json_put_text(json, "kind", "ClientTool");
    json_put_text(json, "title", tool->name);
    json_put(json, "description", description(tool, catalogue, conversation));
    json_put_text(json, "action_type", tool->action_kind);
    json_put_text(json, "observation_type", tool->observation_kind);
    if (json_is_object(annotations))
        json_put(json, "annotations", json_deep_copy(annotations));
    json_put_text(json, "client_tool_name", tool->name);
    json_put(json, "input_schema", parameters(tool, catalogue));
    return json;
}

/* Removes the members that deft reads and that the tool does not declare. */
static void take_own_members(const struct agent_tool *tool, const struct conversation *conversation,
                             json_t *arguments, json_t *problems, struct tool_call_check *check)
{
    const json_t *declared = json_object_get(tool->provided, "parameters");

    if (!client_arguments_declare(declared, "security_risk"))
        tool_check_take_risk(tool, conversation, arguments, problems, check);
    check->summary = client_arguments_declare(declared, "summary")
                         ? mem_dup_text(tool->name)
                         : tool_check_take_summary(tool, arguments);
}

static void check(const struct agent_tool *tool, const struct conversation *conversation,
                  json_t *arguments, struct tool_call_check *check_out)
{
    json_auto_t *problems = json_array();

    take_own_members(tool, conversation, arguments, problems, check_out);
    client_arguments_check(json_object_get(tool->provided, "parameters"), arguments, problems);
    if (json_array_size(problems) > 0) {
        tool_check_refuse(tool, problems, arguments, check_out);
        mem_free(TAKE_PTR(check_out->summary));
        return;
    }
    check_out->action = json_deep_copy(arguments);
    json_put_text(check_out->action, "kind", tool->action_kind);
}

static const struct tool_source source = {definition, description, parameters, check};

struct agent_tool client_tool(const json_t *provided)
{
    const char *name = json_text_or(provided, "name", "");
    const json_t *hints = json_object_get(provided, "annotations");

    return (struct agent_tool){
        .name = name,
        .place = TOOL_IN_CLIENT,
        .annotations = {.is_read_only = json_bool_or(hints, "readOnlyHint", 0) != 0,
                        .is_destructive = json_bool_or(hints, "destructiveHint", 1) != 0,
                        .is_idempotent = json_bool_or(hints, "idempotentHint", 0) != 0,
                        .is_open_world = json_bool_or(hints, "openWorldHint", 1) != 0},
        .action_kind = action_kind(name),
        .observation_kind = "ClientToolObservation",
        .source = &source,
        .provided = provided,
    };
}
