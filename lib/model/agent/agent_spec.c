#include "model/agent/agent_spec.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "model/agent/agent_fields.h"
#include "model/agent/agent_settings.h"
#include "model/agent/condenser_spec.h"
#include "model/agent/conversation_defaults.h"
#include "model/agent/llm_spec.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "model/secrets/secret_places.h"

/* Reads the member `llm` of an object into its copy. */
static void read_llm_member(json_t *object, json_t *input,
                            const struct conversation_defaults *defaults,
                            const struct json_path *path, json_t *problems)
{
    json_t *llm = json_object_get(input, "llm");
    const struct json_path at = {path, "llm", 0};

    if (json_is_object(llm))
        json_put(object, "llm", llm_spec_read(llm, defaults, &at, problems));
}

/* Older clients wrap the servers in {"mcpServers": …}; every server gets `enabled`. */
static json_t *mcp_config_read(json_t *input, const struct json_path *path, json_t *problems)
{
    json_t *wrapped = json_object_get(input, "mcpServers");
    json_t *servers = json_deep_copy(json_is_object(wrapped) ? wrapped : input);
    const char *name = NULL;
    json_t *server = NULL;

    json_object_foreach (servers, name, server) {
        const struct json_path at = {path, name, 0};

        if (!json_is_object(server))
            validation_error_add(
                problems, &at,
                &(struct validation_error){"dict_type", "Input should be a valid dictionary", NULL},
                server);
        else if (json_object_get(server, "enabled") == NULL)
            json_put(server, "enabled", json_true());
    }
    return servers;
}

static void finish_prompt_arguments(json_t *agent)
{
    json_t *arguments = json_object_get(agent, "system_prompt_kwargs");

    if (!json_is_object(arguments))
        return;
    (void)json_object_del(arguments, "enable_browser");
    if (json_object_get(arguments, "llm_security_analyzer") == NULL)
        json_put(arguments, "llm_security_analyzer", json_true());
}

/* The prompt is fixed at the start of a conversation, and so is its date. */
static void finish_context(json_t *agent)
{
    json_t *context = json_object_get(agent, "agent_context");
    char now[CLOCK_TEXT_BYTES];

    if (!json_is_object(context) || !json_is_null(json_object_get(context, "current_datetime")))
        return;
    clock_format_z(clock_utc_us(), now);
    json_put_text(context, "current_datetime", now);
}

/* Common to agents given as `agent` and as `agent_settings`. */
static void finish_agent(json_t *agent, json_t *input, const struct json_path *path,
                         json_t *problems)
{
    json_t *servers = json_object_get(input, "mcp_config");
    const struct json_path mcp_path = {path, "mcp_config", 0};

    if (json_is_object(servers))
        json_put(agent, "mcp_config", mcp_config_read(servers, &mcp_path, problems));
    finish_prompt_arguments(agent);
    finish_context(agent);
    json_put_text(agent, "kind", "Agent");
}

json_t *agent_spec_read(json_t *input, const struct conversation_defaults *defaults,
                        const struct json_path *path, json_t *problems)
{
    const char *kind = json_text_or(input, "kind", "Agent");
    json_t *condenser = json_object_get(input, "condenser");
    const struct json_path condenser_path = {path, "condenser", 0};
    json_t *agent = NULL;

    if (!text_equal(kind, "Agent")) {
        validation_error_add_value(problems, path, "this server runs agents of kind 'Agent' only",
                                   input);
        return json_object();
    }
    agent = object_schema_read(&agent_schema, input, path, problems);
    read_llm_member(agent, input, defaults, path, problems);
    if (json_is_object(condenser))
        json_put(agent, "condenser",
                 condenser_read(condenser, defaults, &condenser_path, problems));
    finish_agent(agent, input, path, problems);
    return agent;
}

/* Builds a condenser from settings; null if it is turned off. */
static json_t *condenser_from_settings(const json_t *wanted, json_t *llm)
{
    static const char *const members[] = {"max_size",
                                          "max_tokens",
                                          "keep_first",
                                          "minimum_progress",
                                          "hard_context_reset_max_retries",
                                          "hard_context_reset_context_scaling"};
    json_t *condenser = NULL;
    json_t *condenser_llm = NULL;

    if (!json_bool_or(wanted, "enabled", 1) ||
        text_equal(json_text_or(wanted, "condenser_kind", ""), "no_op"))
        return json_null();
    condenser = json_object();
    condenser_llm = json_deep_copy(llm);
    json_put_text(condenser_llm, "usage_id", "condenser");
    /* No client sees a summary while it is generated. */
    json_put(condenser_llm, "stream", json_false());
    json_put(condenser, "llm", condenser_llm);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put(condenser, members[i], json_deep_copy(json_object_get(wanted, members[i])));
    json_put_text(condenser, "kind", "LLMSummarizingCondenser");
    return condenser;
}

/* Builds an agent from settings, with defaults for members they do not have. */
static json_t *agent_of_settings(json_t *settings, const struct json_path *path, json_t *problems)
{
    static const char *const moved[] = {"tools", "mcp_config", "agent_context", "persona",
                                        "tool_concurrency_limit"};
    json_auto_t *bare = json_object();
    json_t *agent = NULL;

    json_put(bare, "llm", json_object());
    agent = object_schema_read(&agent_schema, bare, path, problems);
    json_put(agent, "tools", standard_tools());
    for (size_t i = 0; i < ARRAY_SIZE(moved); i++) {
        json_t *value = json_object_get(settings, moved[i]);

        if (value != NULL && !json_is_null(value))
            json_put(agent, moved[i], json_incref(value));
    }
    return agent;
}

/* Part of the standard tools if sandboxes have a browser. */
static void add_browser(json_t *tools)
{
    json_t *tool = json_object();

    json_put_text(tool, "name", "browser_tool_set");
    json_put(tool, "params", json_object());
    json_push(tools, tool);
}

json_t *agent_spec_from_settings(json_t *input, const struct conversation_defaults *defaults,
                                 const struct json_path *path, json_t *problems)
{
    json_auto_t *settings = NULL;
    json_t *agent = NULL;
    json_t *llm = NULL;

    if (agent_settings_are_acp(input)) {
        validation_error_add_value(problems, path, "this server runs agent_kind 'openhands' only",
                                   input);
        return json_object();
    }
    settings = agent_settings_read(input, defaults, path, problems);
    /* Without a context in the input there is none, and no date in the prompt. */
    if (!json_is_object(json_object_get(input, "agent_context")))
        json_put(settings, "agent_context", json_null());
    agent = agent_of_settings(settings, path, problems);
    if (!json_is_array(json_object_get(settings, "tools")) && defaults->has_browser)
        add_browser(json_object_get(agent, "tools"));
    llm = json_object_get(settings, "llm");
    if (llm != NULL) {
        json_put_text(llm, "usage_id", "agent");
        json_put(agent, "llm", json_incref(llm));
        json_put(agent, "condenser",
                 condenser_from_settings(json_object_get(settings, "condenser"), llm));
    }
    finish_agent(agent, settings, path, problems);
    return agent;
}
