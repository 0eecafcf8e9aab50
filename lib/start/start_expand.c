#include "start/start_expand.h"

#include <stdbool.h>
#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/agent/agent_profile.h"
#include "model/agent/analyzer_spec.h"
#include "model/secrets/secret_registry.h"
#include "model/secrets/secret_walk.h"
#include "start/installed_skills.h"
#include "start/profile_resolve.h"
#include "start/sandbox_secret.h"
#include "start/start_context.h"
#include "start/start_parse.h"
#include "store/user/document_store.h"
#include "store/user/profile_store.h"

/* Limit for texts that plugins add to a conversation; skills beyond it are left out. */
enum { PLUGIN_SKILLS_MAX_BYTES = 512 * 1024 };

static bool is_given(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    return value != NULL && !json_is_null(value);
}

static bool is_sandbox(const struct start_context *context)
{
    return context->caller.kind == START_BY_SANDBOX;
}

static int open_secrets(const struct start_context *context, struct start_request *request,
                        struct error *err)
{
    if (request->sealing == START_SECRETS_PLAIN)
        return 0;
    if (start_check_user(context, err) < 0)
        return -1;
    secrets_open(&start_request_secrets, request->body, context->keyring->fernet,
                 context->problems);
    return start_check_problems(context, err);
}

/*
 * Refuses a profile that cannot be launched: 422 with its dangling references, or with the first
 * error.
 */
static int refuse_profile(struct start_request *request, const json_t *diagnostics,
                          struct error *err)
{
    json_t *dangling = json_object_get(diagnostics, "dangling_mcp_server_refs");
    json_t *first = json_array_get(json_object_get(diagnostics, "errors"), 0);
    json_t *detail = NULL;

    if (json_array_size(dangling) == 0)
        return error_set(err, ERROR_INVALID, "%s", json_string_value(first));
    detail = json_object();
    json_put_text(detail, "message", "The agent profile refers to MCP servers that do not exist");
    json_put(detail, "dangling_mcp_server_refs", json_incref(dangling));
    request->refusal = json_object();
    json_put(request->refusal, "detail", detail);
    return error_set(err, ERROR_INVALID, "the agent profile has dangling references");
}

/* Replaces the profile by the settings it resolves to. */
static void put_settings(struct start_request *request, const struct document *profile,
                         const struct resolution *resolution)
{
    json_t *refs = json_object_get(profile->body, "secret_refs");
    json_t *launched = json_object();

    (void)json_object_del(request->body, "agent_profile_id");
    json_put(request->body, "agent_settings", json_incref(resolution->settings));
    request->agent = resolution->settings;
    refs_filter(refs, request->secrets);
    json_put_text(launched, "agent_profile_id", profile->id.text);
    json_put(launched, "revision", json_integer(profile->revision));
    json_put(launched, "secret_refs", json_incref(refs));
    json_put(launched, "llm_profile_ref",
             json_incref(json_object_get(resolution->diagnostics, "llm_profile_ref")));
    request->launched_profile = launched;
}

