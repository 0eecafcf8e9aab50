#include "model/agent/analyzer_spec.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/text.h"
#include "model/schema/validation_error.h"

static const char *const analyzer_kinds[] = {
    "LLMSecurityAnalyzer",        "GraySwanAnalyzer",         "PatternSecurityAnalyzer",
    "PolicyRailSecurityAnalyzer", "EnsembleSecurityAnalyzer", "ToolShieldLLMSecurityAnalyzer",
};

static bool is_analyzer(const json_t *input)
{
    const char *kind = json_text_or(input, "kind", "");

    for (size_t i = 0; i < ARRAY_SIZE(analyzer_kinds); i++) {
        if (text_equal(kind, analyzer_kinds[i]))
            return true;
    }
    return false;
}

/* An ensemble lists at least one analyzer, each of a known kind. */
static void check_ensemble(const json_t *input, const struct json_path *path, json_t *problems)
{
    const struct json_path list = {path, "analyzers", 0};
    json_t *analyzers = json_object_get(input, "analyzers");
    json_t *analyzer = NULL;
    size_t i = 0;

    if (json_array_size(analyzers) == 0)
        validation_error_add(
            problems, &list,
            &(struct validation_error){
                "too_short", "List should have at least 1 item after validation, not 0", NULL},
            analyzers);
    json_array_foreach (analyzers, i, analyzer) {
        const struct json_path at = {&list, NULL, (json_int_t)i};

        if (!is_analyzer(analyzer))
            validation_error_add_value(problems, &at, "kind is not a known security analyzer",
                                       analyzer);
    }
}

json_t *analyzer_read(json_t *input, const struct json_path *path, json_t *problems)
{
    if (json_typeof(input) == JSON_NULL)
        return json_null();
    if (!is_analyzer(input)) {
        validation_error_add_value(problems, path, "kind is not a known security analyzer", input);
        return json_null();
    }
    if (text_equal(json_text_or(input, "kind", ""), "EnsembleSecurityAnalyzer"))
        check_ensemble(input, path, problems);
    return json_deep_copy(input);
}
