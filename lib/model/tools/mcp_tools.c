#include "model/tools/mcp_tools.h"

#include "base/json.h"
#include "base/mem.h"
#include "model/catalogue/catalogue.h"
#include "model/schema/client_arguments.h"
#include "model/schema/words.h"
#include "model/tools/tool_check.h"
#include "model/tools/tool_table.h"

static const json_t *tool_of(const struct agent_tool *tool)
{
    return json_object_get(tool->provided, "tool");
}

const char *mcp_tool_server(const struct agent_tool *tool)
{
    return json_text_or(tool->provided, "server", "");
}

const char *mcp_tool_name(const struct agent_tool *tool)
{
    return json_text_or(tool_of(tool), "name", "");
}

static json_t *description(const struct agent_tool *tool, const struct catalogue *catalogue,
                           const struct conversation *conversation)
{
    (void)catalogue;
    (void)conversation;
    return json_text_of(json_text_or(tool_of(tool), "description", ""));
}

static json_t *definition(const struct agent_tool *tool, const struct catalogue *catalogue,
                          const struct conversation *conversation)
{
    json_t *annotations = json_object_get(tool_of(tool), "annotations");
    json_t *json = json_object();

    json_put(json, "description", description(tool, catalogue, conversation));
    json_put_text(json, "action_type", tool->action_kind);
    json_put_text(json, "observation_type", tool->observation_kind);
    if (json_is_object(annotations))
        json_put(json, "annotations", json_deep_copy(annotations));
    json_put(json, "mcp_tool", json_deep_copy(tool_of(tool)));
    json_put_text(json, "kind", "MCPToolDefinition");
    json_put_text(json, "title", tool->name);
    return json;
}

static void add_member(json_t *properties, const struct text_template *common, const char *name,
                       const char *words)
{
    json_t *member = json_object();

    json_put_text(member, "type", "string");
    json_put_text(member, "description", text_template_part(common, name));
    if (words != NULL)
        json_put(member, "enum", words_to_json(words));
    json_put(properties, name, member);
}

/* Beside the tool's own members, the two that deft reads, unless the tool declares them itself. */
static json_t *parameters(const struct agent_tool *tool, const struct catalogue *catalogue)
{
    const struct text_template *common = catalogue_template(catalogue, TEXT_ALL_TOOLS);
    json_t *schema = json_deep_copy(json_object_get(tool_of(tool), "inputSchema"));
    json_t *properties = json_object_get(schema, "properties");

    if (!tool->annotations.is_read_only && json_object_get(properties, "security_risk") == NULL)
        add_member(properties, common, "security_risk", tool_risks);
    if (json_object_get(properties, "summary") == NULL)
        add_member(properties, common, "summary", NULL);
    return schema;
}

/* The server checks its own members; null stands for a member that was left out. */
static void check(const struct agent_tool *tool, const struct conversation *conversation,
                  json_t *arguments, struct tool_call_check *check_out)
{
    const json_t *declared = json_object_get(tool_of(tool), "inputSchema");
    json_auto_t *problems = json_array();

    if (!client_arguments_declare(declared, "security_risk"))
        tool_check_take_risk(tool, conversation, arguments, problems, check_out);
    check_out->summary = client_arguments_declare(declared, "summary")
                             ? mem_dup_text(tool->name)
                             : tool_check_take_summary(tool, arguments);
    if (json_array_size(problems) > 0) {
        tool_check_refuse(tool, problems, arguments, check_out);
        mem_free(TAKE_PTR(check_out->summary));
        return;
    }
    json_drop_nulls(arguments);
    check_out->action = json_object();
    json_put(check_out->action, "data", json_deep_copy(arguments));
    json_put_text(check_out->action, "kind", tool->action_kind);
}

static const struct tool_source source = {definition, description, parameters, check};

struct agent_tool mcp_tool(const json_t *listed)
{
    const json_t *hints = json_object_get(json_object_get(listed, "tool"), "annotations");

    return (struct agent_tool){
        .name = json_text_or(listed, "name", ""),
        .place = TOOL_AT_SERVER,
        .annotations = {.is_read_only = json_bool_or(hints, "readOnlyHint", 0) != 0,
                        .is_destructive = json_bool_or(hints, "destructiveHint", 1) != 0,
                        .is_idempotent = json_bool_or(hints, "idempotentHint", 0) != 0,
                        .is_open_world = json_bool_or(hints, "openWorldHint", 1) != 0},
        .action_kind = mem_dup_text("MCPToolAction"),
        .observation_kind = MCP_OBSERVATION_KIND,
        .source = &source,
        .provided = listed,
    };
}