static int expand_profile(const struct start_context *context, struct start_request *request,
                          struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;
    const struct uuid *id = &request->agent_profile_id;
    const struct document_scope scope = start_document_scope(context);

    if (!uuid_is_set(id))
        return 0;
    if (start_check_user(context, err) < 0)
        return -1;
    if (document_store_get_by_id(&scope, COLLECTION_AGENT_PROFILES, id, &profile, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Agent profile '%s' not found", id->text);
    if (profile_resolve(context, profile.body, request->additions.llm_profile_ref, &resolution,
                        err) < 0)
        return -1;
    if (!json_is_true(json_object_get(resolution.diagnostics, "valid")))
        return refuse_profile(request, resolution.diagnostics, err);
    put_settings(request, &profile, &resolution);
    return 0;
}

static void append_suffix(json_t *context, const char *suffix)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *own = json_text_or(context, "system_message_suffix", "");

    strbuf_appendf(&text, "%s%s%s", own, own[0] != '\0' ? "\n\n" : "", suffix);
    json_put_text(context, "system_message_suffix", text.text);
}

static bool has_skill(const json_t *skills, const char *name)
{
    for (size_t i = 0; i < json_array_size(skills); i++) {
        if (text_equal(json_text_or(json_array_get(skills, i), "name", ""), name))
            return true;
    }
    return false;
}

/*
 * The agent's own skill takes precedence over one of the same name; one that is switched off stays
 * out.
 */
static void merge_skills(json_t *context, const json_t *added)
{
    json_t *skills = json_object_get(context, "skills");
    const json_t *disabled = json_object_get(context, "disabled_skills");

    if (!json_is_array(skills)) {
        skills = json_array();
        json_put(context, "skills", skills);
    }
    for (size_t i = 0; i < json_array_size(added); i++) {
        json_t *skill = json_array_get(added, i);
        const char *name = json_text_or(skill, "name", "");
        bool is_disabled = json_is_array(disabled) && refs_allow(disabled, name);

        if (!has_skill(skills, name) && !is_disabled)
            json_push(skills, json_incref(skill));
    }
}

static void apply_additions(const struct start_request *request)
{
    const struct start_additions *additions = &request->additions;

    if (request->agent == NULL ||
        (additions->suffix[0] == '\0' && json_array_size(additions->skills) == 0))
        return;
    if (additions->suffix[0] != '\0')
        append_suffix(json_need_object(request->agent, "agent_context"), additions->suffix);
    merge_skills(json_need_object(request->agent, "agent_context"), additions->skills);
}

/* The form used in an agent's context: the skill's trigger words become its trigger. */
static json_t *skill_for_context(const json_t *skill)
{
    static const char *const members[] = {"name", "content", "source", "description",
                                          "is_agentskills_format"};
    json_t *words = json_object_get(skill, "triggers");
    json_t *result = json_object();
    json_t *trigger = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put(result, members[i], json_incref(json_object_get(skill, members[i])));
    if (json_array_size(words) == 0)
        return result;
    trigger = json_object();
    json_put_text(trigger, "type", "keyword");
    json_put(trigger, "keywords", json_incref(words));
    json_put(result, "trigger", trigger);
    return result;
}

/* Adds the skills of the user's plugins, except those that the model may not invoke by itself. */
static int add_plugin_skills(const struct start_context *context,
                             const struct start_request *request, struct error *err)
{
    const struct document_scope scope = start_document_scope(context);
    json_auto_t *skills = json_array();
    json_auto_t *added = json_array();
    const json_t *skill = NULL;
    size_t room = PLUGIN_SKILLS_MAX_BYTES;
    size_t i = 0;

    if (request->agent == NULL || is_sandbox(context))
        return 0;
    if (installed_skills_add(&scope, COLLECTION_INSTALLED_PLUGINS, skills, err) < 0)
        return -1;
    json_array_foreach (skills, i, skill) {
        size_t len = strlen(json_text_or(skill, "content", ""));

        if (json_bool_or(skill, "disable_model_invocation", 0) || len > room)
            continue;
        room -= len;
        json_push(added, skill_for_context(skill));
    }
    if (json_array_size(added) > 0)
        merge_skills(json_need_object(request->agent, "agent_context"), added);
    return 0;
}

static int resolve_connection(const struct start_context *context, json_t *llm, struct error *err)
{
    const struct document_scope scope = start_document_scope(context);

    if (json_text_or(llm, "provider_connection_id", NULL) == NULL)
        return 0;
    if (start_check_user(context, err) < 0)
        return -1;
    return profile_store_resolve_llm(&scope, llm, err);
}

int start_expand_llm(const struct start_context *context, json_t *llm, struct error *err)
{
    if (!is_sandbox(context))
        secrets_open(&llm_secrets, llm, context->keyring->fernet, context->problems);
    if (start_check_problems(context, err) < 0)
        return -1;
    return resolve_connection(context, llm, err);
}

/* Expands the models of a security analyzer in this way. */
static int expand_guards(const struct start_context *context, json_t *analyzer,
                         int (*expand)(const struct start_context *context, json_t *llm,
                                       struct error *err),
                         struct error *err)
{
    json_auto_t *guards = analyzer_guards(analyzer);
    json_t *guard = NULL;
    size_t i = 0;

    json_array_foreach (guards, i, guard) {
        json_t *llm = json_object_get(guard, "llm");

        if (json_is_object(llm) && expand(context, llm, err) < 0)
            return -1;
    }
    return 0;
}

int start_expand_analyzer(const struct start_context *context, json_t *analyzer, struct error *err)
{
    return expand_guards(context, analyzer, start_expand_llm, err);
}

/* Fills in the keys of provider connections, for the agent and its condenser. */
static int resolve_connections(const struct start_context *context, const json_t *agent,
                               struct error *err)
{
    json_t *llms[] = {json_object_get(agent, "llm"),
                      json_object_get(json_object_get(agent, "condenser"), "llm")};

    for (size_t i = 0; i < ARRAY_SIZE(llms); i++) {
        if (json_is_object(llms[i]) && resolve_connection(context, llms[i], err) < 0)
            return -1;
    }
    return 0;
}

/*
 * The cloud workspace refers to its user's secrets by the URLs at which its sandbox reads them: the
 * value replaces the URL, so no look-up is needed later.
 */
static int take_stored(const struct start_context *context, json_t *secrets, const char *name,
                       const char *stored, struct error *err)
{
    CLEANUP(document_done) struct document secret = DOCUMENT_INIT;
    json_t *source = NULL;

    if (sandbox_secret_read(context, stored, &secret, err) < 0)
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_INVALID, "There is no secret %s", stored)
                   : -1;
    source = json_object();
    json_put_text(source, "kind", "StaticSecret");
    json_put_text(source, "value", json_text_or(secret.secrets, "value", ""));
    json_put(source, "description", json_incref(json_object_get(secret.body, "description")));
    json_put(secrets, name, source);
    return 0;
}

