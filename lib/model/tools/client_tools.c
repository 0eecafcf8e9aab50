#include "model/tools/client_tools.h"

#include <stdbool.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/schema/object_schema.h"
#include "model/schema/words.h"
#include "model/tools/tool.h"

const struct tool client_tool = {.name = "client", .kind = "ClientTool", .place = TOOL_IN_WORKER};

static json_t *tools_of_client(const struct conversation *conversation)
{
    return json_object_get(conversation->spec, "client_tools");
}

const json_t *client_tool_find(const struct conversation *conversation, const char *name)
{
    const json_t *tools = tools_of_client(conversation);

    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);

        if (text_equal(json_text_or(tool, "name", ""), name))
            return tool;
    }
    return NULL;
}

char *client_tool_action_kind(const char *name)
{
    CLEANUP(strbuf_done) struct strbuf kind = STRBUF_INIT;

    strbuf_append(&kind, CLIENT_ACTION_PREFIX);
    strbuf_append(&kind, name);
    return strbuf_take(&kind);
}

static json_t *definition(const json_t *tool)
{
    const char *name = json_text_or(tool, "name", "");
    CLEANUP(mem_freep) char *action = client_tool_action_kind(name);
    json_t *annotations = json_object_get(tool, "annotations");
    json_t *json = json_object();

    json_put_text(json, "kind", client_tool.kind);
    json_put_text(json, "title", name);
    json_put_text(json, "description", json_text_or(tool, "description", ""));
    json_put_text(json, "action_type", action);
    json_put_text(json, "observation_type", "ClientToolObservation");
    if (json_is_object(annotations))
        json_put(json, "annotations", json_deep_copy(annotations));
    json_put_text(json, "client_tool_name", name);
    json_put(json, "input_schema", json_deep_copy(json_object_get(tool, "parameters")));
    return json;
}

void client_tools_add_definitions(const struct conversation *conversation, json_t *list)
{
    const json_t *tools = tools_of_client(conversation);

    for (size_t i = 0; i < json_array_size(tools); i++)
        json_push(list, definition(json_array_get(tools, i)));
}

static json_t *function(const json_t *tool)
{
    json_t *wrapped = json_object();
    json_t *json = json_object();

    json_put_text(json, "name", json_text_or(tool, "name", ""));
    json_put_text(json, "description", json_text_or(tool, "description", ""));
    json_put(json, "parameters", json_deep_copy(json_object_get(tool, "parameters")));
    json_put_text(wrapped, "type", "function");
    json_put(wrapped, "function", json);
    return wrapped;
}

static bool is_one_of(const struct tool *const *own, const char *name)
{
    for (size_t i = 0; own[i] != NULL; i++) {
        if (words_contain(own[i]->spec_names, name))
            return true;
    }
    return false;
}

void client_tools_add_functions(const struct conversation *conversation,
                                const struct tool *const *own, json_t *list)
{
    const json_t *tools = tools_of_client(conversation);

    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);

        /* Names are unique: the agent's own tool takes precedence. */
        if (!is_one_of(own, json_text_or(tool, "name", "")))
            json_push(list, function(tool));
    }
}
