/*
 * /api/profiles: named LLM objects.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request_defaults.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/model_probe.h"
#include "fcgi/settings/user_documents.h"
#include "fcgi/settings/user_settings.h"
#include "model/agent/agent_spec.h"
#include "model/agent/llm_spec.h"
#include "model/schema/validation_error.h"
#include "store/user/profile_store.h"

/* Whether a call with the profile would have a key: its own, or its connection's. */
static bool has_key(const struct document *profile, const struct document_list *connections)
{
    const char *id = json_text_or(profile->body, "provider_connection_id", "");

    return json_text_or(profile->secrets, "api_key", NULL) != NULL ||
           document_list_find(connections, id) != NULL;
}

static json_t *item_of(const struct document *profile, const struct document_list *connections)
{
    static const char *const members[] = {"model", "base_url", "provider_connection_id"};
    const char *id = json_text_or(profile->body, "provider_connection_id", NULL);
    json_t *item = json_object();

    json_put_text(item, "name", profile->name);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put(item, members[i], json_incref(json_object_get(profile->body, members[i])));
    json_put(item, "provider_connection_broken",
             json_boolean(id != NULL && document_list_find(connections, id) == NULL));
    json_put(item, "api_key_set", json_boolean(has_key(profile, connections)));
    return item;
}

/* GET -> 200 {"profiles", "active_profile"} */
static int profiles_list(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_list_done) struct document_list profiles = DOCUMENT_LIST_INIT;
    CLEANUP(document_list_done) struct document_list connections = DOCUMENT_LIST_INIT;
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *active = NULL;
    json_auto_t *json = json_object();
    json_t *items = json_array();

    json_put(json, "profiles", items);
    if (document_store_list(&scope, COLLECTION_PROFILES, &profiles, err) < 0 ||
        document_store_list(&scope, COLLECTION_CONNECTIONS, &connections, err) < 0 ||
        user_settings_load(request, &settings, err) < 0)
        return -1;
    for (size_t i = 0; i < profiles.n; i++)
        json_push(items, item_of(&profiles.items[i], &connections));
    active = user_settings_pointer(&settings, "active_profile");
    json_put(json, "active_profile", json_text_of(active));
    return reply_json(reply, 200, json);
}

