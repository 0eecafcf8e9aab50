#include "start/profile_resolve.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/agent/agent_profile.h"
#include "model/agent/agent_settings.h"
#include "model/schema/validation_error.h"
#include "model/secrets/secret_walk.h"
#include "model/tools/tool_table.h"
#include "model/tools/tools.h"
#include "start/start_context.h"
#include "store/user/profile_store.h"
#include "store/user/settings_store.h"

static const char DEFAULT_NAME[] = "default";

/* State of a resolution in progress. */
struct resolving {
    const struct start_context *context;
    struct document_scope scope;
    const json_t *profile;
    json_t *own; /* the user's agent settings, in clear */
    json_t *settings;
    json_t *diagnostics;
    json_t *errors; /* of diagnostics */
};

void resolution_done(struct resolution *resolution)
{
    json_decref(resolution->settings);
    json_decref(resolution->diagnostics);
}

static void note(struct resolving *r, const char *text)
{
    json_push(r->errors, json_text_of(text));
}

/* Copies a member of the profile into the diagnostics. */
static void copy_member(struct resolving *r, const char *name)
{
    json_t *value = json_object_get(r->profile, name);

    json_put(r->diagnostics, name, value != NULL ? json_incref(value) : json_null());
}

/* Finds one LLM profile; NULL when it, or a connection it relies on, is missing. */
static int find_llm(const struct resolving *r, const char *name, json_t **llm_out,
                    struct error *err)
{
    json_t *own = json_object_get(r->own, "llm");
    json_auto_t *copy = NULL;

    if (profile_store_load_llm(&r->scope, name, llm_out, err) == 0)
        return 0;
    if (err->code == ERROR_INVALID)
        return 0;
    if (err->code != ERROR_NOT_FOUND)
        return -1;
    if (!text_equal(name, DEFAULT_NAME) || !json_is_object(own))
        return 0;
    copy = json_deep_copy(own);
    if (profile_store_resolve_llm(&r->scope, copy, err) == 0)
        *llm_out = json_incref(copy);
    else if (err->code != ERROR_INVALID)
        return -1;
    return 0;
}

static int resolve_llm(struct resolving *r, const char *llm_ref, struct error *err)
{
    const char *own = json_text_or(r->profile, "llm_profile_ref", "");
    const char *name = llm_ref != NULL ? llm_ref : own;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    json_auto_t *llm = NULL;

    if (find_llm(r, name, &llm, err) < 0)
        return -1;
    json_put_text(r->diagnostics, "llm_profile_ref", name);
    json_put(r->diagnostics, "llm_profile_resolved", json_boolean(llm != NULL));
    json_put(r->diagnostics, "llm_api_key_set",
             json_boolean(llm != NULL && start_llm_key(&r->context->llm, llm)[0] != '\0'));
    if (llm != NULL)
        json_put(r->settings, "llm", json_incref(llm));
    else {
        strbuf_appendf(&words, "LLM profile '%s' not found", name);
        note(r, words.text);
    }
    return 0;
}

static void resolve_servers(struct resolving *r)
{
    const json_t *refs = json_object_get(r->profile, "mcp_server_refs");
    json_t *servers = json_deep_copy(json_object_get(r->own, "mcp_config"));
    json_t *keys = json_array();
    json_t *dangling = json_array();
    const char *name = NULL;
    json_t *server = NULL;

    refs_filter(refs, servers);
    json_object_foreach (servers, name, server)
        json_push(keys, json_text_of(name));
    for (size_t i = 0; i < json_array_size(refs); i++) {
        json_t *ref = json_array_get(refs, i);

        if (json_object_get(servers, json_string_value(ref)) == NULL)
            json_push(dangling, json_incref(ref));
    }
    if (json_array_size(dangling) > 0)
        note(r, "The profile refers to MCP servers that are not in the settings");
    json_put(r->settings, "mcp_config", servers);
    json_put(r->diagnostics, "resolved_mcp_config_keys", keys);
    json_put(r->diagnostics, "dangling_mcp_server_refs", dangling);
}

static void check_tools(struct resolving *r)
{
    const json_t *tools = json_object_get(r->profile, "tools");
    json_t *unusable = json_array();
    enum sandbox_browser browser =
        r->context->defaults.has_browser ? SANDBOX_WITH_BROWSER : SANDBOX_WITHOUT_BROWSER;

    for (size_t i = 0; i < json_array_size(tools); i++) {
        const char *name = json_text_or(json_array_get(tools, i), "name", "");

        if (!tools_have(browser, name))
            json_push(unusable, json_text_of(name));
    }
    json_put(r->diagnostics, "unusable_tools", unusable);
}

/* The user's context plus the profile's additions. */
static void resolve_context(struct resolving *r)
{
    json_t *context = json_deep_copy(json_object_get(r->own, "agent_context"));
    json_t *suffix = json_object_get(r->profile, "system_message_suffix");
    json_t *disabled = json_object_get(r->profile, "disabled_skills");
    json_t *names = json_array();

    if (json_is_string(suffix))
        json_put(context, "system_message_suffix", json_incref(suffix));
    json_put(context, "disabled_skills", json_incref(disabled));
    refs_filter(json_object_get(r->profile, "secret_refs"), json_object_get(context, "secrets"));
    for (size_t i = 0; i < json_array_size(json_object_get(context, "skills")); i++) {
        const char *name =
            json_text_or(json_array_get(json_object_get(context, "skills"), i), "name", "");

        if (json_array_size(disabled) == 0 || !refs_allow(disabled, name))
            json_push(names, json_text_of(name));
    }
    json_put(r->settings, "agent_context", context);
    json_put(r->diagnostics, "resolved_skills", names);
}

