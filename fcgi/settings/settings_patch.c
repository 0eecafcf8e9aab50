/*
 * GET, PATCH /api/settings
 */
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/user_documents.h"
#include "fcgi/settings/user_settings.h"
#include "model/agent/agent_settings.h"
#include "model/schema/validation_error.h"
#include "store/user/profile_store.h"

static const struct json_path body_place = {NULL, "body", 0};

static int reply_settings(const struct request *request, struct reply *reply,
                          const struct document *settings, struct error *err)
{
    enum exposure exposure = EXPOSE_MASKED;
    json_auto_t *json = NULL;

    /* The reply to a change contains no secrets, whatever the header says. */
    if (request->method == HTTP_GET && !user_documents_read_exposure(request, &exposure))
        return user_documents_refuse_exposure(reply);
    json = user_settings_to_json(request, settings, exposure, err);
    return json != NULL ? reply_json(reply, 200, json) : -1;
}

/* GET -> 200 settings | 400 header */
static int settings_get(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;

    if (user_settings_load(request, &settings, err) < 0)
        return -1;
    return reply_settings(request, reply, &settings, err);
}

/* A PATCH in progress. */
struct patch {
    const struct request *request;
    json_t *body;
    struct document settings;
    json_t *problems; /* of the settings; sent as one text */
};

static void patch_done(struct patch *patch)
{
    json_decref(patch->body);
    json_decref(patch->problems);
    document_done(&patch->settings);
}

/* Reads a diff of the body: NULL when absent. Borrowed. */
static int read_diff(const struct patch *patch, const char *name, json_t **diff_out,
                     struct error *err)
{
    json_t *diff = json_object_get(patch->body, name);

    if (diff == NULL || json_is_null(diff))
        return 0;
    if (!json_is_object(diff))
        return request_problem(
            patch->request, REQUEST_JSON_PATH("body", name),
            &(struct validation_error){"dict_type", "Input should be a valid dictionary", NULL},
            diff, err);
    *diff_out = diff;
    return 0;
}

/* Switching to another kind of agent starts from that kind's defaults. */
static void merge_agent(json_t *agent, json_t *diff)
{
    bool was_acp = agent_settings_are_acp(agent);

    settings_merge(agent, diff);
    if (was_acp && !agent_settings_are_acp(agent))
        (void)json_object_del(agent, "acp_server");
}

static int patch_agent(struct patch *patch, struct error *err)
{
    const struct json_path path = {&body_place, "agent_settings_diff", 0};
    json_auto_t *agent = NULL;
    json_auto_t *change = NULL;
    json_t *diff = NULL;

    if (read_diff(patch, "agent_settings_diff", &diff, err) < 0)
        return -1;
    if (diff == NULL)
        return 0;
    change = json_deep_copy(diff);
    secrets_open(&settings_secrets, change, patch->request->context->keyring.fernet,
                 patch->problems);
    agent = user_settings_agent(&patch->settings);
    merge_agent(agent, change);
    user_settings_set_agent(patch->request, &patch->settings, agent, &path, patch->problems);
    return 0;
}

static int patch_conversation(struct patch *patch, struct error *err)
{
    const struct json_path path = {&body_place, "conversation_settings_diff", 0};
    json_t *there = json_object_get(patch->settings.body, "conversation_settings");
    json_t *diff = NULL;

    if (read_diff(patch, "conversation_settings_diff", &diff, err) < 0)
        return -1;
    if (diff == NULL)
        return 0;
    settings_merge(there, diff);
    json_put(patch->settings.body, "conversation_settings",
             conversation_settings_read(there, &path, patch->problems));
    return 0;
}

static int patch_misc(struct patch *patch, struct error *err)
{
    json_t *diff = NULL;

    if (read_diff(patch, "misc_settings_diff", &diff, err) < 0)
        return -1;
    if (diff != NULL)
        settings_merge(json_object_get(patch->settings.body, "misc_settings"), diff);
    return 0;
}

/* Whether the request sets the LLM itself, which a profile's then does not replace. */
static bool sets_llm(const struct patch *patch)
{
    return json_is_object(
        json_object_get(json_object_get(patch->body, "agent_settings_diff"), "llm"));
}

