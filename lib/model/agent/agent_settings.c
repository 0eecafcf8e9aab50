#include "model/agent/agent_settings.h"

#include "base/json.h"
#include "base/text.h"
#include "model/agent/condenser_spec.h"
#include "model/agent/llm_spec.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"

#define CONDENSER_MIN_SIZE 20.0
#define SCALE_MAX 1.0
#define CHILDREN_TOOL "task_tool_set"

/* A switch that is not given. */
enum { NOT_SAID = -1 };

json_t *standard_tools(void)
{
    static const char *const names[] = {"terminal", "file_editor", "task_tracker"};
    json_t *tools = json_array();

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        json_t *tool = json_object();

        json_put_text(tool, "name", names[i]);
        json_put(tool, "params", json_object());
        json_push(tools, tool);
    }
    return tools;
}

bool agent_settings_are_acp(const json_t *settings)
{
    return text_equal(json_text_or(settings, "agent_kind", "openhands"), "acp");
}

/* Returns the index of the tool of that name, or the list's length. */
static size_t tool_position(const json_t *tools, const char *name)
{
    size_t i = 0;

    while (i < json_array_size(tools) &&
           !text_equal(json_text_or(json_array_get(tools, i), "name", ""), name))
        i++;
    return i;
}

/* Removes a switch from the settings; returns its value, or fallback if it is absent. */
static int take_switch(json_t *settings, const char *name, int fallback)
{
    int value = json_bool_or(settings, name, fallback);

    (void)json_object_del(settings, name);
    return value;
}

static void add_tool(json_t *settings, const char *name)
{
    json_t *tools = json_object_get(settings, "tools");
    json_t *tool = NULL;

    if (!json_is_array(tools)) {
        tools = standard_tools();
        json_put(settings, "tools", tools);
    }
    if (tool_position(tools, name) < json_array_size(tools))
        return;
    tool = json_object();
    json_put_text(tool, "name", name);
    json_put(tool, "params", json_object());
    json_push(tools, tool);
}

/* Without a list the standard tools apply, which include none of the retired ones. */
static void remove_tool(json_t *settings, const char *name)
{
    json_t *tools = json_object_get(settings, "tools");
    size_t i = json_is_array(tools) ? tool_position(tools, name) : 0;

    if (i < json_array_size(tools))
        (void)json_array_remove(tools, i);
}

bool agent_has_children(const json_t *settings)
{
    const json_t *tools = json_object_get(settings, "tools");

    return json_is_array(tools) && tool_position(tools, CHILDREN_TOOL) < json_array_size(tools);
}

void retired_switches_fold(json_t *settings)
{
    int has_children = take_switch(settings, "enable_sub_agents", NOT_SAID);
    int may_switch = take_switch(settings, "enable_switch_llm_tool", NOT_SAID);

    if (agent_settings_are_acp(settings)) {
        (void)json_object_del(settings, "llm");
        return;
    }
    if (may_switch == 0)
        remove_tool(settings, "switch_llm");
    if (has_children == 0)
        remove_tool(settings, CHILDREN_TOOL);
    if (has_children == 1)
        add_tool(settings, CHILDREN_TOOL);
}

static void check_at_most(json_t *object, const char *name, double most,
                          const struct json_path *path, json_t *problems)
{
    const struct json_path at = {path, name, 0};
    json_t *value = json_object_get(object, name);
    json_t *ctx = NULL;

    if (!json_is_number(value) || json_number_value(value) <= most)
        return;
    ctx = json_object();
    json_put(ctx, "le", json_real(most));
    validation_error_add(problems, &at,
                         &(struct validation_error){"less_than_equal",
                                                    "Input should be less than or equal to 1", ctx},
                         value);
}

static void check_above_0(json_t *object, const char *name, const struct json_path *path,
                          json_t *problems)
{
    const struct json_path at = {path, name, 0};
    json_t *value = json_object_get(object, name);
    json_t *ctx = NULL;

    if (!json_is_number(value) || json_number_value(value) > 0)
        return;
    ctx = json_object();
    json_put(ctx, "gt", json_integer(0));
    validation_error_add(
        problems, &at,
        &(struct validation_error){"greater_than", "Input should be greater than 0", ctx}, value);
}

static void check_condenser(json_t *condenser, const struct json_path *path, json_t *problems)
{
    const struct json_path at = {path, "max_size", 0};
    json_t *size = json_object_get(condenser, "max_size");
    json_t *ctx = NULL;

    condenser_check_shares(condenser, path, problems);
    if (!json_is_number(size) || json_number_value(size) >= CONDENSER_MIN_SIZE)
        return;
    ctx = json_object();
    json_put(ctx, "ge", json_real(CONDENSER_MIN_SIZE));
    validation_error_add(problems, &at,
                         &(struct validation_error){"greater_than_equal",
                                                    "Input should be greater than or equal to 20",
                                                    ctx},
                         size);
}

