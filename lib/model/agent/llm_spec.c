#include "model/agent/llm_spec.h"

#include "base/attr.h"
#include "base/json.h"
#include "base/text.h"
#include "model/agent/agent_fields.h"
#include "model/agent/conversation_defaults.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "model/secrets/secret_places.h"

static const char MODEL_FALLBACK[] = "gpt-5.6";

/* A key sent back redacted, or blank, counts as absent. */
static void drop_empty_secrets(json_t *llm)
{
    static const char *const members[] = {"api_key", "aws_access_key_id", "aws_secret_access_key",
                                          "aws_session_token"};

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const char *text = json_text_or(llm, members[i], "");

        if (text_is_blank(text) || text_equal(text, secret_marker))
            json_put(llm, members[i], json_null());
    }
}

bool llm_spec_has_aws(const json_t *llm)
{
    static const char *const members[] = {"aws_access_key_id", "aws_secret_access_key",
                                          "aws_session_token", "aws_region_name",
                                          "aws_bedrock_runtime_endpoint"};
    const char *model = json_text_or(llm, "model", "");

    if (model[0] != '\0' && !text_starts_with(model, "bedrock/"))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        if (!text_is_blank(json_text_or(llm, members[i], "")))
            return true;
    }
    return false;
}

/* The server's base_url is only used for the server's own model. */
static void fill_in_model(json_t *llm, const struct conversation_defaults *defaults)
{
    const char *model = json_text_or(llm, "model", NULL);
    bool is_silent = model == NULL;

    if (is_silent)
        json_put_text(llm, "model", defaults->model != NULL ? defaults->model : MODEL_FALLBACK);
    if (defaults->model == NULL || defaults->base_url == NULL)
        return;
    if (json_text_or(llm, "base_url", NULL) != NULL || json_text_or(llm, "api_key", NULL) != NULL ||
        llm_spec_has_aws(llm))
        return;
    if (is_silent || text_equal(model, defaults->model))
        json_put_text(llm, "base_url", defaults->base_url);
}

static const struct field fallback_fields[] = {
    {.name = "fallback_llms", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
    {.name = "profile_store_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema fallback_schema = SCHEMA(fallback_fields);

/* Not among the schema's fields: forms do not show it. */
static void read_fallbacks(const json_t *input, const struct json_path *path, json_t *llm,
                           json_t *problems)
{
    const struct json_path at = {path, "fallback_strategy", 0};
    json_t *given = json_object_get(input, "fallback_strategy");
    json_auto_t *strategy = NULL;

    if (given == NULL || json_is_null(given))
        return;
    strategy = object_schema_read(&fallback_schema, given, &at, problems);
    if (strategy != NULL)
        json_put(llm, "fallback_strategy", json_incref(strategy));
}

json_t *llm_spec_read(json_t *input, const struct conversation_defaults *defaults,
                      const struct json_path *path, json_t *problems)
{
    json_t *llm = object_schema_read(&llm_schema, input, path, problems);

    drop_empty_secrets(llm);
    fill_in_model(llm, defaults);
    if (json_object_get(input, "stream_idle_timeout") == NULL)
        json_put(llm, "stream_idle_timeout", json_deep_copy(json_object_get(llm, "timeout")));
    if (json_object_get(input, "usage_id") == NULL && json_object_get(input, "service_id") != NULL)
        json_put_text(llm, "usage_id", json_text_or(input, "service_id", "default"));
    read_fallbacks(input, path, llm, problems);
    json_put(llm, "is_subscription",
             json_boolean(text_equal(json_text_or(llm, "auth_type", ""), "subscription")));
    return llm;
}