/* Loads the profile named by the path; 404 otherwise. */
static int load_profile(const struct request *request, struct document *profile_out,
                        struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);
    const char *name = NULL;

    if (user_documents_path_name(request, "name", &name, err) < 0)
        return -1;
    if (document_store_get(&scope, COLLECTION_PROFILES, name, profile_out, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Profile '%s' not found", name);
    return 0;
}

/* GET -> 200 {"name", "config", "api_key_set"} | 400 header | 404 */
static int profile_get(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    enum exposure exposure = EXPOSE_MASKED;
    json_auto_t *json = json_object();
    json_auto_t *resolved = NULL;
    json_t *config = NULL;

    if (!user_documents_read_exposure(request, &exposure))
        return user_documents_refuse_exposure(reply);
    if (load_profile(request, &profile, err) < 0)
        return -1;
    resolved = profile_document_llm(&profile);
    /* If its connection was deleted the profile is shown without a key. */
    if (profile_store_resolve_llm(&scope, resolved, err) < 0 && err->code != ERROR_INVALID)
        return -1;
    config = exposure == EXPOSE_PLAIN ? json_incref(resolved) : json_deep_copy(profile.body);
    if (exposure == EXPOSE_SEALED)
        user_documents_expose(request, &llm_secrets, config, profile.secrets, exposure);
    json_put_text(json, "name", profile.name);
    json_put(json, "config", config);
    json_put(json, "api_key_set",
             json_boolean(!text_is_blank(json_text_or(resolved, "api_key", ""))));
    return reply_json(reply, 200, json);
}

/* The `llm` of the body with its secrets opened; a marker means the stored one. A new reference. */
static int read_llm(const struct request *request, json_t *body, const struct document *stored,
                    json_t **llm_out, struct error *err)
{
    static const struct json_path body_place = {NULL, "body", 0};
    static const struct json_path where = {&body_place, "llm", 0};
    const struct conversation_defaults defaults = request_conversation_defaults(request);
    json_t *input = json_object_get(body, "llm");
    json_auto_t *clear = NULL;
    json_auto_t *llm = NULL;

    if (input == NULL)
        return request_problem(request, &where,
                               &(struct validation_error){"missing", "Field required", NULL}, body,
                               err);
    clear = json_deep_copy(input);
    secrets_open(&llm_secrets, clear, request->context->keyring.fernet, request->problems);
    secrets_restore(&llm_secrets, clear, stored->secrets);
    llm = llm_spec_read(clear, &defaults, &where, request->problems);
    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    *llm_out = json_incref(llm);
    return 0;
}

static void keep_llm(struct document *profile, json_t *llm)
{
    json_t *members = json_object();

    secrets_take(&llm_secrets, llm, members);
    json_decref(profile->body);
    json_decref(profile->secrets);
    profile->body = json_incref(llm);
    profile->secrets = members;
}

/* Stores no secrets, not even masked ones, if the client asks for that. */
static void drop_secrets(struct document *profile)
{
    json_object_clear(profile->secrets);
    secrets_restore(&llm_secrets, profile->body, profile->secrets);
}

static int try_save(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *name = NULL;
    bool with_secrets = true;
    json_auto_t *body = NULL;
    json_auto_t *llm = NULL;

    if (user_documents_path_name(request, "name", &name, err) < 0 ||
        request_json_object(request, &body, err) < 0 ||
        request_member_bool(request, body, "include_secrets", &with_secrets, err) < 0 ||
        document_store_get_or_new(&scope, COLLECTION_PROFILES, name, &profile, err) < 0 ||
        read_llm(request, body, &profile, &llm, err) < 0)
        return -1;
    keep_llm(&profile, llm);
    if (!with_secrets)
        drop_secrets(&profile);
    if (document_store_put(&scope, &profile, PROFILES_MAX, err) < 0)
        return -1;
    strbuf_appendf(&message, "Profile '%s' saved", name);
    return user_documents_reply_message(reply, 201, name, message.text);
}

/* POST {"llm", "include_secrets"} -> 201 | 409 limit | 422 */
static int profile_save(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_save, err);
}

/* Loads the settings and updates their pointer to the profile, as the second of two changes. */
static int settings_follow(const struct request *request, const char *from, const char *to,
                           struct document *settings_out, bool *is_changed_out, struct error *err)
{
    const char *active = NULL;

    if (user_settings_load(request, settings_out, err) < 0)
        return -1;
    active = user_settings_pointer(settings_out, "active_profile");
    *is_changed_out = active != NULL && text_equal(active, from);
    if (*is_changed_out)
        json_put(settings_out->body, "active_profile", json_text_of(to));
    return 0;
}

static int try_delete(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    const struct document_change changes[] = {
        {.kind = DOCUMENT_DELETE, .document = &profile},
        {.kind = DOCUMENT_PUT, .document = &settings},
    };
    const struct document_scope scope = user_documents_scope(request);
    const char *name = NULL;
    bool is_active = false;

    if (user_documents_path_name(request, "name", &name, err) < 0)
        return -1;
    strbuf_appendf(&message, "Profile '%s' deleted", name);
    if (document_store_get(&scope, COLLECTION_PROFILES, name, &profile, err) < 0)
        return err->code == ERROR_NOT_FOUND
                   ? user_documents_reply_message(reply, 200, name, message.text)
                   : -1;
    if (settings_follow(request, name, NULL, &settings, &is_active, err) < 0 ||
        document_store_write(&scope, changes, is_active ? 2 : 1, err) < 0)
        return -1;
    return user_documents_reply_message(reply, 200, name, message.text);
}

