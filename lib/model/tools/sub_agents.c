#include "model/tools/sub_agents.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/child_conversation.h"
#include "model/conversation/conversation.h"
#include "model/tools/tool_table.h"

struct sub_agent_kind {
    const char *name;
    const char *old_name;
    enum catalogue_text text; /* its description; the part "prompt" is its prompt */
    const char *tools[4];     /* NULL-terminated */
};

static const struct sub_agent_kind kinds[] = {
    {"general-purpose",
     "default",
     TEXT_SUB_AGENT_GENERAL_PURPOSE,
     {"terminal", "file_editor", "task_tracker", NULL}},
    {"code-explorer", "explore", TEXT_SUB_AGENT_CODE_EXPLORER, {"terminal", NULL}},
    {"bash-runner", "bash", TEXT_SUB_AGENT_BASH_RUNNER, {"terminal", NULL}},
    {"web-researcher", NULL, TEXT_SUB_AGENT_WEB_RESEARCHER, {"browser_tool_set", NULL}},
};

static json_t *tools_to_json(const struct sub_agent_kind *kind)
{
    json_t *tools = json_array();

    for (size_t i = 0; kind->tools[i] != NULL; i++)
        json_push(tools, json_text_of(kind->tools[i]));
    return tools;
}

static bool is_served(const struct sub_agent_kind *kind, enum sandbox_browser browser)
{
    for (size_t i = 0; kind->tools[i] != NULL; i++) {
        if (!tools_have(browser, kind->tools[i]))
            return false;
    }
    return true;
}

static json_t *kind_to_json(const struct catalogue *catalogue, const struct sub_agent_kind *kind)
{
    const struct text_template *text = catalogue_template(catalogue, kind->text);
    json_t *json = json_object();

    json_put_text(json, "name", kind->name);
    json_put_text(json, "description", text_template_part(text, ""));
    json_put_text(json, "model", "inherit");
    json_put(json, "tools", tools_to_json(kind));
    json_put(json, "skills", json_array());
    json_put_text(json, "system_prompt", text_template_part(text, "prompt"));
    json_put_text(json, "level", "builtin");
    json_put(json, "is_builtin", json_true());
    return json;
}

json_t *sub_agents_builtin(const struct catalogue *catalogue, enum sandbox_browser browser)
{
    json_t *list = json_array();

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (is_served(&kinds[i], browser))
            json_push(list, kind_to_json(catalogue, &kinds[i]));
    }
    return list;
}

static enum sandbox_browser browser_of(const struct conversation *conversation)
{
    return conversation_has_browser(conversation) ? SANDBOX_WITH_BROWSER : SANDBOX_WITHOUT_BROWSER;
}

static json_t *definitions_of(const struct conversation *conversation)
{
    return json_object_get(conversation->spec, "agent_definitions");
}

static const json_t *find_defined(const struct conversation *conversation, const char *name)
{
    const json_t *definition = NULL;
    size_t i = 0;

    json_array_foreach (definitions_of(conversation), i, definition) {
        if (text_equal(json_text_or(definition, "name", ""), name))
            return definition;
    }
    return NULL;
}

static bool is_named(const struct sub_agent_kind *kind, const char *name)
{
    return text_equal(kind->name, name) ||
           (kind->old_name != NULL && text_equal(kind->old_name, name));
}

json_t *sub_agent_find(const struct catalogue *catalogue, const struct conversation *conversation,
                       const char *name)
{
    const json_t *defined = find_defined(conversation, name);

    if (defined != NULL)
        return json_deep_copy(defined);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (is_named(&kinds[i], name) && is_served(&kinds[i], browser_of(conversation)))
            return kind_to_json(catalogue, &kinds[i]);
    }
    return NULL;
}

static void append_line(const json_t *definition, struct strbuf *out)
{
    const char *description = json_text_or(definition, "description", "");

    strbuf_appendf(out, "%s- %s%s%s", out->len > 0 ? "\n" : "",
                   json_text_or(definition, "name", ""), description[0] != '\0' ? ": " : "",
                   description);
}

