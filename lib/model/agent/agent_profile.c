#include "model/agent/agent_profile.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "model/agent/acp_fields.h"
#include "model/agent/agent_fields.h"
#include "model/agent/agent_settings.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"

/* id, name and revision are accepted, since clients send back profiles they read, but ignored. */
#define COMMON_FIELDS                                                                              \
    {.name = "schema_version", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "4"},         \
        {.name = "id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},                               \
        {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},                             \
        {.name = "revision", .kind = FIELD_INT, .rules = FIELD_NULLABLE | FIELD_FROM_0},           \
        {.name = "mcp_server_refs", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},                 \
    {                                                                                              \
        .name = "secret_refs", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE                        \
    }

static const struct field openhands_fields[] = {
    COMMON_FIELDS,
    {.name = "agent_kind", .kind = FIELD_TEXT, .fallback = "\"openhands\"", .words = "openhands"},
    {.name = "llm_profile_ref", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "agent", .kind = FIELD_TEXT, .fallback = "\"CodeActAgent\""},
    {.name = "tools", .kind = FIELD_OBJECTS, .rules = FIELD_NULLABLE, .items = &tool_spec_schema},
    {.name = "persona",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .max_chars = PERSONA_MAX_CHARS},
    {.name = "system_message_suffix", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "disabled_skills", .kind = FIELD_TEXTS, .fallback = "[]"},
    {.name = "public_skills", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "condenser", .kind = FIELD_OBJECT, .items = &settings_condenser_schema},
    {.name = "verification", .kind = FIELD_OBJECT, .items = &profile_verification_schema},
    {.name = "enable_classify_and_switch_llm_tool", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "meta_profile_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "tool_concurrency_limit", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "1"},
};
static const struct object_schema openhands_schema = CLOSED_SCHEMA(openhands_fields);

static const struct field acp_fields[] = {
    COMMON_FIELDS,
    {.name = "agent_kind", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .words = "acp"},
    ACP_FIELDS,
    {.name = "acp_command", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "acp_args", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
};
static const struct object_schema acp_schema = CLOSED_SCHEMA(acp_fields);

static const struct field class_fields[] = {
    {.name = "description", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema class_schema = SCHEMA(class_fields);

static const struct field meta_fields[] = {
    {.name = "classifier_model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "classes", .kind = FIELD_OBJECTS, .fallback = "[]", .items = &class_schema},
    {.name = "prompt_template", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "model_table", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema meta_schema = SCHEMA(meta_fields);

static void refuse_empty(json_t *object, const char *name, const struct json_path *path,
                         json_t *problems)
{
    const struct json_path at = {path, name, 0};
    json_t *value = json_object_get(object, name);
    json_t *ctx = NULL;

    if (!json_is_string(value) || json_string_length(value) > 0)
        return;
    ctx = json_object();
    json_put(ctx, "min_length", json_integer(1));
    validation_error_add(problems, &at,
                         &(struct validation_error){"string_too_short",
                                                    "String should have at least 1 character", ctx},
                         value);
}

/* Adds missing sections, to be filled with defaults, and converts retired switches to tools. */
static json_t *completed(json_t *input)
{
    static const char *const sections[] = {"condenser", "verification"};
    json_t *copy = json_deep_copy(input);

    retired_switches_fold(copy);
    if (!json_is_object(copy) || agent_settings_are_acp(copy))
        return copy;
    for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
        if (json_object_get(copy, sections[i]) == NULL)
            json_put(copy, sections[i], json_object());
    }
    return copy;
}

json_t *agent_profile_read(json_t *input, const struct json_path *path, json_t *problems)
{
    static const char *const keepers[] = {"id", "name", "revision"};
    static const char *const filled[] = {"llm_profile_ref", "persona", "meta_profile_ref"};
    json_auto_t *whole = completed(input);
    const struct object_schema *schema =
        agent_settings_are_acp(input) ? &acp_schema : &openhands_schema;
    json_t *profile = object_schema_read(schema, whole, path, problems);

    for (size_t i = 0; i < ARRAY_SIZE(filled); i++)
        refuse_empty(profile, filled[i], path, problems);
    settings_sections_check(profile, path, problems);
    for (size_t i = 0; i < ARRAY_SIZE(keepers); i++)
        (void)json_object_del(profile, keepers[i]);
    json_put(profile, "schema_version", json_integer(AGENT_PROFILE_VERSION));
    return profile;
}

/* A template without the task's text could not classify it. */
static bool has_instance_text(const char *template)
{
    return strstr(template, "{{ instance_text }}") != NULL ||
           strstr(template, "{{instance_text}}") != NULL;
}

json_t *meta_profile_read(json_t *input, const struct json_path *path, json_t *problems)
{
    json_t *profile = object_schema_read(&meta_schema, input, path, problems);
    bool has_classes = json_array_size(json_object_get(profile, "classes")) > 0;
    const char *template = json_text_or(profile, "prompt_template", NULL);

    refuse_empty(profile, "classifier_model", path, problems);
    if (has_classes && template != NULL)
        validation_error_add_value(problems, path, "classes and prompt_template exclude each other",
                                   input);
    else if (!has_classes && template == NULL)
        validation_error_add_value(problems, path,
                                   "either classes or a prompt_template is required", input);
    else if (template != NULL && !has_instance_text(template))
        validation_error_add_value(problems, path, "prompt_template contains {{ instance_text }}",
                                   input);
    return profile;
}

bool refs_allow(const json_t *refs, const char *name)
{
    if (!json_is_array(refs))
        return true;
    for (size_t i = 0; i < json_array_size(refs); i++) {
        if (text_equal(json_string_value(json_array_get(refs, i)), name))
            return true;
    }
    return false;
}

void refs_filter(const json_t *refs, json_t *map)
{
    const char *name = NULL;
    void *next = NULL;
    json_t *value = NULL;

    json_object_foreach_safe (map, next, name, value) {
        if (!refs_allow(refs, name))
            (void)json_object_del(map, name);
    }
}
