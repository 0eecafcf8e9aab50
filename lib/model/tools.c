#include "model/tools.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/client_tools.h"
#include "model/conversation.h"
#include "model/shape.h"
#include "model/tool_table.h"

static const struct tool *catalogue_find(const char *spec_name)
{
    for (size_t i = 0; i < tool_table_n; i++) {
        if (words_contain(tool_table[i].spec_names, spec_name))
            return &tool_table[i];
    }
    return NULL;
}

bool tools_is_built_in(const struct tool *tool)
{
    return text_equal(tool->name, "finish") || text_equal(tool->name, "think");
}

json_t *tools_names(void)
{
    json_t *names = json_array();

    for (size_t i = 0; i < tool_table_n; i++) {
        if (!tools_is_built_in(&tool_table[i]))
            json_push(names, json_string(tool_table[i].name));
    }
    return names;
}

bool tools_may_be_named(const char *spec_name)
{
    return catalogue_find(spec_name) != NULL || words_contain(tool_names_elsewhere, spec_name);
}

/* Adds the tool of that name once; names that deft does not have are left out. */
static void add_tool(const struct tool **tools, size_t *n, const char *spec_name)
{
    const struct tool *tool = catalogue_find(spec_name);

    if (tool == NULL)
        return;
    for (size_t i = 0; i < *n; i++) {
        if (tools[i] == tool)
            return;
    }
    tools[(*n)++] = tool;
}

const struct tool **tools_of(const struct conversation *conversation)
{
    const struct tool **tools = mem_alloc_array(tool_table_n + 1, sizeof(void *));
    const json_t *agent = conversation_agent(conversation);
    json_t *item = NULL;
    size_t n = 0;
    size_t i = 0;

    json_array_foreach (json_object_get(agent, "tools"), i, item)
        add_tool(tools, &n, json_text_or(item, "name", ""));
    json_array_foreach (json_object_get(agent, "include_default_tools"), i, item)
        add_tool(tools, &n, json_is_string(item) ? json_string_value(item) : "");
    return tools;
}

const struct tool *tools_find(const struct conversation *conversation, const char *name)
{
    const struct tool *tool = catalogue_find(name);
    const json_t *agent = conversation_agent(conversation);
    json_t *item = NULL;
    size_t i = 0;

    if (tool == NULL)
        return NULL;
    json_array_foreach (json_object_get(agent, "tools"), i, item) {
        if (words_contain(tool->spec_names, json_text_or(item, "name", "")))
            return tool;
    }
    json_array_foreach (json_object_get(agent, "include_default_tools"), i, item) {
        if (json_is_string(item) && words_contain(tool->spec_names, json_string_value(item)))
            return tool;
    }
    return NULL;
}

static json_t *annotations(const struct tool *tool)
{
    json_t *notes = json_object();

    json_put_text(notes, "title", tool->title);
    json_put(notes, "readOnlyHint", json_boolean(tool->is_read_only));
    json_put(notes, "destructiveHint", json_boolean(strchr(tool->hints, 'd') != NULL));
    json_put(notes, "idempotentHint", json_boolean(strchr(tool->hints, 'i') != NULL));
    json_put(notes, "openWorldHint", json_boolean(strchr(tool->hints, 'w') != NULL));
    return notes;
}

static json_t *description(const struct tool *tool, const struct conversation *conversation)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_append(&text, tool->description);
    if (tool->shows_working_dir)
        strbuf_appendf(&text, "\n\nThe working directory is %s.",
                       conversation_working_dir(conversation));
    return json_text(text.text, text.len);
}

static json_t *definition(const struct tool *tool, const struct conversation *conversation)
{
    json_t *json = json_object();

    json_put(json, "description", description(tool, conversation));
    json_put_text(json, "action_type", tool->action_kind);
    json_put_text(json, "observation_type", tool->observation_kind);
    json_put(json, "annotations", annotations(tool));
    json_put_text(json, "kind", tool->kind);
    json_put_text(json, "title", tool->name);
    return json;
}

json_t *tools_definitions(const struct conversation *conversation)
{
    const struct tool **tools = tools_of(conversation);
    json_t *list = json_array();

    for (size_t i = 0; tools[i] != NULL; i++)
        json_push(list, definition(tools[i], conversation));
    mem_free(tools);
    client_tools_add_definitions(conversation, list);
    return list;
}

/* The two members that deft itself reads stand in front of the tool's own. */
static json_t *parameters(const struct tool *tool)
{
    const struct field risk = {
        .name = "security_risk", .kind = FIELD_TEXT, .words = tool_risks, .help = tool_risk_help};
    const struct field summary = {.name = "summary", .kind = FIELD_TEXT, .help = tool_summary_help};
    struct field *fields = mem_alloc_array(tool->shape->n + 2, sizeof(*fields));
    struct shape shape = {fields, 0, true};
    json_t *schema = NULL;

    if (!tool->is_read_only)
        fields[shape.n++] = risk;
    fields[shape.n++] = summary;
    memcpy(&fields[shape.n], tool->shape->fields, tool->shape->n * sizeof(*fields));
    shape.n += tool->shape->n;
    schema = shape_to_schema(&shape);
    mem_free(fields);
    return schema;
}

static json_t *function(const struct tool *tool, const struct conversation *conversation)
{
    json_t *wrapped = json_object();
    json_t *json = json_object();

    json_put_text(json, "name", tool->name);
    json_put(json, "description", description(tool, conversation));
    json_put(json, "parameters", parameters(tool));
    json_put_text(wrapped, "type", "function");
    json_put(wrapped, "function", json);
    return wrapped;
}

json_t *tools_functions(const struct conversation *conversation)
{
    const struct tool **tools = tools_of(conversation);
    json_t *list = json_array();

    for (size_t i = 0; tools[i] != NULL; i++)
        json_push(list, function(tools[i], conversation));
    mem_free(tools);
    client_tools_add_functions(conversation, list);
    return list;
}
