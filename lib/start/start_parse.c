#include "start/start_parse.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "start/start_context.h"

#define SPAN_NAME "observability_span_name"
#define SPAN_NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-"

enum { SPAN_NAME_MAX_CHARS = 128 };

static const struct json_path body_place = {NULL, "body", 0};
static const struct json_path additions_place = {&body_place, "agent_launch_additions", 0};

static const struct field skill_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "content", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema skill_schema = SCHEMA(skill_fields);

static const struct field additions_fields[] = {
    {.name = "system_message_suffix_append",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .max_chars = SUFFIX_MAX_CHARS},
    {.name = "skills", .kind = FIELD_OBJECTS, .rules = FIELD_NULLABLE, .items = &skill_schema},
    {.name = "llm_profile_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema additions_schema = CLOSED_SCHEMA(additions_fields);

void start_request_done(struct start_request *request)
{
    json_decref(request->body);
    json_decref(request->launched_profile);
    json_decref(request->refusal);
    *request = (struct start_request)START_REQUEST_INIT;
}

static bool is_given(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    return value != NULL && !json_is_null(value);
}

static void add_tracing(json_t *body, json_t *tracing)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (tracing, name, value) {
        if (json_object_get(body, name) == NULL)
            json_put(body, name, json_incref(value));
    }
}

static void check_span_name(const struct start_context *context, const json_t *body)
{
    static const struct json_path place = {&body_place, SPAN_NAME, 0};
    static const struct validation_error problem = {
        "string_pattern_mismatch", "String should match pattern '^[A-Za-z0-9._:/-]+$'", NULL};
    json_t *name = json_object_get(body, SPAN_NAME);
    const char *text = json_string_value(name);

    if (text != NULL && (text[0] == '\0' || strlen(text) > SPAN_NAME_MAX_CHARS ||
                         strspn(text, SPAN_NAME_BYTES) != strlen(text)))
        validation_error_add(context->problems, &place, &problem, name);
}

static void read_additions(const struct start_context *context, struct start_request *request)
{
    const struct json_path at = {&additions_place, "llm_profile_ref", 0};
    json_t *additions = json_object_get(request->body, "agent_launch_additions");

    request->additions = (struct start_additions){
        .suffix = json_text_or(additions, "system_message_suffix_append", ""),
        .skills = json_object_get(additions, "skills"),
        .llm_profile_ref = json_text_or(additions, "llm_profile_ref", NULL),
    };
    if (!is_given(request->body, "agent_launch_additions"))
        return;
    json_decref(
        object_schema_read(&additions_schema, additions, &additions_place, context->problems));
    if (is_given(additions, "llm_profile_ref") && !is_given(request->body, "agent_profile_id"))
        validation_error_add_value(context->problems, &at,
                                   "llm_profile_ref needs an agent_profile_id",
                                   json_object_get(additions, "llm_profile_ref"));
}

/* The agent in one of its two forms, or the profile to launch. */
static void read_agent(struct start_request *request)
{
    json_t *agent = json_object_get(request->body, "agent");
    json_t *settings = json_object_get(request->body, "agent_settings");

    if (json_is_object(agent))
        request->agent = agent;
    else if (json_is_object(settings))
        request->agent = settings;
    /* Malformed values are left to start_validate(). */
    if (is_given(request->body, "agent") || is_given(request->body, "agent_settings") ||
        !uuid_parse(json_text_or(request->body, "agent_profile_id", ""),
                    &request->agent_profile_id))
        request->agent_profile_id = (struct uuid)UUID_INIT;
}

int start_parse(const struct start_context *context, json_t *body, json_t *tracing,
                struct start_request *request_out, struct error *err)
{
    struct start_request request = START_REQUEST_INIT;
    json_t *title = json_object_get(body, "title_llm_profile");

    add_tracing(body, tracing);
    check_span_name(context, body);
    if (start_check_problems(context, err) < 0)
        return -1;
    request.body = body;
    request.secrets = json_object_get(body, "secrets");
    request.sender = json_text_or(json_object_get(body, "initial_message"), "sender", NULL);
    if (title != NULL && !json_is_null(title))
        request.title_llm_profile = json_text_or(body, "title_llm_profile", "");
    if (json_is_true(json_object_get(body, "secrets_encrypted")))
        request.sealing = START_SECRETS_SEALED;
    read_agent(&request);
    read_additions(context, &request);
    if (start_check_problems(context, err) < 0)
        return -1;
    request.body = json_incref(body);
    *request_out = request;
    return 0;
}
