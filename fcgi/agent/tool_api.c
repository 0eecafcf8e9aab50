/*
 * Tools that an agent can be given.
 */
#include <stdbool.h>

#include "base/json.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "model/tools/tool_table.h"
#include "model/tools/tools.h"

/* A selectable tool with its description for users. */
struct choice {
    const char *name;
    const char *description;
    bool is_default;
};

static const struct choice choices[] = {
    {"terminal", "Runs shell commands in the sandbox", true},
    {"file_editor", "Views, creates and edits files", true},
    {"task_tracker", "Keeps a task list", true},
    {"browser_tool_set", "Uses a web browser", true},
    {"switch_llm", "Lets the agent switch its model", true},
    {"task_tool_set", "Delegates parts of the work to other agents", false},
    {"glob", "Finds files by name", false},
    {"grep", "Finds text in files", false},
};

static enum sandbox_browser browser_of(const struct request *request)
{
    return request->context->settings->sandbox_browser != 0 ? SANDBOX_WITH_BROWSER
                                                            : SANDBOX_WITHOUT_BROWSER;
}

static bool is_choice(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
        if (text_equal(choices[i].name, name))
            return true;
    }
    return false;
}

/* GET -> 200 [name]: tools that agents can use here */
static int names(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *list = tools_names(browser_of(request));

    (void)err;
    return reply_json(reply, 200, list);
}

static json_t *entry(const struct request *request, const char *name, const struct choice *choice)
{
    json_t *json = json_object();

    json_put_text(json, "name", name);
    json_put(json, "user_selectable", json_boolean(choice != NULL));
    json_put(json, "usable", json_boolean(tools_have(browser_of(request), name)));
    json_put_text(json, "description", choice != NULL ? choice->description : "");
    json_put(json, "in_default_set", json_boolean(choice != NULL && choice->is_default));
    return json;
}

/* GET -> 200 {"tools"}: all selectable tools, also those that do not run here (usable false) */
static int catalog(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *answer = json_object();
    json_auto_t *names_here = tools_names(browser_of(request));
    json_t *tools = json_array();
    json_t *name = NULL;
    size_t at = 0;

    (void)err;
    for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
        json_push(tools, entry(request, choices[i].name, &choices[i]));
    json_array_foreach (names_here, at, name) {
        if (!is_choice(json_string_value(name)))
            json_push(tools, entry(request, json_string_value(name), NULL));
    }
    json_put(answer, "tools", tools);
    return reply_json(reply, 200, answer);
}

const struct route tool_routes[] = {
    {HTTP_GET, "/api/tools/", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, 0, names},
    {HTTP_GET, "/api/tools/catalog", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, 0, catalog},
    {.handle = NULL},
};