/* DELETE -> 200, also when there is none */
static int profile_delete(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_delete, err);
}

static int write_rename(const struct request *request, struct document *profile,
                        const char *new_name, struct error *err)
{
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    const struct document_change changes[] = {
        {.kind = DOCUMENT_RENAME, .document = profile, .new_name = new_name},
        {.kind = DOCUMENT_PUT, .document = &settings},
    };
    const struct document_scope scope = user_documents_scope(request);
    bool is_active = false;

    if (settings_follow(request, profile->name, new_name, &settings, &is_active, err) < 0)
        return -1;
    if (document_store_write(&scope, changes, is_active ? 2 : 1, err) < 0)
        return error_reword(err, ERROR_CONFLICT, "Profile '%s' already exists", new_name);
    return 0;
}

static int try_rename(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    const char *new_name = NULL;
    json_auto_t *body = NULL;

    if (request_json_object(request, &body, err) < 0 ||
        user_documents_member_name(request, body, "new_name", &new_name, err) < 0 ||
        load_profile(request, &profile, err) < 0)
        return -1;
    strbuf_appendf(&message, "Profile '%s' renamed to '%s'", profile.name, new_name);
    if (write_rename(request, &profile, new_name, err) < 0)
        return -1;
    return user_documents_reply_message(reply, 200, new_name, message.text);
}

/* POST {"new_name"} -> 200 | 404 | 409 taken | 422 */
static int profile_rename(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_rename, err);
}

static int try_activate(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    json_auto_t *json = json_object();
    json_auto_t *llm = NULL;

    if (load_profile(request, &profile, err) < 0 || user_settings_load(request, &settings, err) < 0)
        return -1;
    llm = profile_document_llm(&profile);
    json_put_text(settings.body, "active_profile", profile.name);
    json_put_text(json, "name", profile.name);
    strbuf_appendf(&message, "Profile '%s' activated", profile.name);
    json_put_text(json, "message", message.text);
    json_put(json, "llm_applied", json_boolean(user_settings_set_llm(request, &settings, llm)));
    if (user_settings_put(request, &settings, err) < 0)
        return -1;
    return reply_json(reply, 200, json);
}

/* POST -> 200 {"name", "message", "llm_applied"} | 404 */
static int profile_activate(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_activate, err);
}

/* POST {"llm"} -> 200 {"valid", "error"} | 422 */
static int profile_validate(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document stored = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *name = NULL;
    json_auto_t *body = NULL;
    json_auto_t *llm = NULL;
    json_auto_t *verdict = NULL;

    if (user_documents_path_name(request, "name", &name, err) < 0 ||
        request_json_object(request, &body, err) < 0 ||
        document_store_get_or_new(&scope, COLLECTION_PROFILES, name, &stored, err) < 0 ||
        read_llm(request, body, &stored, &llm, err) < 0)
        return -1;
    if (profile_store_resolve_llm(&scope, llm, err) < 0) {
        if (err->code != ERROR_INVALID)
            return -1;
        verdict = model_verdict("ProviderConnectionNotFound", err->message);
        return reply_json(reply, 200, verdict);
    }
    verdict = model_probe(request, llm);
    return reply_json(reply, 200, verdict);
}

#define PROFILE "/api/profiles/{name}"

const struct route profile_routes[] = {
    {HTTP_GET, "/api/profiles", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, profiles_list},
    {HTTP_GET, PROFILE, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, profile_get},
    {HTTP_POST, PROFILE, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES, profile_save},
    {HTTP_DELETE, PROFILE, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, profile_delete},
    {HTTP_POST, PROFILE "/validate", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     profile_validate},
    {HTTP_POST, PROFILE "/rename", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     profile_rename},
    {HTTP_POST, PROFILE "/activate", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0,
     profile_activate},
    {.handle = NULL},
};
