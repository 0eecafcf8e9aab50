#include "model/tools/catalogue_tools.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "model/tools/sub_agents.h"
#include "model/tools/tool_check.h"
#include "model/tools/tool_repair.h"
#include "model/tools/tool_table.h"

static json_t *description(const struct agent_tool *tool, const struct catalogue *catalogue,
                           const struct conversation *conversation)
{
    CLEANUP(strbuf_done) struct strbuf sub_agents = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct text_value values[] = {
        {"working_dir", conversation_working_dir(conversation)},
        {"sub_agents", ""},
    };

    if (tool->own->text == TEXT_TOOL_TASK || tool->own->text == TEXT_TOOL_DELEGATE) {
        sub_agents_append_list(catalogue, conversation, &sub_agents);
        values[1].text = sub_agents.text;
    }
    catalogue_append(catalogue, tool->own->text, "", values, ARRAY_SIZE(values), &text);
    return json_text(text.text, text.len);
}

static json_t *annotations(const struct agent_tool *tool)
{
    json_t *notes = json_object();

    json_put_text(notes, "title", tool->own->title);
    json_put(notes, "readOnlyHint", json_boolean(tool->annotations.is_read_only));
    json_put(notes, "destructiveHint", json_boolean(tool->annotations.is_destructive));
    json_put(notes, "idempotentHint", json_boolean(tool->annotations.is_idempotent));
    json_put(notes, "openWorldHint", json_boolean(tool->annotations.is_open_world));
    return notes;
}

static json_t *definition(const struct agent_tool *tool, const struct catalogue *catalogue,
                          const struct conversation *conversation)
{
    json_t *json = json_object();

    json_put(json, "description", description(tool, catalogue, conversation));
    json_put_text(json, "action_type", tool->action_kind);
    json_put_text(json, "observation_type", tool->observation_kind);
    json_put(json, "annotations", annotations(tool));
    json_put_text(json, "kind", tool->own->kind);
    json_put_text(json, "title", tool->name);
    return json;
}

/* The descriptions of a tool's arguments, and of the members that all tools have. */
struct tool_help {
    struct schema_help base;
    const struct text_template *own;
    const struct text_template *common;
};

static const char *find_help(const struct schema_help *help, const char *path)
{
    const struct tool_help *tool_help = (const struct tool_help *)help;
    const char *text = text_template_part(tool_help->own, path);

    return text[0] != '\0' ? text : text_template_part(tool_help->common, path);
}

/* The two members that deft itself reads precede the tool's own. */
static json_t *parameters(const struct agent_tool *tool, const struct catalogue *catalogue)
{
    const struct field risk = {.name = "security_risk", .kind = FIELD_TEXT, .words = tool_risks};
    const struct field summary = {.name = "summary", .kind = FIELD_TEXT};
    const struct tool_help help = {.base = {find_help},
                                   .own = catalogue_template(catalogue, tool->own->text),
                                   .common = catalogue_template(catalogue, TEXT_ALL_TOOLS)};
    const struct object_schema *own = tool->own->schema;
    struct field *fields = mem_alloc_array(own->n + 2, sizeof(*fields));
    struct object_schema with_risk = {fields, 0, true};
    json_t *schema = NULL;

    if (!tool->annotations.is_read_only)
        fields[with_risk.n++] = risk;
    fields[with_risk.n++] = summary;
    if (own->n > 0)
        memcpy(&fields[with_risk.n], own->fields, own->n * sizeof(*fields));
    with_risk.n += own->n;
    schema = object_schema_to_json(&with_risk, &help.base);
    mem_free(fields);
    return schema;
}

static void check(const struct agent_tool *tool, const struct conversation *conversation,
                  json_t *arguments, struct tool_call_check *check_out)
{
    static const struct json_path body = {NULL, "body", 0};
    json_auto_t *problems = json_array();
    json_auto_t *action = NULL;
    CLEANUP(mem_freep) char *summary = NULL;

    tool_repair_arguments(tool->own, arguments);
    tool_check_take_risk(tool, conversation, arguments, problems, check_out);
    summary = tool_check_take_summary(tool, arguments);
    action = object_schema_read(tool->own->schema, arguments, &body, problems);
    if (json_array_size(problems) > 0) {
        tool_check_refuse(tool, problems, arguments, check_out);
        return;
    }
    json_drop_nulls(action);
    json_put_text(action, "kind", tool->action_kind);
    check_out->action = json_incref(action);
    check_out->summary = TAKE_PTR(summary);
}

static const struct tool_source source = {definition, description, parameters, check};

struct agent_tool catalogue_tool(const struct tool *entry)
{
    return (struct agent_tool){
        .name = entry->name,
        .place = entry->place,
        .annotations = {.is_read_only = entry->is_read_only,
                        .is_destructive = strchr(entry->hints, 'd') != NULL,
                        .is_idempotent = strchr(entry->hints, 'i') != NULL,
                        .is_open_world = strchr(entry->hints, 'w') != NULL},
        .action_kind = mem_dup_text(entry->action_kind),
        .observation_kind = entry->observation_kind,
        .source = &source,
        .own = entry,
    };
}
