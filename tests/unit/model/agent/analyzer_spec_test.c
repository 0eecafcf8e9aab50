#include "model/agent/analyzer_spec.h"

#include "base/attr.h"
#include "base/json.h"
#include "model/agent/conversation_defaults.h"
#include "model/schema/validation_error.h"
#include "unit/model/model_test.h"

static const struct json_path place = {NULL, "p", 0};
static const struct conversation_defaults defaults = {.model = "own/model"};

#define GUARD(more) "{'kind': 'ToolShieldLLMSecurityAnalyzer', 'llm': {'model': 'm'}" more "}"
#define ENSEMBLE(members) "{'kind': 'EnsembleSecurityAnalyzer', 'analyzers': [" members "]}"

static void analyzers_are_of_known_kinds(void **state)
{
    static const struct {
        const char *input;
        const char *path; /* of a problem; NULL: none, and the analyzer is kept as it is */
        const char *type;
    } cases[] = {
        {"null", NULL, NULL},
        {"{'kind': 'LLMSecurityAnalyzer'}", NULL, NULL},
        {"{'kind': 'GraySwanAnalyzer', 'api_key': 'k'}", NULL, NULL},
        {"{'kind': 'PatternSecurityAnalyzer'}", NULL, NULL},
        {"{'kind': 'PolicyRailSecurityAnalyzer'}", NULL, NULL},
        {"{'kind': 'EnsembleSecurityAnalyzer', 'analyzers': [{'kind': 'LLMSecurityAnalyzer'},"
         " {'kind': 'PatternSecurityAnalyzer'}]}",
         NULL, NULL},
        {"{'kind': 'EnsembleSecurityAnalyzer', 'analyzers': []}", "p.analyzers", "too_short"},
        {"{'kind': 'EnsembleSecurityAnalyzer'}", "p.analyzers", "too_short"},
        {"{'kind': 'EnsembleSecurityAnalyzer', 'analyzers': [{'kind': 'LLMSecurityAnalyzer'},"
         " {'kind': 'Mine'}]}",
         "p.analyzers.1", "value_error"},
        {ENSEMBLE(ENSEMBLE(ENSEMBLE(ENSEMBLE("{'kind': 'LLMSecurityAnalyzer'}")))), NULL, NULL},
        {ENSEMBLE(ENSEMBLE(ENSEMBLE(ENSEMBLE(ENSEMBLE("{'kind': 'LLMSecurityAnalyzer'}"))))),
         "p.analyzers.0.analyzers.0.analyzers.0.analyzers.0", "value_error"},
        {ENSEMBLE(ENSEMBLE("")), "p.analyzers.0.analyzers", "too_short"},
        {"{'kind': 'ToolShieldLLMSecurityAnalyzer'}", "p.llm", "missing"},
        {"{'kind': 'ToolShieldLLMSecurityAnalyzer', 'llm': 'm'}", "p.llm", "dict_type"},
        {GUARD(", 'history_window': -1"), "p.history_window", "greater_than_equal"},
        {GUARD(", 'history_window': 201"), "p.history_window", "less_than_equal"},
        {GUARD(", 'history_window': 'all'"), "p.history_window", "int_parsing"},
        {GUARD(", 'safety_experiences': null"), "p.safety_experiences", "string_type"},
        {ENSEMBLE(ENSEMBLE(GUARD(", 'history_window': -1"))),
         "p.analyzers.0.analyzers.0.history_window", "greater_than_equal"},
        {ENSEMBLE(GUARD("") ", " GUARD("") ", " GUARD("") ", " GUARD("") ", " GUARD("")),
         "p.analyzers.4", "value_error"},
        {"{'kind': 'Mine'}", "p", "value_error"},
        {"{}", "p", "value_error"},
        {"'LLMSecurityAnalyzer'", "p", "value_error"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].input);
        json_auto_t *problems = json_array();
        json_auto_t *analyzer = analyzer_read(input, &defaults, &place, problems);

        if (cases[i].path == NULL) {
            assert_json_is(problems, "[]");
            assert_json_equal(analyzer, input);
            continue;
        }
        assert_int_equal(json_array_size(problems), 1);
        assert_string_equal(problem_at(problems, cases[i].path), cases[i].type);
    }
}

static void an_unknown_analyzer_is_none(void **state)
{
    json_auto_t *input = json_of("{'kind': 'Mine'}");
    json_auto_t *problems = json_array();
    json_auto_t *analyzer = analyzer_read(input, &defaults, &place, problems);

    (void)state;
    assert_true(json_is_null(analyzer));
}

/* A guard's model is one as everywhere else, with the server's defaults. */
static void a_guard_has_all_its_members(void **state)
{
    json_auto_t *input = json_of(ENSEMBLE(
        "{'kind': 'ToolShieldLLMSecurityAnalyzer', 'x': 1, 'llm': {'api_key': 'k'}}, " GUARD(
            ", 'history_window': 200, 'safety_experiences': 'never'")));
    json_auto_t *problems = json_array();
    json_auto_t *analyzer = analyzer_read(input, &defaults, &place, problems);
    json_t *first = json_array_get(json_object_get(analyzer, "analyzers"), 0);
    json_t *second = json_array_get(json_object_get(analyzer, "analyzers"), 1);

    (void)state;
    assert_json_is(problems, "[]");
    assert_int_equal(json_object_size(first), 4);
    assert_int_equal(json_int_or(first, "history_window", 0), 20);
    assert_string_equal(json_text_or(first, "safety_experiences", "-"), "");
    assert_string_equal(json_text_or(first, "kind", ""), "ToolShieldLLMSecurityAnalyzer");
    assert_string_equal(json_text_or(json_object_get(first, "llm"), "model", ""), "own/model");
    assert_string_equal(json_text_or(json_object_get(first, "llm"), "api_key", ""), "k");
    assert_int_equal(json_int_or(json_object_get(first, "llm"), "timeout", 0), 300);
    assert_int_equal(json_int_or(second, "history_window", 0), 200);
    assert_string_equal(json_text_or(second, "safety_experiences", ""), "never");
}

static void guards_are_listed_in_order(void **state)
{
    json_auto_t *analyzer =
        json_of(ENSEMBLE(GUARD(", 'n': 1") ", {'kind': 'LLMSecurityAnalyzer'}, " ENSEMBLE(ENSEMBLE(
            ENSEMBLE(GUARD(", 'n': 2") ", " ENSEMBLE(GUARD(", 'n': 9"))))) ", " GUARD(", 'n': 3")));
    json_auto_t *guards = analyzer_guards(analyzer);
    json_auto_t *alone = json_of(GUARD(""));
    json_auto_t *itself = analyzer_guards(alone);
    json_auto_t *none = analyzer_guards(NULL);

    (void)state;
    assert_int_equal(json_array_size(guards), 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(json_int_or(json_array_get(guards, i), "n", 0), i + 1);
    assert_int_equal(json_array_size(itself), 1);
    assert_int_equal(json_array_size(none), 0);
}

int analyzer_spec_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(analyzers_are_of_known_kinds),
        cmocka_unit_test(an_unknown_analyzer_is_none),
        cmocka_unit_test(a_guard_has_all_its_members),
        cmocka_unit_test(guards_are_listed_in_order),
    };

    return cmocka_run_group_tests_name("model/analyzer_spec", tests, NULL, NULL);
}