/* Adds one LLM profile of a meta-profile to the settings' map, or to the dangling references. */
static int resolve_meta_llm(struct resolving *r, const char *name, json_t *llms, json_t *dangling,
                            struct error *err)
{
    json_auto_t *llm = NULL;

    if (json_object_get(llms, name) != NULL)
        return 0;
    if (find_llm(r, name, &llm, err) < 0)
        return -1;
    if (llm != NULL)
        json_put(llms, name, json_incref(llm));
    else
        json_push(dangling, json_text_of(name));
    return 0;
}

static int resolve_meta_llms(struct resolving *r, const json_t *meta, json_t *dangling,
                             struct error *err)
{
    const json_t *classes = json_object_get(meta, "classes");
    json_t *llms = json_object();

    json_put(r->settings, "meta_profile_llms", llms);
    if (resolve_meta_llm(r, json_text_or(meta, "classifier_model", ""), llms, dangling, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(classes); i++) {
        if (resolve_meta_llm(r, json_text_or(json_array_get(classes, i), "model", ""), llms,
                             dangling, err) < 0)
            return -1;
    }
    return 0;
}

static int resolve_meta(struct resolving *r, struct error *err)
{
    CLEANUP(document_done) struct document meta = DOCUMENT_INIT;
    const char *name = json_text_or(r->profile, "meta_profile_ref", NULL);
    json_t *dangling = json_array();

    json_put(r->diagnostics, "dangling_meta_profile_ref", json_null());
    json_put(r->diagnostics, "dangling_meta_profile_llm_refs", dangling);
    if (name == NULL)
        return 0;
    if (document_store_get(&r->scope, COLLECTION_META_PROFILES, name, &meta, err) < 0) {
        if (err->code != ERROR_NOT_FOUND)
            return -1;
        json_put_text(r->diagnostics, "dangling_meta_profile_ref", name);
        return 0;
    }
    json_put_text(r->settings, "active_meta_profile", name);
    json_put(r->settings, "meta_profile", json_incref(meta.body));
    return resolve_meta_llms(r, meta.body, dangling, err);
}

static void copy_members(struct resolving *r)
{
    static const char *const told[] = {"agent_kind",    "mcp_server_refs", "disabled_skills",
                                       "public_skills", "secret_refs",     "meta_profile_ref"};
    static const char *const used[] = {"agent_kind",   "agent",
                                       "tools",        "persona",
                                       "condenser",    "enable_classify_and_switch_llm_tool",
                                       "verification", "tool_concurrency_limit"};

    for (size_t i = 0; i < ARRAY_SIZE(told); i++)
        copy_member(r, told[i]);
    for (size_t i = 0; i < ARRAY_SIZE(used); i++)
        json_put(r->settings, used[i], json_deep_copy(json_object_get(r->profile, used[i])));
    json_put(r->diagnostics, "acp_api_key_secret_name", json_null());
    json_put(r->diagnostics, "acp_base_url_secret_name", json_null());
    json_put(r->diagnostics, "acp_file_secret_names", json_array());
}

static int resolve(struct resolving *r, const char *llm_ref, struct error *err)
{
    if (agent_settings_are_acp(r->profile)) {
        note(r, "This server runs agents of kind 'openhands' only");
        return 0;
    }
    if (resolve_llm(r, llm_ref, err) < 0 || resolve_meta(r, err) < 0)
        return -1;
    resolve_servers(r);
    resolve_context(r);
    check_tools(r);
    return 0;
}

/* Completes the settings, and the masked copy for display. */
static void finish(struct resolving *r)
{
    static const struct json_path place = {NULL, "profile", 0};
    json_auto_t *problems = json_array();
    json_auto_t *members = json_object();
    json_t *settings = agent_settings_read(r->settings, &r->context->defaults, &place, problems);
    json_t *shown = json_deep_copy(settings);

    secrets_take(&settings_secrets, shown, members);
    json_decref(r->settings);
    r->settings = settings;
    json_put(r->diagnostics, "resolved_settings", shown);
    json_put(r->diagnostics, "valid", json_boolean(json_array_size(r->errors) == 0));
}

int profile_resolve(const struct start_context *context, const json_t *profile, const char *llm_ref,
                    struct resolution *resolution_out, struct error *err)
{
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    CLEANUP(resolution_done) struct resolution made = {json_object(), json_object()};
    json_auto_t *own = NULL;
    struct resolving r = {
        .context = context, .scope = start_document_scope(context), .profile = profile};

    if (settings_store_load(&r.scope, &context->defaults, &settings, err) < 0)
        return -1;
    own = settings_store_agent(&settings);
    r.own = own;
    r.settings = made.settings;
    r.diagnostics = made.diagnostics;
    r.errors = json_array();
    json_put(r.diagnostics, "errors", r.errors);
    copy_members(&r);
    if (resolve(&r, llm_ref, err) < 0)
        return -1;
    finish(&r);
    made = (struct resolution)RESOLUTION_INIT;
    *resolution_out = (struct resolution){r.settings, r.diagnostics};
    return 0;
}