static int use_profile(struct patch *patch, const char *name, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(patch->request);
    json_auto_t *llm = NULL;

    if (document_store_get(&scope, COLLECTION_PROFILES, name, &profile, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Profile '%s' not found", name);
    json_put_text(patch->settings.body, "active_profile", name);
    if (sets_llm(patch))
        return 0;
    llm = profile_document_llm(&profile);
    /* For an ACP agent only the pointer is set. */
    (void)user_settings_set_llm(patch->request, &patch->settings, llm);
    return 0;
}

static int use_agent_profile(struct patch *patch, const char *text, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(patch->request);
    struct uuid id = UUID_INIT;

    if (!uuid_parse(text, &id))
        return request_problem(
            patch->request, REQUEST_JSON_PATH("body", "active_agent_profile_id"),
            &(struct validation_error){"uuid_parsing", "Input should be a valid UUID", NULL},
            json_object_get(patch->body, "active_agent_profile_id"), err);
    if (document_store_get_by_id(&scope, COLLECTION_AGENT_PROFILES, &id, &profile, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Agent profile '%s' not found", id.text);
    json_put_text(patch->settings.body, "active_agent_profile_id", id.text);
    return 0;
}

static int use_meta_profile(struct patch *patch, const char *name, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(patch->request);

    if (document_store_get(&scope, COLLECTION_META_PROFILES, name, &profile, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Meta-profile '%s' not found", name);
    (void)user_settings_set_meta(&patch->settings, name);
    return 0;
}

struct pointer {
    const char *name;
    int (*use)(struct patch *patch, const char *value, struct error *err);
};

static const struct pointer pointers[] = {
    {"active_profile", use_profile},
    {"active_agent_profile_id", use_agent_profile},
    {"active_meta_profile", use_meta_profile},
};

static void clear_pointer(struct patch *patch, const char *name)
{
    if (text_equal(name, "active_meta_profile"))
        (void)user_settings_set_meta(&patch->settings, NULL);
    else
        json_put(patch->settings.body, name, json_null());
}

static int patch_pointers(struct patch *patch, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(pointers); i++) {
        json_t *value = json_object_get(patch->body, pointers[i].name);

        if (value == NULL)
            continue;
        if (json_is_null(value)) {
            clear_pointer(patch, pointers[i].name);
            continue;
        }
        if (!json_is_string(value))
            return request_problem(
                patch->request, REQUEST_JSON_PATH("body", pointers[i].name),
                &(struct validation_error){"string_type", "Input should be a valid string", NULL},
                value, err);
        if (pointers[i].use(patch, json_string_value(value), err) < 0)
            return -1;
    }
    return 0;
}

/* A null diff counts as absent; a null pointer clears it. */
static bool changes_anything(const json_t *body)
{
    static const char *const diffs[] = {"agent_settings_diff", "conversation_settings_diff",
                                        "misc_settings_diff"};

    for (size_t i = 0; i < ARRAY_SIZE(diffs); i++) {
        json_t *diff = json_object_get(body, diffs[i]);

        if (diff != NULL && !json_is_null(diff))
            return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(pointers); i++) {
        if (json_object_get(body, pointers[i].name) != NULL)
            return true;
    }
    return false;
}

static int refuse_settings(const struct patch *patch, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;

    validation_error_append_text(json_array_get(patch->problems, 0), &first);
    return error_set(err, ERROR_INVALID, "Settings validation failed: %s", first.text);
}

static int apply(struct patch *patch, struct error *err)
{
    if (patch_agent(patch, err) < 0 || patch_conversation(patch, err) < 0 ||
        patch_misc(patch, err) < 0)
        return -1;
    if (json_array_size(patch->problems) > 0)
        return refuse_settings(patch, err);
    return patch_pointers(patch, err);
}

static int try_patch(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(patch_done) struct patch patch = {
        .request = request, .settings = DOCUMENT_INIT, .problems = json_array()};

    if (request_json_object(request, &patch.body, err) < 0)
        return -1;
    if (!changes_anything(patch.body))
        return reply_detail(reply, 400, "No settings were given");
    if (user_settings_load(request, &patch.settings, err) < 0 || apply(&patch, err) < 0 ||
        user_settings_put(request, &patch.settings, err) < 0)
        return -1;
    return reply_settings(request, reply, &patch.settings, err);
}

/* PATCH diffs and pointers -> 200 settings | 400 no change given | 404 | 422 */
static int settings_patch(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_patch, err);
}

const struct route settings_routes[] = {
    {HTTP_GET, "/api/settings", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, settings_get},
    {HTTP_PATCH, "/api/settings", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_LARGE_BYTES,
     settings_patch},
    {.handle = NULL},
};
