/*
 * /api/meta-profiles: assigns LLM profiles to kinds of tasks.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/user_documents.h"
#include "fcgi/settings/user_settings.h"
#include "model/agent/agent_profile.h"
#include "model/schema/validation_error.h"

static json_t *item_of(const struct document *profile)
{
    json_t *item = json_object();

    json_put_text(item, "name", profile->name);
    json_put_text(item, "classifier_model", json_text_or(profile->body, "classifier_model", ""));
    json_put(item, "num_classes",
             json_integer((json_int_t)json_array_size(json_object_get(profile->body, "classes"))));
    return item;
}

/* GET -> 200 {"meta_profiles", "active_meta_profile"} */
static int meta_profiles_list(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_list_done) struct document_list list = DOCUMENT_LIST_INIT;
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *active = NULL;
    json_auto_t *json = json_object();
    json_t *items = json_array();

    json_put(json, "meta_profiles", items);
    if (document_store_list(&scope, COLLECTION_META_PROFILES, &list, err) < 0 ||
        user_settings_load(request, &settings, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++)
        json_push(items, item_of(&list.items[i]));
    active = user_settings_pointer(&settings, "active_meta_profile");
    json_put(json, "active_meta_profile", json_text_of(active));
    return reply_json(reply, 200, json);
}

static int load_meta(const struct request *request, struct document *profile_out, struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);
    const char *name = NULL;

    if (user_documents_path_name(request, "name", &name, err) < 0)
        return -1;
    if (document_store_get(&scope, COLLECTION_META_PROFILES, name, profile_out, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Meta-profile '%s' not found", name);
    return 0;
}

/* GET -> 200 {"name", "config"} | 404 | 422 name */
static int meta_profile_get(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    json_auto_t *json = json_object();

    if (load_meta(request, &profile, err) < 0)
        return -1;
    json_put_text(json, "name", profile.name);
    json_put(json, "config", json_incref(profile.body));
    return reply_json(reply, 200, json);
}

static const struct document_kind kind = {COLLECTION_META_PROFILES, META_PROFILES_MAX,
                                          meta_profile_read, "Meta-profile"};

static int try_save(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_save(request, reply, &kind, err);
}

/* POST MetaProfile -> 201 | 409 limit | 422 */
static int meta_profile_save(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_save, err);
}

static int write_delete(const struct request *request, struct document *profile, struct error *err)
{
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    const struct document_change changes[] = {
        {.kind = DOCUMENT_DELETE, .document = profile},
        {.kind = DOCUMENT_PUT, .document = &settings},
    };
    const struct document_scope scope = user_documents_scope(request);
    const char *active = NULL;
    bool is_active = false;

    if (user_settings_load(request, &settings, err) < 0)
        return -1;
    active = user_settings_pointer(&settings, "active_meta_profile");
    is_active = active != NULL && text_equal(active, profile->name);
    if (is_active)
        user_settings_set_meta(&settings, NULL);
    return document_store_write(&scope, changes, is_active ? 2 : 1, err);
}

static int try_delete(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    const char *name = NULL;

    if (user_documents_path_name(request, "name", &name, err) < 0)
        return -1;
    strbuf_appendf(&message, "Meta-profile '%s' deleted", name);
    if (load_meta(request, &profile, err) < 0)
        return err->code == ERROR_NOT_FOUND
                   ? user_documents_reply_message(reply, 200, name, message.text)
                   : -1;
    if (write_delete(request, &profile, err) < 0)
        return -1;
    return user_documents_reply_message(reply, 200, name, message.text);
}

/* DELETE -> 200, also when there is none; clears the settings' pointer to it */
static int meta_profile_delete(const struct request *request, struct reply *reply,
                               struct error *err)
{
    return user_documents_retry(request, reply, try_delete, err);
}

static int try_activate(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    json_auto_t *json = json_object();

    if (load_meta(request, &profile, err) < 0 || user_settings_load(request, &settings, err) < 0)
        return -1;
    strbuf_appendf(&message, "Meta-profile '%s' activated", profile.name);
    json_put_text(json, "name", profile.name);
    json_put_text(json, "message", message.text);
    json_put(json, "applied", json_boolean(user_settings_set_meta(&settings, profile.name)));
    if (user_settings_put(request, &settings, err) < 0)
        return -1;
    return reply_json(reply, 200, json);
}

/* POST -> 200 {"name", "message", "applied"} | 404 */
static int meta_profile_activate(const struct request *request, struct reply *reply,
                                 struct error *err)
{
    return user_documents_retry(request, reply, try_activate, err);
}

#define PROFILE "/api/meta-profiles/{name}"

const struct route meta_profile_routes[] = {
    {HTTP_GET, "/api/meta-profiles", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0,
     meta_profiles_list},
    {HTTP_GET, PROFILE, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, meta_profile_get},
    {HTTP_POST, PROFILE, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     meta_profile_save},
    {HTTP_DELETE, PROFILE, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, meta_profile_delete},
    {HTTP_POST, PROFILE "/activate", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0,
     meta_profile_activate},
    {.handle = NULL},
};
