#include "model/tools/toolset.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/schema/words.h"
#include "model/tools/agent_tool.h"
#include "model/tools/catalogue_tools.h"
#include "model/tools/client_tools.h"
#include "model/tools/mcp_config.h"
#include "model/tools/mcp_listing.h"
#include "model/tools/mcp_tools.h"
#include "model/tools/tools.h"

struct toolset {
    const struct catalogue *catalogue;
    const struct conversation *conversation;
    struct agent_tool *items;
    size_t n;
};

static void add_own(struct toolset *tools, const struct tool *const *entries)
{
    for (size_t i = 0; entries[i] != NULL; i++)
        tools->items[tools->n++] = catalogue_tool(entries[i]);
}

static void add_provided(struct toolset *tools, const json_t *provided)
{
    for (size_t i = 0; i < json_array_size(provided); i++)
        tools->items[tools->n++] = client_tool(json_array_get(provided, i));
}

static void add_listed(struct toolset *tools, const json_t *listed)
{
    for (size_t i = 0; i < json_array_size(listed); i++)
        tools->items[tools->n++] = mcp_tool(json_array_get(listed, i));
}

struct toolset *toolset_new(const struct catalogue *catalogue,
                            const struct conversation *conversation)
{
    struct toolset *tools = NEW(struct toolset);
    const struct tool **own = tools_of(conversation);
    const json_t *provided = client_tools_of(conversation);
    const json_t *listed = mcp_tools_of(conversation);
    size_t n = json_array_size(provided) + json_array_size(listed);

    for (size_t i = 0; own[i] != NULL; i++)
        n++;
    tools->catalogue = catalogue;
    tools->conversation = conversation;
    tools->items = mem_alloc_array(n, sizeof(*tools->items));
    add_own(tools, own);
    add_provided(tools, provided);
    add_listed(tools, listed);
    mem_free((void *)own);
    return tools;
}

void toolset_free(struct toolset *tools)
{
    if (tools == NULL)
        return;
    for (size_t i = 0; i < tools->n; i++)
        mem_free(tools->items[i].action_kind);
    mem_free(tools->items);
    mem_free(tools);
}

void toolset_freep(struct toolset **tools)
{
    toolset_free(*tools);
    *tools = NULL;
}

const struct conversation *toolset_conversation(const struct toolset *tools)
{
    return tools->conversation;
}

size_t toolset_size(const struct toolset *tools)
{
    return tools->n;
}

const struct agent_tool *toolset_at(const struct toolset *tools, size_t i)
{
    return &tools->items[i];
}

static bool has_name(const struct agent_tool *tool, const char *name)
{
    return tool->own != NULL ? words_contain(tool->own->spec_names, name)
                             : text_equal(tool->name, name);
}

const struct agent_tool *toolset_find(const struct toolset *tools, const char *name)
{
    for (size_t i = 0; i < tools->n; i++) {
        if (has_name(&tools->items[i], name))
            return &tools->items[i];
    }
    return NULL;
}

static bool needs_sandbox(enum tool_place place)
{
    return place == TOOL_IN_SANDBOX || place == TOOL_IN_CHILD || place == TOOL_IN_SUB_AGENT ||
           place == TOOL_IN_DELEGATES;
}

bool toolset_needs_sandbox(const struct toolset *tools)
{
    for (size_t i = 0; i < tools->n; i++) {
        if (needs_sandbox(tools->items[i].place))
            return true;
    }
    return mcp_servers_need_sandbox(tools->conversation);
}

json_t *toolset_definitions(const struct toolset *tools)
{
    json_t *list = json_array();

    for (size_t i = 0; i < tools->n; i++) {
        const struct agent_tool *tool = &tools->items[i];

        json_push(list, tool->source->definition(tool, tools->catalogue, tools->conversation));
    }
    return list;
}

static json_t *function(const struct toolset *tools, const struct agent_tool *tool)
{
    json_t *wrapped = json_object();
    json_t *json = json_object();

    json_put_text(json, "name", tool->name);
    json_put(json, "description",
             tool->source->description(tool, tools->catalogue, tools->conversation));
    json_put(json, "parameters", tool->source->parameters(tool, tools->catalogue));
    json_put_text(wrapped, "type", "function");
    json_put(wrapped, "function", json);
    return wrapped;
}

/* True if an earlier tool has its name. */
static bool is_shadowed(const struct toolset *tools, const struct agent_tool *tool)
{
    for (const struct agent_tool *earlier = tools->items; earlier < tool; earlier++) {
        if (has_name(earlier, tool->name))
            return true;
    }
    return false;
}

json_t *toolset_functions(const struct toolset *tools)
{
    json_t *list = json_array();

    for (size_t i = 0; i < tools->n; i++) {
        const struct agent_tool *tool = &tools->items[i];

        /* Models refuse two functions of one name. */
        if (!is_shadowed(tools, tool))
            json_push(list, function(tools, tool));
    }
    return list;
}
