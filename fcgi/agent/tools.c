/*
 * The tools that an agent can be given.
 */
#include <stdbool.h>

#include "base/json.h"
#include "base/text.h"
#include "fcgi/agent/agent.h"
#include "fcgi/reply.h"
#include "model/tool_table.h"
#include "model/tools.h"

/* What a person reads of a tool that can be chosen. */
struct choice {
    const char *name;
    const char *description;
    bool is_default;
};

static const struct choice choices[] = {
    {"terminal", "Runs shell commands in the sandbox", true},
    {"file_editor", "Views, creates and edits files", true},
    {"task_tracker", "Keeps a list of what is to be done", true},
    {"browser_tool_set", "Uses a web browser", true},
    {"switch_llm", "Lets the agent change its model", true},
    {"task_tool_set", "Hands parts of the work to other agents", false},
    {"glob", "Finds files by name", false},
    {"grep", "Finds text in files", false},
};

static bool is_served(const char *name)
{
    for (size_t i = 0; i < tool_table_n; i++) {
        if (text_equal(tool_table[i].name, name))
            return true;
    }
    return false;
}

static bool is_choice(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
        if (text_equal(choices[i].name, name))
            return true;
    }
    return false;
}

/* GET -> 200 [name]: those that agents here can use */
static int names(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *list = tools_names();

    (void)request;
    (void)err;
    return reply_json(reply, 200, list);
}

static json_t *entry(const char *name, const struct choice *choice)
{
    json_t *json = json_object();

    json_put_text(json, "name", name);
    json_put(json, "user_selectable", json_boolean(choice != NULL));
    json_put(json, "usable", json_boolean(is_served(name)));
    json_put_text(json, "description", choice != NULL ? choice->description : "");
    json_put(json, "in_default_set", json_boolean(choice != NULL && choice->is_default));
    return json;
}

/* GET -> 200 {"tools"}: what can be chosen, also what does not run here (usable false) */
static int catalog(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *answer = json_object();
    json_t *tools = json_array();

    (void)request;
    (void)err;
    for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
        json_push(tools, entry(choices[i].name, &choices[i]));
    for (size_t i = 0; i < tool_table_n; i++) {
        if (!tools_is_built_in(&tool_table[i]) && !is_choice(tool_table[i].name))
            json_push(tools, entry(tool_table[i].name, NULL));
    }
    json_put(answer, "tools", tools);
    return reply_json(reply, 200, answer);
}

const struct route tool_routes[] = {
    {HTTP_GET, "/api/tools/", ORIGIN_BOTH, ACCESS_CALLER, 0, names},
    {HTTP_GET, "/api/tools/catalog", ORIGIN_BOTH, ACCESS_CALLER, 0, catalog},
    {.handle = NULL},
};
