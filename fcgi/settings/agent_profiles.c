/*
 * /api/agent-profiles: named configurations to start agents with. One always exists and is active.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request_defaults.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/agent_profile_default.h"
#include "fcgi/settings/user_documents.h"
#include "fcgi/settings/user_settings.h"
#include "model/agent/agent_profile.h"
#include "model/agent/agent_settings.h"
#include "model/schema/validation_error.h"
#include "start/profile_resolve.h"

static const char DEFAULT_NAME[] = "default";
static const struct json_path body_place = {NULL, "body", 0};

static json_t *profile_to_json(const struct document *profile)
{
    json_t *json = json_deep_copy(profile->body);

    json_put_text(json, "id", profile->id.text);
    json_put_text(json, "name", profile->name);
    json_put(json, "revision", json_integer(profile->revision));
    /* The switch that Agent Canvas shows for the sub-agent tool, and sends back. */
    if (!agent_settings_are_acp(json))
        json_put(json, "enable_sub_agents", json_boolean(agent_has_children(json)));
    return json;
}

static json_t *item_of(const struct document *profile)
{
    static const char *const members[] = {"agent_kind", "llm_profile_ref", "mcp_server_refs"};
    json_t *item = json_object();

    json_put_text(item, "id", profile->id.text);
    json_put_text(item, "name", profile->name);
    json_put(item, "revision", json_integer(profile->revision));
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        json_t *value = json_object_get(profile->body, members[i]);

        json_put(item, members[i], value != NULL ? json_incref(value) : json_null());
    }
    return item;
}

static int try_list(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_list_done) struct document_list before = DOCUMENT_LIST_INIT;
    CLEANUP(document_list_done) struct document_list list = DOCUMENT_LIST_INIT;
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *json = json_object();
    json_t *items = json_array();

    json_put(json, "profiles", items);
    if (user_settings_load(request, &settings, err) < 0 ||
        document_store_list(&scope, COLLECTION_AGENT_PROFILES, &before, err) < 0 ||
        agent_profile_ensure_active(request, &settings, &before, err) < 0 ||
        document_store_list(&scope, COLLECTION_AGENT_PROFILES, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++)
        json_push(items, item_of(&list.items[i]));
    json_put_text(json, "active_agent_profile_id",
                  user_settings_pointer(&settings, "active_agent_profile_id"));
    return reply_json(reply, 200, json);
}

/* GET -> 200 {"profiles", "active_agent_profile_id"} */
static int agent_profiles_list(const struct request *request, struct reply *reply,
                               struct error *err)
{
    return user_documents_retry(request, reply, try_list, err);
}

static int not_found(const char *name, struct error *err)
{
    return error_reword(err, ERROR_NOT_FOUND, "Agent profile '%s' not found", name);
}

static int load_by_id(const struct request *request, const struct uuid *id,
                      struct document *profile_out, struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);

    if (document_store_get_by_id(&scope, COLLECTION_AGENT_PROFILES, id, profile_out, err) < 0)
        return not_found(id->text, err);
    return 0;
}

/* Loads the profile named by the path; `default` always exists. */
static int load_named(const struct request *request, struct document *profile_out,
                      struct error *err)
{
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *name = NULL;

    if (user_documents_path_name(request, "name", &name, err) < 0)
        return -1;
    if (document_store_get(&scope, COLLECTION_AGENT_PROFILES, name, profile_out, err) == 0)
        return 0;
    if (err->code != ERROR_NOT_FOUND || !text_equal(name, DEFAULT_NAME))
        return not_found(name, err);
    if (user_settings_load(request, &settings, err) < 0)
        return -1;
    return agent_profile_ensure_default(request, &settings, profile_out, err);
}

static int try_get(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    json_auto_t *json = json_object();

    if (load_named(request, &profile, err) < 0)
        return -1;
    json_put_text(json, "name", profile.name);
    json_put(json, "profile", profile_to_json(&profile));
    return reply_json(reply, 200, json);
}

/* GET -> 200 {"name", "profile"} | 404 */
static int agent_profile_get(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_get, err);
}

static const struct document_kind kind = {COLLECTION_AGENT_PROFILES, AGENT_PROFILES_MAX,
                                          agent_profile_read, "Agent profile"};

static int try_save(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_save(request, reply, &kind, err);
}

/* POST profile -> 201 | 409 limit | 422 */
static int agent_profile_save(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_save, err);
}

static int try_delete(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *name = NULL;

    if (user_documents_path_name(request, "name", &name, err) < 0)
        return -1;
    if (document_store_delete(&scope, COLLECTION_AGENT_PROFILES, name, err) < 0 &&
        err->code != ERROR_NOT_FOUND)
        return -1;
    strbuf_appendf(&message, "Agent profile '%s' deleted", name);
    return user_documents_reply_message(reply, 200, name, message.text);
}

