#include "model/agent/analyzer_spec.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/text.h"
#include "model/agent/llm_spec.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"

enum {
    WINDOW_MAX_EVENTS = 200,
    EXPERIENCES_MAX_CHARS = 30000,
    GUARDS_MAX = 4, /* each is asked before any call of an answer runs */
};

static const char *const analyzer_kinds[] = {
    "LLMSecurityAnalyzer",        "GraySwanAnalyzer", "PatternSecurityAnalyzer",
    "PolicyRailSecurityAnalyzer", ANALYZER_ENSEMBLE,  ANALYZER_GUARD,
};

static const struct field guard_fields[] = {
    {.name = "llm", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
    {.name = "history_window", .kind = FIELD_INT, .rules = FIELD_FROM_0, .fallback = "20"},
    {.name = "safety_experiences",
     .kind = FIELD_TEXT,
     .fallback = "\"\"",
     .max_chars = EXPERIENCES_MAX_CHARS},
};
static const struct object_schema guard_schema = SCHEMA(guard_fields);

/* State while an analyzer is read. */
struct analyzer_reading {
    const struct conversation_defaults *defaults;
    json_t *problems;
    size_t n_guards;
};

static bool is_of_kind(const json_t *input, const char *kind)
{
    return text_equal(json_text_or(input, "kind", ""), kind);
}

static bool is_analyzer(const json_t *input)
{
    for (size_t i = 0; i < ARRAY_SIZE(analyzer_kinds); i++) {
        if (is_of_kind(input, analyzer_kinds[i]))
            return true;
    }
    return false;
}

static void check_window(const json_t *guard, const struct json_path *path, json_t *problems)
{
    const struct json_path at = {path, "history_window", 0};
    struct validation_error high = {"less_than_equal", "Input should be less than or equal to 200",
                                    NULL};
    json_t *window = json_object_get(guard, "history_window");

    if (!json_is_integer(window) || json_integer_value(window) <= WINDOW_MAX_EVENTS)
        return;
    high.ctx = json_object();
    json_put(high.ctx, "le", json_integer(WINDOW_MAX_EVENTS));
    validation_error_add(problems, &at, &high, window);
}

static json_t *read_guard(struct analyzer_reading *reading, json_t *input,
                          const struct json_path *path)
{
    const struct json_path at = {path, "llm", 0};
    json_t *llm = json_object_get(input, "llm");
    json_t *guard = object_schema_read(&guard_schema, input, path, reading->problems);

    if (json_is_object(llm))
        json_put(guard, "llm", llm_spec_read(llm, reading->defaults, &at, reading->problems));
    check_window(guard, path, reading->problems);
    if (++reading->n_guards == GUARDS_MAX + 1)
        validation_error_add_value(reading->problems, path,
                                   "an ensemble may have at most 4 analyzers that ask a model",
                                   input);
    json_put_text(guard, "kind", ANALYZER_GUARD);
    return guard;
}

static json_t *read_one(struct analyzer_reading *reading, json_t *input,
                        const struct json_path *path, size_t depth);

/* depth: of ensembles, this one included. */
/* NOLINTNEXTLINE(misc-no-recursion): ANALYZER_MAX_DEPTH caps the depth */
static json_t *read_ensemble(struct analyzer_reading *reading, json_t *input,
                             const struct json_path *path, size_t depth)
{
    const struct json_path list = {path, "analyzers", 0};
    json_t *analyzers = json_object_get(input, "analyzers");
    json_t *ensemble = json_deep_copy(input);
    json_t *read = json_array();

    if (json_array_size(analyzers) == 0)
        validation_error_add(
            reading->problems, &list,
            &(struct validation_error){
                "too_short", "List should have at least 1 item after validation, not 0", NULL},
            analyzers);
    if (depth > ANALYZER_MAX_DEPTH)
        validation_error_add_value(reading->problems, path, "ensembles may be nested 4 deep",
                                   input);
    for (size_t i = 0; depth <= ANALYZER_MAX_DEPTH && i < json_array_size(analyzers); i++) {
        const struct json_path at = {&list, NULL, (json_int_t)i};

        json_push(read, read_one(reading, json_array_get(analyzers, i), &at, depth));
    }
    json_put(ensemble, "analyzers", read);
    return ensemble;
}

/* depth: of ensembles around it. */
/* NOLINTNEXTLINE(misc-no-recursion): ANALYZER_MAX_DEPTH caps the depth */
static json_t *read_one(struct analyzer_reading *reading, json_t *input,
                        const struct json_path *path, size_t depth)
{
    if (!is_analyzer(input)) {
        validation_error_add_value(reading->problems, path, "kind is not a known security analyzer",
                                   input);
        return json_null();
    }
    if (is_of_kind(input, ANALYZER_GUARD))
        return read_guard(reading, input, path);
    if (is_of_kind(input, ANALYZER_ENSEMBLE))
        return read_ensemble(reading, input, path, depth + 1);
    return json_deep_copy(input);
}

json_t *analyzer_read(json_t *input, const struct conversation_defaults *defaults,
                      const struct json_path *path, json_t *problems)
{
    struct analyzer_reading reading = {defaults, problems, 0};

    if (json_typeof(input) == JSON_NULL)
        return json_null();
    return read_one(&reading, input, path, 0);
}

/* NOLINTNEXTLINE(misc-no-recursion): ANALYZER_MAX_DEPTH caps the depth */
static void list_guards(json_t *analyzer, size_t depth, json_t *guards)
{
    json_t *members = json_object_get(analyzer, "analyzers");

    if (is_of_kind(analyzer, ANALYZER_GUARD))
        json_push(guards, json_incref(analyzer));
    if (!is_of_kind(analyzer, ANALYZER_ENSEMBLE) || depth == ANALYZER_MAX_DEPTH)
        return;
    for (size_t i = 0; i < json_array_size(members); i++)
        list_guards(json_array_get(members, i), depth + 1, guards);
}

json_t *analyzer_guards(json_t *analyzer)
{
    json_t *guards = json_array();

    list_guards(analyzer, 0, guards);
    return guards;
}
