/*
 * Reads a StartConversationRequest into a conversation: its specification and its secrets.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/agent/agent_spec.h"
#include "model/agent/analyzer_spec.h"
#include "model/agent/hooks.h"
#include "model/agent/policy.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "model/schema/object_schema.h"
#include "model/schema/start_fields.h"
#include "model/schema/validation_error.h"
#include "model/secrets/secret_places.h"
#include "model/secrets/secret_registry.h"
#include "model/start/start_check.h"
#include "model/tools/tools.h"

#define CPUS_MIN 0.01

static const struct json_path body = {NULL, "body", 0};
static const char DIGITS[] = "0123456789";

/* Python modules of the classes of deft's tools. */
struct tool_module {
    const char *tool;
    const char *module;
};

static const struct tool_module tool_modules[] = {
    {"terminal", "openhands.tools.terminal.definition"},
    {"file_editor", "openhands.tools.file_editor.definition"},
    {"task_tracker", "openhands.tools.task_tracker.definition"},
    {"apply_patch", "openhands.tools.apply_patch.definition"},
    {"edit", "openhands.tools.gemini.edit.definition"},
    {"list_directory", "openhands.tools.gemini.list_directory.definition"},
    {"read_file", "openhands.tools.gemini.read_file.definition"},
    {"write_file", "openhands.tools.gemini.write_file.definition"},
    {"glob", "openhands.tools.glob.definition"},
    {"grep", "openhands.tools.grep.definition"},
    {"browser_tool_set", "openhands.tools.browser_use.definition"},
};

/* State while a request is read. */
struct start_reading {
    const struct conversation_defaults *defaults;
    json_t *request; /* as the client sent it */
    json_t *values;  /* its members, validated, with defaults */
    json_t *spec;    /* the resulting specification */
    json_t *secrets; /* {"llm_api_key", "secrets", "members"} */
    json_t *content; /* of the initial message; NULL if there is none */
    json_t *problems;
};

static void start_reading_done(struct start_reading *start)
{
    json_decref(start->values);
    json_decref(start->spec);
    json_decref(start->secrets);
    json_decref(start->content);
    json_decref(start->problems);
}

static bool is_given(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    return value != NULL && !json_is_null(value);
}

/* Reads the agent from `agent` or `agent_settings`; a profile alone was resolved before. */
static void read_agent(struct start_reading *start)
{
    const struct json_path agent_place = {&body, "agent", 0};
    const struct json_path settings_place = {&body, "agent_settings", 0};
    json_t *agent = json_object_get(start->values, "agent");
    json_t *settings = json_object_get(start->values, "agent_settings");

    if (is_given(start->values, "agent_profile_id"))
        validation_error_add_value(start->problems, &body,
                                   "agent_profile_id excludes agent and agent_settings",
                                   start->request);
    else if (json_is_object(agent))
        json_put(start->spec, "agent",
                 agent_spec_read(agent, start->defaults, &agent_place, start->problems));
    else if (json_is_object(settings))
        json_put(
            start->spec, "agent",
            agent_spec_from_settings(settings, start->defaults, &settings_place, start->problems));
    else if (!is_given(start->request, "agent") && !is_given(start->request, "agent_settings"))
        validation_error_add_value(start->problems, &body,
                                   "one of agent, agent_settings and agent_profile_id is required",
                                   start->request);
}

static void read_policies(struct start_reading *start)
{
    const struct json_path policy_place = {&body, "confirmation_policy", 0};
    const struct json_path analyzer_place = {&body, "security_analyzer", 0};
    const struct json_path tags_place = {&body, "tags", 0};
    json_t *policy = json_object_get(start->values, "confirmation_policy");
    json_t *analyzer = json_object_get(start->values, "security_analyzer");
    json_t *tags = json_object_get(start->values, "tags");

    if (policy != NULL)
        json_put(start->spec, "confirmation_policy",
                 policy_read(policy, &policy_place, start->problems));
    if (analyzer != NULL)
        json_put(start->spec, "security_analyzer",
                 analyzer_read(analyzer, start->defaults, &analyzer_place, start->problems));
    if (tags != NULL)
        tags_check(tags, &tags_place, start->problems);
}

/* True if a path has a ".." component. */
static bool has_dot_dot(const char *path)
{
    while (*path != '\0') {
        size_t len = strcspn(path, "/");

        if (len == 2 && strncmp(path, "..", len) == 0)
            return true;
        path += len + (path[len] == '/');
    }
    return false;
}

