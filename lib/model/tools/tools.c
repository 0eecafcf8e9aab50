#include "model/tools/tools.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/schema/object_schema.h"
#include "model/schema/regex.h"
#include "model/schema/words.h"
#include "model/tools/client_tools.h"
#include "model/tools/sub_agents.h"
#include "model/tools/tool_table.h"

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

/* A set is listed by its first name. */
static json_t *name_of(const struct tool *tool)
{
    if (tool->set_names == NULL)
        return json_text_of(tool->name);
    return json_text(tool->set_names, strcspn(tool->set_names, "|"));
}

json_t *tools_names(enum sandbox_browser browser)
{
    json_t *names = json_array();
    const char *last_set = NULL;

    for (size_t i = 0; i < tool_table_n; i++) {
        const struct tool *tool = &tool_table[i];
        bool is_told = tool->set_names != NULL &&
                       (browser == SANDBOX_WITHOUT_BROWSER || tool->set_names == last_set);

        if (tool->told_set != NULL)
            json_push(names, json_text_of(tool->told_set));
        if (!is_told && !tools_is_built_in(tool))
            json_push(names, name_of(tool));
        last_set = tool->set_names;
    }
    return names;
}

bool tools_may_be_named(const char *spec_name)
{
    return tools_have(SANDBOX_WITH_BROWSER, spec_name) ||
           words_contain(tool_names_elsewhere, spec_name);
}

/* Browser tools are offered only if the sandbox has a browser. */
static bool is_offered(const struct conversation *conversation, const struct tool *tool)
{
    return tool->set_names == NULL || conversation_has_browser(conversation);
}

/* The agent's filter_tools_regex. An invalid pattern matches no tool. */
struct filter {
    bool is_set;
    struct regex *pattern;
};

static void filter_done(struct filter *filter)
{
    regex_free(filter->pattern);
}

static struct filter filter_of(const struct conversation *conversation)
{
    const json_t *agent = conversation_agent(conversation);
    const char *text = json_text_or(agent, "filter_tools_regex", NULL);
    struct filter filter = {.is_set = text != NULL && text[0] != '\0'};
    struct error err = ERROR_INIT;

    if (filter.is_set)
        error_ignore(regex_new(text, &filter.pattern, &err),
                     "the creator saw the error, or there was none");
    return filter;
}

static bool lets_through(const struct filter *filter, const struct tool *tool)
{
    return !filter->is_set ||
           (filter->pattern != NULL && regex_matches(filter->pattern, tool->name));
}

/* Adds the tools of that name once; unknown names are ignored. */
static void add_tools(const struct conversation *conversation, const struct filter *filter,
                      const char *spec_name, const struct tool **tools)
{
    for (size_t i = 0; i < tool_table_n; i++) {
        const struct tool *tool = &tool_table[i];
        size_t n = 0;

        if (!tool_is_meant(tool, spec_name) || !is_offered(conversation, tool) ||
            !lets_through(filter, tool))
            continue;
        while (tools[n] != NULL && tools[n] != tool)
            n++;
        tools[n] = tool;
    }
}

const struct tool **tools_of(const struct conversation *conversation)
{
    const struct tool **tools = mem_alloc_array(tool_table_n + 1, sizeof(void *));
    CLEANUP(filter_done) struct filter filter = filter_of(conversation);
    const struct filter none = {.is_set = false};
    const json_t *agent = conversation_agent(conversation);
    json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(agent, "tools"), i, item)
        add_tools(conversation, &filter, json_text_or(item, "name", ""), tools);
    json_array_foreach (json_object_get(agent, "include_default_tools"), i, item)
        add_tools(conversation, &none, json_is_string(item) ? json_string_value(item) : "", tools);
    return tools;
}

const struct tool *tools_find(const struct conversation *conversation, const char *name)
{
    const struct tool *tool = catalogue_find(name);
    CLEANUP(filter_done) struct filter filter = filter_of(conversation);
    const json_t *agent = conversation_agent(conversation);
    json_t *item = NULL;
    size_t i = 0;

    if (tool == NULL || !is_offered(conversation, tool))
        return NULL;
    json_array_foreach (json_object_get(agent, "tools"), i, item) {
        if (tool_is_meant(tool, json_text_or(item, "name", "")) && lets_through(&filter, tool))
            return tool;
    }
    json_array_foreach (json_object_get(agent, "include_default_tools"), i, item) {
        if (json_is_string(item) && tool_is_meant(tool, json_string_value(item)))
            return tool;
    }
    return NULL;
}

bool tools_have_browser(const struct conversation *conversation)
{
    const struct tool **tools = tools_of(conversation);
    bool have = false;

    for (size_t i = 0; tools[i] != NULL; i++)
        have = have || tools[i]->set_names != NULL;
    mem_free((void *)tools);
    return have;
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
    if (tool->lists_sub_agents) {
        strbuf_append(&text, "\n\nThe kinds of sub-agents (subagent_type):");
        sub_agents_append_list(conversation, &text);
    }
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

/* The two members that deft itself reads precede the tool's own. */
static json_t *parameters(const struct tool *tool)
{
    const struct field risk = {
        .name = "security_risk", .kind = FIELD_TEXT, .words = tool_risks, .help = tool_risk_help};
    const struct field summary = {.name = "summary", .kind = FIELD_TEXT, .help = tool_summary_help};
    struct field *fields = mem_alloc_array(tool->schema->n + 2, sizeof(*fields));
    struct object_schema with_risk = {fields, 0, true};
    json_t *schema = NULL;

    if (!tool->is_read_only)
        fields[with_risk.n++] = risk;
    fields[with_risk.n++] = summary;
    memcpy(&fields[with_risk.n], tool->schema->fields, tool->schema->n * sizeof(*fields));
    with_risk.n += tool->schema->n;
    schema = object_schema_to_json(&with_risk);
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
    client_tools_add_functions(conversation, tools, list);
    mem_free(tools);
    return list;
}
