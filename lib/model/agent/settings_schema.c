#include "model/agent/settings_schema.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/agent/agent_fields.h"
#include "model/agent/agent_settings.h"
#include "model/agent/agent_spec.h"
#include "model/schema/object_schema.h"
#include "model/schema/words.h"

/* Importance of a field in the form. */
#define PROMINENCES(X) X(MINOR, "minor") X(MAJOR, "major") X(CRITICAL, "critical")

#define X(constant, text) constant,
enum prominence { PROMINENCES(X) N_PROMINENCES };
#undef X

static const char *const prominence_names[N_PROMINENCES] = {
#define X(constant, text) [constant] = (text),
    PROMINENCES(X)
#undef X
};

/* Texts of a field in the form; a field without a row is minor and labeled by its name. */
struct field_words {
    const char *key;
    const char *label;
    const char *help;
    enum prominence prominence;
    const char *depends_on; /* "a|b=c": switches that must be on, members that must equal */
    const char *choices;    /* if the reader accepts more values than the form offers */
};

static const struct field_words words[] = {
    {"agent", "Agent", "The agent that works in the conversation.", MAJOR, NULL, NULL},
    {"tools", "Tools", "Tools the agent may use; the standard set if empty.", MAJOR, NULL, NULL},
    {"tool_concurrency_limit", "Parallel tool calls",
     "Maximum number of tool calls that run at the same time.", MAJOR, NULL, NULL},
    {"mcp_config", "MCP servers", "Servers that provide additional tools.", MINOR, NULL, NULL},
    {"persona", "Persona", "Replaces the built-in description of the agent.", MINOR, NULL, NULL},
    {"enable_classify_and_switch_llm_tool", "Choose the model for each task",
     "Lets the active meta-profile choose the model for a task.", MINOR, NULL, NULL},
    {"llm.model", "Model", "Model name with the provider as prefix, such as openai/gpt-5.5.",
     CRITICAL, NULL, NULL},
    {"llm.api_key", "API key", "The provider's key for this model.", CRITICAL, NULL, NULL},
    {"llm.auth_type", "Authentication", "How deft authenticates to the provider.", CRITICAL, NULL,
     NULL},
    {"llm.subscription_vendor", "Subscription provider", "The provider of the subscription.",
     CRITICAL, "llm.auth_type", NULL},
    {"llm.provider_connection_id", "Provider connection",
     "A stored connection that supplies the key and base URL.", MAJOR, NULL, NULL},
    {"llm.base_url", "Base URL", "Address of the model's API, if not the provider's own.", MAJOR,
     NULL, NULL},
    {"llm.api_version", "API version", "For providers whose API versions are dates.", MINOR, NULL,
     NULL},
    {"llm.timeout", "Timeout", "Seconds allowed for one attempt.", MINOR, NULL, NULL},
    {"llm.num_retries", "Attempts", "Attempts before a call fails.", MINOR, NULL, NULL},
    {"llm.temperature", "Temperature", "Sampling temperature; empty: the model's default.", MINOR,
     NULL, NULL},
    {"llm.max_output_tokens", "Max output tokens", "Limit for one response.", MINOR, NULL, NULL},
    {"llm.max_input_tokens", "Max input tokens", "Limit for one request.", MINOR, NULL, NULL},
    {"llm.stream", "Stream", "Show responses as they are generated.", MINOR, NULL, NULL},
    {"llm.reasoning_effort", "Reasoning effort", "How long the model thinks before it answers.",
     MINOR, NULL, "low|medium|high|xhigh|none"},
    {"condenser.enabled", "Condense long conversations",
     "Summarises the oldest events when a conversation grows long.", CRITICAL, NULL, NULL},
    {"condenser.max_size", "Max events",
     "Number of events above which the conversation is condensed.", MINOR, "condenser.enabled",
     NULL},
    {"condenser.max_tokens", "Max tokens",
     "Number of tokens above which the conversation is condensed.", MINOR, "condenser.enabled",
     NULL},
    {"condenser.keep_first", "Keep first", "Number of initial events that are always kept.", MINOR,
     "condenser.enabled", NULL},
    {"condenser.minimum_progress", "Minimum progress",
     "Share of the conversation that condensing must remove.", MINOR, "condenser.enabled", NULL},
    {"condenser.hard_context_reset_max_retries", "Reset attempts",
     "How often a conversation that is far too long is truncated.", MINOR, "condenser.enabled",
     NULL},
    {"condenser.hard_context_reset_context_scaling", "Reset scaling",
     "Factor by which each attempt shortens the conversation further.", MINOR, "condenser.enabled",
     NULL},
    {"verification.critic_enabled", "Use a critic", "Lets a second model rate the work.", CRITICAL,
     NULL, NULL},
    {"verification.critic_mode", "When it runs", "At the end, or after every action.", MINOR,
     "verification.critic_enabled", NULL},
    {"verification.enable_iterative_refinement", "Refine until accepted",
     "Continues until the critic's score reaches the threshold.", CRITICAL,
     "verification.critic_enabled", NULL},
    {"verification.critic_threshold", "Threshold", "Minimum score, from 0 to 1.", MINOR,
     "verification.critic_enabled|verification.enable_iterative_refinement", NULL},
    {"verification.max_refinement_iterations", "Max rounds", "Maximum number of refinement rounds.",
     MINOR, "verification.critic_enabled|verification.enable_iterative_refinement", NULL},
    {"verification.critic_server_url", "Critic URL", "Address of the critic's API.", MINOR,
     "verification.critic_enabled", NULL},
    {"verification.critic_model_name", "Critic model", "Model name at that address.", MINOR,
     "verification.critic_enabled", NULL},
    {"verification.critic_api_key", "Critic API key", "API key for that address.", CRITICAL,
     "verification.critic_enabled", NULL},
    {"agent_context.system_message_suffix", "Instructions", "Text added to the system prompt.",
     MAJOR, NULL, NULL},
    {"agent_context.user_message_suffix", "Message suffix", "Text added to each user message.",
     MINOR, NULL, NULL},
    {"agent_context.load_memory", "Memory", "Loads notes from earlier conversations.", MAJOR, NULL,
     NULL},
    {"acp_server", "ACP server", "The program that runs as the agent.", CRITICAL, NULL, NULL},
    {"acp_command", "Command", "Command that starts a custom agent.", MINOR, NULL, NULL},
    {"acp_args", "Arguments", "Arguments added to the command.", MINOR, NULL, NULL},
    {"acp_model", "Model", "Model the agent uses.", CRITICAL, NULL, NULL},
    {"acp_prompt_timeout", "Prompt timeout",
     "Seconds without output before the agent counts as stuck.", MINOR, NULL, NULL},
    {"max_iterations", "Max steps", "Maximum number of model calls in one run.", MAJOR, NULL, NULL},
    {"confirmation_mode", "Ask before acting", "Waits for your confirmation before risky actions.",
     CRITICAL, NULL, NULL},
    {"security_analyzer", "Security analyzer", "Rates the risk of each action.", MAJOR,
     "confirmation_mode", "llm|none"},
    {"default_runtime", "Where it runs",
     "In the shared sandbox, in its own work tree, or in its own sandbox.", MAJOR, NULL, NULL},
    {"worktree_base", "Work tree from", "Start point of a work tree's branch.", MAJOR,
     "default_runtime=worktree", NULL},
    {"worktree_base_ref", "Work tree ref", "The branch or commit, if the base is 'ref'.", MAJOR,
     "default_runtime=worktree|worktree_base=ref", NULL},
    {"worktree_branch_prefix", "Branch prefix", "Prefix of new branch names.", MAJOR,
     "default_runtime=worktree", NULL},
    {"container_memory", "Memory", "Memory of the sandbox, such as 4g.", MAJOR,
     "default_runtime=docker", NULL},
    {"container_cpus", "CPUs", "Processors of the sandbox, such as 1.5.", MAJOR,
     "default_runtime=docker", NULL},
    {"container_browser", "Browser", "Whether the sandbox has a browser.", MAJOR,
     "default_runtime=docker", NULL},
};