/* Several clients send `workspace/project`, relative to the sandbox's root; other relative paths
 * are below /workspace. An empty path means ".": Agent Canvas sends it for "/", since it strips
 * trailing slashes. */
static char *absolute_dir(const char *path)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;

    while (text_starts_with(path, "./"))
        path += strspn(path + 1, "/") + 1;
    if (path[0] == '\0' || text_equal(path, "."))
        path = "workspace";
    strbuf_append(&whole, text_equal(path, "workspace") || text_starts_with(path, "workspace/")
                              ? "/"
                              : "/workspace/");
    strbuf_append(&whole, path);
    while (whole.len > 1 && whole.text[whole.len - 1] == '/')
        strbuf_truncate(&whole, whole.len - 1);
    return strbuf_take(&whole);
}

static void read_workspace(struct start_reading *start)
{
    const struct json_path workspace = {&body, "workspace", 0};
    const struct json_path where = {&workspace, "working_dir", 0};
    json_t *value = json_object_get(start->values, "workspace");
    const char *working_dir = json_text_or(value, "working_dir", NULL);
    CLEANUP(mem_freep) char *whole = NULL;

    if (working_dir == NULL)
        return;
    if (has_dot_dot(working_dir)) {
        validation_error_add_value(
            start->problems, &where,
            "the working directory must be absolute or a path below /workspace, without '..'",
            json_object_get(value, "working_dir"));
        return;
    }
    if (working_dir[0] == '/')
        return;
    /* By the contract: in a sandbox of its own there is nothing a path could be relative to. */
    if (text_equal(json_text_or(start->values, "conversation_runtime", ""), "docker")) {
        validation_error_add_value(start->problems, &where,
                                   "the working directory must be an absolute path",
                                   json_object_get(value, "working_dir"));
        return;
    }
    whole = absolute_dir(working_dir);
    json_put_text(value, "working_dir", whole);
}

/* True for sizes such as "512m", "4g", "2GiB", "1.5 GB". */
static bool is_memory_size(const char *text)
{
    size_t n_whole = strspn(text, DIGITS);
    const char *at = text + n_whole;

    if (*at == '.') {
        size_t n_fraction = strspn(at + 1, DIGITS);

        if (n_fraction == 0)
            return false;
        at += 1 + n_fraction;
    }
    at += *at == ' ' ? 1 : 0;
    at += *at != '\0' && strchr("kKmMgGtTpP", *at) != NULL ? 1 : 0;
    at += *at == 'i' || *at == 'I' ? 1 : 0;
    at += *at == 'b' || *at == 'B' ? 1 : 0;
    return n_whole > 0 && *at == '\0';
}

static void read_container(struct start_reading *start)
{
    const struct json_path container_place = {&body, "container", 0};
    const struct json_path where = {&container_place, "memory", 0};
    const struct json_path cpus_place = {&container_place, "cpus", 0};
    json_t *memory = json_object_get(json_object_get(start->values, "container"), "memory");
    json_t *cpus = json_object_get(json_object_get(start->values, "container"), "cpus");

    if (json_is_number(cpus) && json_number_value(cpus) < CPUS_MIN)
        validation_error_add(
            start->problems, &cpus_place,
            &(struct validation_error){"greater_than_equal",
                                       "Input should be greater than or equal to 0.01", NULL},
            cpus);
    if (json_is_string(memory) && !is_memory_size(json_string_value(memory)))
        validation_error_add(
            start->problems, &where,
            &(struct validation_error){"string_pattern_mismatch",
                                       "String should be a size such as '512m' or '2GiB'", NULL},
            memory);
}

/* True for a name that git and a shell accept without quoting. */
static bool is_git_name(const char *text)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static const char others[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";

    return strspn(text, first) > 0 && text[strspn(text, others)] == '\0';
}

static void read_worktree(struct start_reading *start)
{
    static const struct validation_error pattern = {
        "string_pattern_mismatch", "String should be a valid git branch prefix", NULL};
    const struct json_path where = {&body, "worktree_options", 0};
    const struct json_path ref_place = {&where, "ref", 0};
    const struct json_path prefix_place = {&where, "branch_prefix", 0};
    json_t *options = json_object_get(start->values, "worktree_options");
    const char *ref = json_text_or(options, "ref", NULL);
    const char *prefix = json_text_or(options, "branch_prefix", "");

    if (text_equal(json_text_or(options, "base", ""), "ref") && ref == NULL)
        validation_error_add_value(start->problems, &where, "base 'ref' needs a ref", options);
    if (ref != NULL && !is_git_name(ref))
        validation_error_add(start->problems, &ref_place, &pattern,
                             json_object_get(options, "ref"));
    if (prefix[0] != '\0' && !is_git_name(prefix))
        validation_error_add(start->problems, &prefix_place, &pattern,
                             json_object_get(options, "branch_prefix"));
}