void settings_sections_check(json_t *settings, const struct json_path *path, json_t *problems)
{
    const struct json_path condenser = {path, "condenser", 0};
    const struct json_path verification = {path, "verification", 0};

    check_condenser(json_object_get(settings, "condenser"), &condenser, problems);
    check_at_most(json_object_get(settings, "verification"), "critic_threshold", SCALE_MAX,
                  &verification, problems);
}

static bool is_empty_text(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) == 0;
}

json_t *mcp_server_read(json_t *input, const struct json_path *path, json_t *problems)
{
    json_t *server = object_schema_read(&mcp_server_schema, input, path, problems);
    json_t *url = json_object_get(server, "url");
    json_t *command = json_object_get(server, "command");

    json_drop_nulls(server);
    if (is_empty_text(url) || is_empty_text(command))
        validation_error_add_value(problems, path, "url and command must not be empty", input);
    else if (json_typeof(input) == JSON_OBJECT && json_object_get(server, "url") == NULL &&
             json_object_get(server, "command") == NULL)
        validation_error_add_value(problems, path, "an MCP server needs either a url or a command",
                                   input);
    return server;
}

/* Older clients wrap the servers in {"mcpServers": …}. */
static json_t *mcp_servers_read(json_t *input, const struct json_path *path, json_t *problems)
{
    json_t *wrapped = json_object_get(input, "mcpServers");
    json_t *from = json_is_object(wrapped) ? wrapped : input;
    json_t *servers = json_object();
    const char *name = NULL;
    json_t *server = NULL;

    json_object_foreach (from, name, server) {
        const struct json_path at = {path, name, 0};

        json_put(servers, name, mcp_server_read(server, &at, problems));
    }
    return servers;
}

/* Adds missing sections; their members get their defaults. */
static json_t *with_sections(json_t *input)
{
    static const char *const sections[] = {"agent_context", "condenser", "llm", "mcp_config",
                                           "verification"};
    json_t *copy = json_copy(input);

    for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
        json_t *section = json_object_get(copy, sections[i]);

        if (section == NULL || json_is_null(section))
            json_put(copy, sections[i], json_object());
    }
    return copy;
}

static void read_meta_llms(json_t *settings, const struct conversation_defaults *defaults,
                           const struct json_path *path, json_t *problems)
{
    const struct json_path llms_path = {path, "meta_profile_llms", 0};
    json_t *llms = json_object_get(settings, "meta_profile_llms");
    const char *name = NULL;
    void *next = NULL;
    json_t *llm = NULL;

    json_object_foreach_safe (llms, next, name, llm) {
        const struct json_path at = {&llms_path, name, 0};

        json_put(llms, name, llm_spec_read(llm, defaults, &at, problems));
    }
}

json_t *agent_settings_read(json_t *input, const struct conversation_defaults *defaults,
                            const struct json_path *path, json_t *problems)
{
    const struct json_path llm_path = {path, "llm", 0};
    const struct json_path mcp_path = {path, "mcp_config", 0};
    bool is_acp = agent_settings_are_acp(input);
    json_auto_t *folded = json_deep_copy(input);
    json_auto_t *whole = NULL;
    json_t *settings = NULL;

    retired_switches_fold(folded);
    whole = with_sections(folded);
    settings = object_schema_read(is_acp ? &acp_settings_schema : &openhands_settings_schema, whole,
                                  path, problems);
    json_put(settings, "schema_version", json_integer(AGENT_SETTINGS_VERSION));
    if (json_is_object(json_object_get(settings, "mcp_config")))
        json_put(settings, "mcp_config",
                 mcp_servers_read(json_object_get(settings, "mcp_config"), &mcp_path, problems));
    if (is_acp)
        return settings;
    if (json_is_object(json_object_get(settings, "llm")))
        json_put(settings, "llm",
                 llm_spec_read(json_object_get(settings, "llm"), defaults, &llm_path, problems));
    read_meta_llms(settings, defaults, path, problems);
    settings_sections_check(settings, path, problems);
    return settings;
}

json_t *conversation_settings_read(json_t *input, const struct json_path *path, json_t *problems)
{
    const struct json_path ref_path = {path, "worktree_base_ref", 0};
    json_t *settings = object_schema_read(&conversation_settings_schema, input, path, problems);

    check_above_0(settings, "container_cpus", path, problems);
    if (text_equal(json_text_or(settings, "worktree_base", ""), "ref") &&
        text_is_blank(json_text_or(settings, "worktree_base_ref", "")))
        validation_error_add_value(problems, &ref_path,
                                   "worktree_base 'ref' needs a worktree_base_ref",
                                   json_object_get(settings, "worktree_base_ref"));
    return settings;
}

/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
void settings_merge(json_t *base, json_t *change)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (change, name, value) {
        json_t *there = json_object_get(base, name);

        if (json_is_null(value))
            (void)json_object_del(base, name);
        else if (json_is_object(value) && json_is_object(there))
            settings_merge(there, value);
        else if (json_is_object(value)) {
            json_t *fresh = json_object();

            settings_merge(fresh, value);
            json_put(base, name, fresh);
        } else
            json_put(base, name, json_deep_copy(value));
    }
}