void sub_agents_append_list(const struct catalogue *catalogue,
                            const struct conversation *conversation, struct strbuf *out)
{
    json_auto_t *builtin = sub_agents_builtin(catalogue, browser_of(conversation));
    const json_t *definition = NULL;
    size_t i = 0;

    json_array_foreach (definitions_of(conversation), i, definition) {
        if (json_text_or(definition, "name", "")[0] != '\0')
            append_line(definition, out);
    }
    json_array_foreach (builtin, i, definition) {
        if (find_defined(conversation, json_text_or(definition, "name", "")) == NULL)
            append_line(definition, out);
    }
}

/* Uses the tools that the definition names; if none, the parent's. */
/* One that names its tools gets no others, and so no servers. */
static void take_tools(const json_t *definition, json_t *agent)
{
    const json_t *names = json_object_get(definition, "tools");
    json_t *tools = json_array();
    json_t *name = NULL;
    size_t i = 0;

    json_array_foreach (names, i, name) {
        json_t *tool = json_object();

        json_put_text(tool, "name", json_is_string(name) ? json_string_value(name) : "");
        json_put(tool, "params", json_object());
        json_push(tools, tool);
    }
    if (json_array_size(tools) == 0) {
        json_decref(tools);
        return;
    }
    json_put(agent, "tools", tools);
    json_put(agent, "mcp_config", json_object());
}

static void add_part(struct strbuf *text, const char *part)
{
    if (text_is_blank(part))
        return;
    if (text->len > 0)
        strbuf_append(text, "\n\n");
    strbuf_append(text, part);
}

/* The creator's own suffix applies to sub-agents, too. */
static void take_words(const struct sub_agent *sub_agent, json_t *agent)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *context = json_object_get(agent, "agent_context");

    if (!json_is_object(context)) {
        context = json_object();
        json_put(agent, "agent_context", context);
    }
    add_part(&text, json_text_or(context, "system_message_suffix", ""));
    add_part(&text, sub_agent->role);
    add_part(&text, json_text_or(sub_agent->definition, "system_prompt", ""));
    json_put_text(context, "system_message_suffix", text.text);
}

static void take_limit(const json_t *definition, json_t *spec)
{
    json_int_t limit = json_int_or(definition, "max_iteration_per_run", 0);

    if (limit > 0)
        json_put(spec, "max_iterations", json_integer(limit));
}

/* A definition may give less than the parent has left, not more. */
static void take_budget(const struct sub_agent *sub_agent, json_t *spec)
{
    double own = json_number_or(sub_agent->definition, "max_budget_per_run", -1);
    double budget = sub_agent->allowance;

    if (own >= 0 && (budget < 0 || own < budget))
        budget = own;
    if (budget >= 0)
        json_put(spec, "max_budget_per_run", json_real(budget));
}

int sub_agent_make(const struct keyring *keyring, const struct conversation *parent,
                   const struct sub_agent *sub_agent, const char *title,
                   struct conversation *child_out, struct error *err)
{
    json_t *policy = NULL;
    json_t *agent = NULL;

    if (child_conversation_make(keyring, parent, title, child_out, err) < 0)
        return -1;
    agent = conversation_agent(child_out);
    take_tools(sub_agent->definition, agent);
    take_words(sub_agent, agent);
    take_limit(sub_agent->definition, child_out->spec);
    take_budget(sub_agent, child_out->spec);
    /* Confirming the call that creates it confirms its actions. */
    policy = json_object();
    json_put_text(policy, "kind", "NeverConfirm");
    json_put(child_out->spec, "confirmation_policy", policy);
    json_put(child_out->spec, "autotitle", json_false());
    /* The client only handles calls of the conversation that it created. */
    json_put(child_out->spec, "client_tools", json_array());
    child_out->is_sub_agent = true;
    return 0;
}