static void read_message(struct start_reading *start)
{
    const struct json_path message_place = {&body, "initial_message", 0};
    const struct json_path where = {&message_place, "content", 0};
    json_t *message = json_object_get(start->values, "initial_message");
    json_t *content = json_object_get(message, "content");

    /* Absent if the shape has refused it. */
    if (content != NULL)
        start->content = content_read_at(content, &where, start->problems);
}

/* Secrets of the agent's context are named secrets, too; the request's take precedence. */
static void read_secrets(struct start_reading *start)
{
    const struct json_path where = {&body, "secrets", 0};
    const struct json_path agent_place = {&body, "agent", 0};
    const struct json_path context_place = {&agent_place, "agent_context", 0};
    const struct json_path of_context_place = {&context_place, "secrets", 0};
    json_t *context = json_object_get(json_object_get(start->spec, "agent"), "agent_context");
    json_t *of_context = json_object_get(context, "secrets");
    json_t *update = json_object_get(start->values, "secrets");
    json_t *sources = json_object();
    json_t *registry = json_object();
    json_t *values = json_object();

    if (json_is_object(of_context))
        secret_registry_update(sources, values, of_context, &of_context_place, start->problems);
    if (update != NULL)
        secret_registry_update(sources, values, update, &where, start->problems);
    secret_registry_refuse_nulls(update, &where, start->problems);
    json_put(registry, "secret_sources", sources);
    json_put(start->spec, "secret_registry", registry);
    json_put(start->secrets, "secrets", values);
}

/* Returns the set of names in a list of objects. A new reference. */
static json_t *names_in(const json_t *list)
{
    json_t *names = json_object();
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item)
        json_put(names, json_text_or(item, "name", ""), json_true());
    return names;
}

/* Modules as the creator gave them, and the official ones of tools it left out. */
static void read_tool_modules(struct start_reading *start)
{
    json_t *modules = json_deep_copy(json_object_get(start->values, "tool_module_qualnames"));
    json_t *tools = json_object_get(json_object_get(start->spec, "agent"), "tools");
    json_t *tool = NULL;
    size_t i = 0;

    json_array_foreach (tools, i, tool) {
        const char *name = json_text_or(tool, "name", "");

        for (size_t j = 0; j < ARRAY_SIZE(tool_modules); j++) {
            if (text_equal(name, tool_modules[j].tool) && !is_given(modules, name))
                json_put_text(modules, name, tool_modules[j].module);
        }
    }
    json_put(start->spec, "tool_module_qualnames", modules);
}

/* Reports unknown tools at the start rather than at their first use; client tools are known. */
static void check_tools(struct start_reading *start)
{
    const struct json_path agent_place = {&body, "agent", 0};
    const struct json_path tools_place = {&agent_place, "tools", 0};
    json_t *tools = json_object_get(json_object_get(start->spec, "agent"), "tools");
    json_auto_t *client_tools = names_in(json_object_get(start->values, "client_tools"));
    json_t *tool = NULL;
    size_t i = 0;

    json_array_foreach (tools, i, tool) {
        const struct json_path at = {&tools_place, NULL, (json_int_t)i};
        const char *name = json_text_or(tool, "name", "");

        if (!tools_may_be_named(name) && json_object_get(client_tools, name) == NULL)
            validation_error_add_value(start->problems, &at,
                                       "this server has no tool with this name", tool);
    }
}

/* A tool's arguments are an object; a schema without a type counts as one of an object. */
static bool is_object_schema(const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");

    return type == NULL || text_equal(json_text_or(schema, "type", ""), "object");
}

static void check_client_tools(struct start_reading *start)
{
    const struct json_path where = {&body, "client_tools", 0};
    json_auto_t *seen = json_object();
    json_t *tools = json_object_get(start->values, "client_tools");
    json_t *tool = NULL;
    size_t i = 0;

    json_array_foreach (tools, i, tool) {
        const struct json_path at = {&where, NULL, (json_int_t)i};
        const char *name = json_text_or(tool, "name", "");

        if (json_object_get(seen, name) != NULL)
            validation_error_add_value(start->problems, &at, "another client tool has this name",
                                       tool);
        if (!is_object_schema(json_object_get(tool, "parameters")))
            validation_error_add_value(start->problems, &at,
                                       "the parameters must be of type object", tool);
        json_put(seen, name, json_true());
    }
}

