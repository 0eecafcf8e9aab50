#include "model/agent/policy.h"

#include <ctype.h>

#include "base/json.h"
#include "base/text.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"
#include "model/schema/start_fields.h"
#include "model/schema/validation_error.h"

json_t *policy_read(json_t *input, const struct json_path *path, json_t *problems)
{
    const char *kind = json_text_or(input, "kind", "");
    json_t *policy = NULL;

    if (text_equal(kind, "ConfirmRisky"))
        return object_schema_read(&confirm_risky_schema, input, path, problems);
    if (!text_equal(kind, "NeverConfirm") && !text_equal(kind, "AlwaysConfirm"))
        validation_error_add_value(
            problems, path, "kind must be NeverConfirm, AlwaysConfirm or ConfirmRisky", input);
    policy = json_object();
    json_put_text(policy, "kind", kind);
    return policy;
}

int policy_strictness(const json_t *policy)
{
    const char *kind = json_text_or(policy, "kind", "");

    if (text_equal(kind, "AlwaysConfirm"))
        return 2;
    return text_equal(kind, "ConfirmRisky") ? 1 : 0;
}

static bool is_tag_name(const char *name)
{
    for (const char *p = name; *p != '\0'; p++) {
        if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p))
            return false;
    }
    return name[0] != '\0';
}

void tags_check(json_t *tags, const struct json_path *path, json_t *problems)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (tags, name, value) {
        struct json_path at = {path, name, 0};

        if (!is_tag_name(name))
            validation_error_add_value(
                problems, &at, "a tag's name may contain only lower-case letters and digits",
                value);
        if (json_is_string(value) &&
            utf8_length(json_string_value(value), json_string_length(value)) > TAG_VALUE_MAX_CHARS)
            validation_error_add_value(problems, &at,
                                       "a tag's value may have at most 256 characters", value);
    }
}
