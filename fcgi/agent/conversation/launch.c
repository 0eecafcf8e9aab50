#include "fcgi/agent/conversation/launch.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "fcgi/agent/plugins/installed.h"
#include "fcgi/context.h"
#include "fcgi/reply.h"
#include "fcgi/request.h"
#include "fcgi/settings/agent_profiles.h"
#include "fcgi/settings/keep.h"
#include "fcgi/settings/profile_resolve.h"
#include "fcgi/settings/sandbox_secret.h"
#include "model/agent/agent_profile.h"
#include "model/limits.h"
#include "model/schema/shape.h"
#include "model/secrets/secret_registry.h"
#include "store/user/profile_store.h"

/* Limit for texts that plugins add to a conversation; skills beyond it are left out. */
enum { PLUGIN_SKILLS_MAX_BYTES = 512 * 1024 };

static const struct place body_place = {NULL, "body", 0};
static const struct place additions_place = {&body_place, "agent_launch_additions", 0};

static const struct field skill_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "content", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape skill_shape = SHAPE(skill_fields);

static const struct field additions_fields[] = {
    {.name = "system_message_suffix_append",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .max_chars = SUFFIX_MAX_CHARS},
    {.name = "skills", .kind = FIELD_OBJECTS, .rules = FIELD_NULLABLE, .items = &skill_shape},
    {.name = "llm_profile_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape additions_shape = CLOSED_SHAPE(additions_fields);

void launch_done(struct launch *launch)
{
    json_decref(launch->profile);
    *launch = (struct launch)LAUNCH_INIT;
}

static bool is_given(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    return value != NULL && !json_is_null(value);
}

static bool is_sandbox(const struct request *request)
{
    return request->principal.kind == PRINCIPAL_SANDBOX_KEY;
}

int launch_check_user(const struct request *request, struct error *err)
{
    if (request->principal.kind == PRINCIPAL_SANDBOX_KEY)
        return error_set(err, ERROR_FORBIDDEN, "A sandbox's key may not use what its user keeps");
    return 0;
}

static int open_secrets(const struct request *request, json_t *body, struct error *err)
{
    if (!json_is_true(json_object_get(body, "secrets_encrypted")))
        return 0;
    if (launch_check_user(request, err) < 0)
        return -1;
    secrets_open(&start_request_secrets, body, request->context->keyring.fernet, request->problems);
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

static int check_additions(const struct request *request, json_t *body, struct error *err)
{
    json_t *additions = json_object_get(body, "agent_launch_additions");
    const struct place at = {&additions_place, "llm_profile_ref", 0};

    if (!is_given(body, "agent_launch_additions"))
        return 0;
    json_decref(shape_read(&additions_shape, additions, &additions_place, request->problems));
    if (is_given(additions, "llm_profile_ref") && !is_given(body, "agent_profile_id"))
        problem_add_value(request->problems, &at, "llm_profile_ref needs an agent_profile_id",
                          json_object_get(additions, "llm_profile_ref"));
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

/*
 * Refuses a profile that cannot be launched: 422 with its dangling references, or with the first
 * error.
 */
static int refuse_profile(struct reply *reply, const json_t *diagnostics, struct launch *launch,
                          struct error *err)
{
    json_t *dangling = json_object_get(diagnostics, "dangling_mcp_server_refs");
    json_t *first = json_array_get(json_object_get(diagnostics, "errors"), 0);
    json_auto_t *answer = NULL;
    json_t *detail = NULL;

    if (json_array_size(dangling) == 0)
        return error_set(err, ERROR_INVALID, "%s", json_string_value(first));
    answer = json_object();
    detail = json_object();
    json_put_text(detail, "message", "The agent profile refers to MCP servers that do not exist");
    json_put(detail, "dangling_mcp_server_refs", json_incref(dangling));
    json_put(answer, "detail", detail);
    launch->is_answered = true;
    return reply_json(reply, 422, answer);
}

/* Replaces the profile in the body by the settings it resolves to. */
static void put_settings(json_t *body, const struct document *profile,
                         const struct resolution *resolution, struct launch *launch)
{
    json_t *refs = json_object_get(profile->body, "secret_refs");

    (void)json_object_del(body, "agent_profile_id");
    json_put(body, "agent_settings", json_incref(resolution->settings));
    refs_filter(refs, json_object_get(body, "secrets"));
    launch->profile = json_object();
    json_put_text(launch->profile, "agent_profile_id", profile->id.text);
    json_put(launch->profile, "revision", json_integer(profile->revision));
    json_put(launch->profile, "secret_refs", json_incref(refs));
    json_put(launch->profile, "llm_profile_ref",
             json_incref(json_object_get(resolution->diagnostics, "llm_profile_ref")));
}

static int launch_profile(const struct request *request, json_t *body, struct reply *reply,
                          struct launch *launch, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;
    json_t *additions = json_object_get(body, "agent_launch_additions");
    const char *llm_ref = json_text_or(additions, "llm_profile_ref", NULL);
    struct uuid id = UUID_INIT;

    /* Malformed values are left to the reader of the whole request. */
    if (is_given(body, "agent") || is_given(body, "agent_settings") ||
        !uuid_parse(json_text_or(body, "agent_profile_id", ""), &id))
        return 0;
    if (launch_check_user(request, err) < 0)
        return -1;
    if (agent_profile_load(request, &id, &profile, err) < 0 ||
        profile_resolve(request, profile.body, llm_ref, &resolution, err) < 0)
        return -1;
    if (!json_is_true(json_object_get(resolution.diagnostics, "valid")))
        return refuse_profile(reply, resolution.diagnostics, launch, err);
    put_settings(body, &profile, &resolution, launch);
    return 0;
}

/* The agent of the body, in either form; NULL when there is none. Borrowed. */
static json_t *agent_of(json_t *body)
{
    json_t *agent = json_object_get(body, "agent");

    return json_is_object(agent) ? agent : json_object_get(body, "agent_settings");
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

static void apply_additions(json_t *body)
{
    json_t *additions = json_object_get(body, "agent_launch_additions");
    const char *suffix = json_text_or(additions, "system_message_suffix_append", "");
    json_t *skills = json_object_get(additions, "skills");
    json_t *agent = agent_of(body);

    if (!json_is_object(agent) || (suffix[0] == '\0' && json_array_size(skills) == 0))
        return;
    if (suffix[0] != '\0')
        append_suffix(json_need_object(agent, "agent_context"), suffix);
    merge_skills(json_need_object(agent, "agent_context"), skills);
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
static int add_plugin_skills(const struct request *request, json_t *body, struct error *err)
{
    json_t *agent = agent_of(body);
    json_auto_t *skills = NULL;
    json_auto_t *added = json_array();
    const json_t *skill = NULL;
    size_t room = PLUGIN_SKILLS_MAX_BYTES;
    size_t i = 0;

    if (!json_is_object(agent) || is_sandbox(request))
        return 0;
    if (installed_plugin_skills(request, &skills, err) < 0)
        return -1;
    json_array_foreach (skills, i, skill) {
        size_t len = strlen(json_text_or(skill, "content", ""));

        if (json_bool_or(skill, "disable_model_invocation", 0) || len > room)
            continue;
        room -= len;
        json_push(added, skill_for_context(skill));
    }
    if (json_array_size(added) > 0)
        merge_skills(json_need_object(agent, "agent_context"), added);
    return 0;
}

static int resolve_connection(const struct request *request, json_t *llm, struct error *err)
{
    const struct shelf shelf = keep_shelf(request);

    if (json_text_or(llm, "provider_connection_id", NULL) == NULL)
        return 0;
    if (launch_check_user(request, err) < 0)
        return -1;
    return profile_store_resolve_llm(&shelf, llm, err);
}

int launch_open_llm(const struct request *request, json_t *llm, struct error *err)
{
    if (!is_sandbox(request))
        secrets_open(&llm_secrets, llm, request->context->keyring.fernet, request->problems);
    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    return resolve_connection(request, llm, err);
}

/* Fills in the keys of provider connections, for the agent and its condenser. */
static int resolve_connections(const struct request *request, json_t *body, struct error *err)
{
    json_t *agent = agent_of(body);
    json_t *llms[] = {json_object_get(agent, "llm"),
                      json_object_get(json_object_get(agent, "condenser"), "llm")};

    for (size_t i = 0; i < ARRAY_SIZE(llms); i++) {
        if (json_is_object(llms[i]) && resolve_connection(request, llms[i], err) < 0)
            return -1;
    }
    return 0;
}

/*
 * The cloud workspace refers to its user's secrets by the URLs at which its sandbox reads them: the
 * value replaces the URL, so no look-up is needed later.
 */
static int take_stored(const struct request *request, json_t *secrets, const char *name,
                       const char *stored, struct error *err)
{
    CLEANUP(document_done) struct document secret = DOCUMENT_INIT;
    json_t *source = NULL;

    if (sandbox_secret_read(request, stored, &secret, err) < 0)
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

int launch_take_lookups(const struct request *request, json_t *secrets, struct error *err)
{
    const char *name = NULL;
    json_t *source = NULL;
    void *next = NULL;

    if (!is_sandbox(request))
        return 0;
    json_object_foreach_safe (secrets, next, name, source) {
        const char *stored = sandbox_secret_name(request, json_text_or(source, "url", ""));

        if (!is_lookup(source))
            continue;
        if (stored == NULL)
            return error_set(err, ERROR_FORBIDDEN,
                             "A sandbox's key may not have secrets looked up: give %s as a value",
                             name);
        if (take_stored(request, secrets, name, stored, err) < 0)
            return -1;
    }
    return 0;
}

/* Checks members that refer to the user's stored data. */
static int check_stored(const struct request *request, const json_t *body, struct error *err)
{
    return is_given(body, "title_llm_profile") ? launch_check_user(request, err) : 0;
}

int launch_prepare(const struct request *request, json_t *body, struct reply *reply,
                   struct launch *launch, struct error *err)
{
    if (check_stored(request, body, err) < 0 || open_secrets(request, body, err) < 0 ||
        check_additions(request, body, err) < 0 ||
        launch_profile(request, body, reply, launch, err) < 0)
        return -1;
    if (launch->is_answered)
        return 0;
    apply_additions(body);
    if (add_plugin_skills(request, body, err) < 0)
        return -1;
    if (launch_take_lookups(request, json_object_get(body, "secrets"), err) < 0 ||
        launch_take_lookups(
            request, json_object_get(json_object_get(agent_of(body), "agent_context"), "secrets"),
            err) < 0)
        return -1;
    return resolve_connections(request, body, err);
}