/* A section of the form: some or all members of an object. */
struct section {
    const char *key;
    const char *label;
    const char *variant; /* agent_kind; NULL: any */
    const char *prefix;  /* "llm."; "" for members of the settings themselves */
    const struct object_schema *schema;
    const char *members; /* "a|b"; NULL: all */
};

static const struct section agent_sections[] = {
    {"general", "General", NULL, "", &openhands_settings_schema,
     "agent|tools|tool_concurrency_limit|mcp_config|persona|enable_classify_and_switch_llm_tool|"
     "active_meta_profile"},
    {"llm", "LLM", "openhands", "llm.", &llm_schema, NULL},
    {"agent_context", "Agent context", "openhands", "agent_context.", &agent_context_schema,
     "load_memory|system_message_suffix|user_message_suffix"},
    {"condenser", "Condenser", "openhands", "condenser.", &settings_condenser_schema, NULL},
    {"verification", "Verification", "openhands", "verification.", &settings_verification_schema,
     NULL},
    {"acp", "ACP (Agent Client Protocol)", "acp", "", &acp_settings_schema,
     "acp_server|acp_command|acp_args|acp_model|acp_session_mode|acp_prompt_timeout|"
     "acp_startup_timeout"},
};

static const struct section conversation_sections[] = {
    {"general", "General", NULL, "", &conversation_settings_schema, "max_iterations"},
    {"verification", "Verification", NULL, "", &conversation_settings_schema,
     "confirmation_mode|security_analyzer"},
    {"runtime", "Runtime", NULL, "", &conversation_settings_schema,
     "default_runtime|worktree_base|worktree_base_ref|worktree_branch_prefix|container_memory|"
     "container_cpus|container_browser"},
};

/* Members that the form masks during input. */
static const char secret_members[] =
    "api_key|aws_access_key_id|aws_secret_access_key|aws_session_token|critic_api_key";