static bool is_lookup(const json_t *source)
{
    return is_given(source, "url") || text_equal(json_text_or(source, "kind", ""), "LookupSecret");
}

int start_expand_lookups(const struct start_context *context, json_t *secrets, struct error *err)
{
    const char *name = NULL;
    json_t *source = NULL;
    void *next = NULL;

    if (!is_sandbox(context))
        return 0;
    json_object_foreach_safe (secrets, next, name, source) {
        const char *stored = sandbox_secret_name(context, json_text_or(source, "url", ""));

        if (!is_lookup(source))
            continue;
        if (stored == NULL)
            return error_set(err, ERROR_FORBIDDEN,
                             "A sandbox's key may not use lookup secrets: give %s as a value",
                             name);
        if (take_stored(context, secrets, name, stored, err) < 0)
            return -1;
    }
    return 0;
}

int start_expand(const struct start_context *context, struct start_request *request,
                 struct error *err)
{
    json_t *agent_context = NULL;

    if ((request->title_llm_profile != NULL && start_check_user(context, err) < 0) ||
        open_secrets(context, request, err) < 0 || expand_profile(context, request, err) < 0)
        return -1;
    apply_additions(request);
    if (add_plugin_skills(context, request, err) < 0)
        return -1;
    agent_context = json_object_get(request->agent, "agent_context");
    if (start_expand_lookups(context, request->secrets, err) < 0 ||
        start_expand_lookups(context, json_object_get(agent_context, "secrets"), err) < 0)
        return -1;
    if (resolve_connections(context, request->agent, err) < 0)
        return -1;
    return expand_guards(context, json_object_get(request->body, "security_analyzer"),
                         resolve_connection, err);
}
