#include "model/tools/tools.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/schema/regex.h"
#include "model/schema/words.h"
#include "model/tools/tool_table.h"

bool tools_is_built_in(const struct tool *tool)
{
    return text_equal(tool->name, "finish") || text_equal(tool->name, "think") ||
           text_equal(tool->name, "invoke_skill");
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
    if (conversation_has_skills_to_open(conversation))
        add_tools(conversation, &none, "invoke_skill", tools);
    return tools;
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