static const char *const value_types[] = {
    [FIELD_TEXT] = "string",   [FIELD_BOOL] = "boolean", [FIELD_INT] = "integer",
    [FIELD_NUMBER] = "number", [FIELD_UUID] = "string",  [FIELD_ANY] = "object",
    [FIELD_MAP] = "object",    [FIELD_LIST] = "array",   [FIELD_TEXT_MAP] = "object",
    [FIELD_TEXTS] = "array",   [FIELD_INTS] = "array",   [FIELD_OBJECT] = "object",
    [FIELD_OBJECTS] = "array",
};

static const struct field_words *find_words(const char *key)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (text_equal(words[i].key, key))
            return &words[i];
    }
    return NULL;
}

/* Converts "max_message_chars" to "Max message chars". */
static json_t *label_of(const struct field_words *said, const char *name)
{
    CLEANUP(mem_freep) char *label = mem_dup_text(name);

    if (said != NULL)
        return json_text_of(said->label);
    for (char *at = label; *at != '\0'; at++) {
        if (*at == '_')
            *at = ' ';
    }
    label[0] = (char)toupper((unsigned char)label[0]);
    return json_text_of(label);
}

static json_t *choices_of(const struct field_words *said, const struct field *field)
{
    const char *text = said != NULL && said->choices != NULL ? said->choices : field->words;
    json_auto_t *values = words_to_json(text);
    json_t *choices = json_array();
    json_t *value = NULL;
    size_t i = 0;

    json_array_foreach (values, i, value) {
        json_t *choice = json_object();

        json_put(choice, "value", json_incref(value));
        json_put(choice, "label", json_incref(value));
        json_push(choices, choice);
    }
    return choices;
}

static json_t *default_of(const struct field *field)
{
    struct error err = ERROR_INIT;
    json_t *value = NULL;

    if (field->fallback == NULL ||
        json_parse(field->fallback, strlen(field->fallback), &value, &err) < 0)
        return json_null();
    return value;
}

static json_t *field_to_json(const struct section *section, const struct field *field)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    const struct field_words *said = NULL;
    json_t *json = json_object();

    strbuf_appendf(&key, "%s%s", section->prefix, field->name);
    said = find_words(key.text);
    json_put_text(json, "key", key.text);
    json_put(json, "label", label_of(said, field->name));
    json_put(json, "description", said != NULL ? json_text_of(said->help) : json_null());
    json_put_text(json, "section", section->key);
    json_put_text(json, "section_label", section->label);
    json_put_text(json, "value_type", value_types[field->kind]);
    json_put(json, "default", default_of(field));
    json_put_text(json, "prominence", prominence_names[said != NULL ? said->prominence : MINOR]);
    json_put(json, "depends_on", words_to_json(said != NULL ? said->depends_on : NULL));
    json_put(json, "secret", json_boolean(words_contain(secret_members, field->name)));
    json_put(json, "choices", choices_of(said, field));
    json_put(json, "variant", json_text_of(section->variant));
    return json;
}

static json_t *section_to_json(const struct section *section)
{
    json_t *json = json_object();
    json_t *fields = json_array();

    json_put_text(json, "key", section->key);
    json_put_text(json, "label", section->label);
    json_put(json, "fields", fields);
    json_put(json, "variant", json_text_of(section->variant));
    for (size_t i = 0; i < section->schema->n; i++) {
        const struct field *field = &section->schema->fields[i];

        if (section->members == NULL || words_contain(section->members, field->name))
            json_push(fields, field_to_json(section, field));
    }
    return json;
}

static json_t *schema_of(const char *model_name, const struct section *sections, size_t n)
{
    json_t *schema = json_object();
    json_t *list = json_array();

    json_put_text(schema, "model_name", model_name);
    json_put(schema, "sections", list);
    for (size_t i = 0; i < n; i++)
        json_push(list, section_to_json(&sections[i]));
    return schema;
}

static json_t *find_field(const json_t *schema, const char *key)
{
    json_t *section = NULL;
    json_t *field = NULL;
    size_t i = 0;
    size_t j = 0;

    json_array_foreach (json_object_get(schema, "sections"), i, section) {
        json_array_foreach (json_object_get(section, "fields"), j, field) {
            if (text_equal(json_text_or(field, "key", ""), key))
                return field;
        }
    }
    return NULL;
}

/* Two defaults are not literals: model is the server's, stream_idle_timeout equals timeout. */
json_t *settings_schema_of_agent(const char *model)
{
    json_t *schema = schema_of("AgentSettings", agent_sections, ARRAY_SIZE(agent_sections));
    json_t *timeout = find_field(schema, "llm.timeout");

    json_put_text(find_field(schema, "llm.model"), "default", model);
    json_put(find_field(schema, "llm.stream_idle_timeout"), "default",
             json_incref(json_object_get(timeout, "default")));
    return schema;
}

json_t *settings_schema_of_conversation(void)
{
    return schema_of("ConversationSettings", conversation_sections,
                     ARRAY_SIZE(conversation_sections));
}