/* Copies members that the specification keeps unchanged. */
static void keep_members(struct start_reading *start)
{
    static const char *const kept[] = {
        "workspace",
        "max_iterations",
        "max_budget_per_run",
        "stuck_detection",
        "stuck_detection_thresholds",
        "hook_config",
        "tags",
        "client_tools",
        "container",
        "worktree",
        "worktree_options",
        "plugins",
        "user_id",
        "autotitle",
        "title_llm_profile",
        "agent_definitions",
        "prompt",
        "agent_launch_additions",
    };

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        json_t *value = json_object_get(start->values, kept[i]);

        if (value != NULL)
            json_put(start->spec, kept[i], json_incref(value));
    }
}

/* Stored, since a later change of the server's settings does not change the agent's prompt. */
static void keep_browser(struct start_reading *start)
{
    const json_t *container = json_object_get(start->values, "container");

    if (start->defaults->has_browser && json_bool_or(container, "browser", 1))
        json_put(start->spec, "has_browser", json_true());
}

static void take_secrets(struct start_reading *start)
{
    json_t *members = json_object();
    const char *key = json_text_or(json_object_get(json_object_get(start->spec, "agent"), "llm"),
                                   "api_key", NULL);

    json_put_text(start->secrets, "llm_api_key", key);
    secret_places_take(start->spec, members);
    json_put(start->secrets, "members", members);
}

/* The events of hooks may be written in two ways. */
static void name_hooks(json_t *request)
{
    json_t *config = json_object_get(request, "hook_config");

    if (json_is_object(config))
        json_put(request, "hook_config", hooks_with_known_names(config));
}

static void start_read(struct start_reading *start)
{
    name_hooks(start->request);
    start->values = object_schema_read(&start_schema, start->request, &body, start->problems);
    if (!json_is_object(start->request))
        return;
    read_workspace(start);
    read_container(start);
    read_worktree(start);
    read_agent(start);
    read_policies(start);
    read_message(start);
    read_secrets(start);
    check_client_tools(start);
    check_tools(start);
    start_check_extras(start->values, &body, start->problems);
    if (json_array_size(start->problems) > 0)
        return;
    read_tool_modules(start);
    keep_members(start);
    keep_browser(start);
    take_secrets(start);
}

static struct uuid uuid_member(const json_t *values, const char *name)
{
    struct uuid uuid = UUID_INIT;

    return uuid_parse(json_text_or(values, name, ""), &uuid) ? uuid : (struct uuid)UUID_INIT;
}

static void start_finish(struct start_reading *start, struct conversation *conversation_out)
{
    const char *runtime = json_text_or(start->values, "conversation_runtime", NULL);
    struct conversation conversation = CONVERSATION_INIT;

    conversation.id = uuid_member(start->values, "conversation_id");
    if (!uuid_is_set(&conversation.id))
        conversation.id = uuid_random();
    conversation.parent_id = uuid_member(start->values, "parent_conversation_id");
    conversation.runtime_kind = start->defaults->runtime_kind;
    if (runtime != NULL)
        conversation.runtime_kind = text_equal(runtime, "docker") ? RUNTIME_DOCKER : RUNTIME_LOCAL;
    conversation.spec = json_incref(start->spec);
    conversation.stats = stats_new();
    conversation.agent_state = json_object();
    *conversation_out = conversation;
}

/* NOLINTNEXTLINE(readability-function-size): four different results, none of them optional */
int conversation_from_request(json_t *request, const struct conversation_defaults *defaults,
                              struct conversation *conversation_out, struct secret *secrets_out,
                              json_t **initial_content_out, json_t **problems_out,
                              struct error *err)
{
    CLEANUP(start_reading_done) struct start_reading start = {.defaults = defaults,
                                                              .request = request,
                                                              .spec = json_object(),
                                                              .secrets = json_object(),
                                                              .problems = json_array()};
    CLEANUP(mem_freep) char *secrets = NULL;

    start_read(&start);
    if (json_array_size(start.problems) > 0) {
        *problems_out = json_incref(start.problems);
        return error_set(err, ERROR_INVALID, "the start request is not valid");
    }
    start_finish(&start, conversation_out);
    secrets = json_to_text(start.secrets);
    secret_set(secrets_out, secrets);
    *initial_content_out = json_incref(start.content);
    return 0;
}