/* DELETE -> 200, also when there is none. Pointers to it count as unset from then on. */
static int agent_profile_delete(const struct request *request, struct reply *reply,
                                struct error *err)
{
    return user_documents_retry(request, reply, try_delete, err);
}

static int try_rename(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    struct document_change change = {.kind = DOCUMENT_RENAME, .document = &profile};
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *body = NULL;

    if (request_json_object(request, &body, err) < 0 ||
        user_documents_member_name(request, body, "new_name", &change.new_name, err) < 0 ||
        load_named(request, &profile, err) < 0)
        return -1;
    strbuf_appendf(&message, "Agent profile '%s' renamed to '%s'", profile.name, change.new_name);
    if (document_store_write(&scope, &change, 1, err) < 0)
        return error_reword(err, ERROR_CONFLICT, "Agent profile '%s' already exists",
                            change.new_name);
    return user_documents_reply_message(reply, 200, change.new_name, message.text);
}

/* POST {"new_name"} -> 200 | 404 | 409 taken | 422 */
static int agent_profile_rename(const struct request *request, struct reply *reply,
                                struct error *err)
{
    return user_documents_retry(request, reply, try_rename, err);
}

static int try_activate(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    struct uuid id = UUID_INIT;
    json_auto_t *json = json_object();

    if (request_path_uuid(request, "profile_id", &id, err) < 0 ||
        load_by_id(request, &id, &profile, err) < 0 ||
        user_settings_load(request, &settings, err) < 0)
        return -1;
    json_put_text(settings.body, "active_agent_profile_id", id.text);
    if (user_settings_put(request, &settings, err) < 0)
        return -1;
    strbuf_appendf(&message, "Agent profile '%s' activated", profile.name);
    json_put_text(json, "id", id.text);
    json_put_text(json, "message", message.text);
    json_put(json, "agent_settings_applied", json_false());
    return reply_json(reply, 200, json);
}

/* POST -> 200 {"id", "message", "agent_settings_applied"} | 404 | 422 no uuid */
static int agent_profile_activate(const struct request *request, struct reply *reply,
                                  struct error *err)
{
    return user_documents_retry(request, reply, try_activate, err);
}

/* The draft in the body, if there is one. A new reference, or NULL. */
static int read_draft(const struct request *request, json_t **draft_out, struct error *err)
{
    static const struct json_path where = {&body_place, "profile", 0};
    json_auto_t *body = NULL;
    json_t *draft = NULL;

    if (!request_has_body(request))
        return 0;
    if (request_json(request, &body, err) < 0)
        return -1;
    if (json_is_null(body))
        return 0;
    draft = json_object_get(body, "profile");
    if (!json_is_object(body) || (json_object_size(body) > 0 && draft == NULL))
        return request_problem(
            request, &body_place,
            &(struct validation_error){"extra_forbidden", "Extra inputs are not permitted", NULL},
            body, err);
    if (draft == NULL || json_is_null(draft))
        return 0;
    *draft_out = agent_profile_read(draft, &where, request->problems);
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

static int try_materialize(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;
    const struct start_context context = request_start_context(request);
    json_auto_t *draft = NULL;

    if (read_draft(request, &draft, err) < 0)
        return -1;
    if (draft == NULL && load_named(request, &profile, err) < 0)
        return -1;
    if (profile_resolve(&context, draft != NULL ? draft : profile.body, NULL, &resolution, err) < 0)
        return -1;
    return reply_json(reply, 200, resolution.diagnostics);
}

/* POST {"profile"}? -> 200 diagnostics | 404 | 422 draft */
static int agent_profile_materialize(const struct request *request, struct reply *reply,
                                     struct error *err)
{
    return user_documents_retry(request, reply, try_materialize, err);
}

#define PROFILES "/api/agent-profiles"
#define PROFILE PROFILES "/{name}"

const struct route agent_profile_routes[] = {
    {HTTP_GET, PROFILES, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, agent_profiles_list},
    {HTTP_GET, PROFILE, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, agent_profile_get},
    {HTTP_POST, PROFILE, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     agent_profile_save},
    {HTTP_DELETE, PROFILE, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, agent_profile_delete},
    {HTTP_POST, PROFILE "/rename", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     agent_profile_rename},
    {HTTP_POST, PROFILES "/{profile_id}/activate", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0,
     agent_profile_activate},
    {HTTP_POST, PROFILE "/materialize", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     agent_profile_materialize},
    {.handle = NULL},
};
