#include "model/agent/analyzer_spec.h"

#include "base/attr.h"
#include "base/json.h"
#include "model/schema/validation_error.h"
#include "unit/model/model_test.h"

static const struct json_path place = {NULL, "p", 0};

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
        {"{'kind': 'ToolShieldLLMSecurityAnalyzer'}", NULL, NULL},
        {"{'kind': 'EnsembleSecurityAnalyzer', 'analyzers': [{'kind': 'LLMSecurityAnalyzer'},"
         " {'kind': 'PatternSecurityAnalyzer'}]}",
         NULL, NULL},
        {"{'kind': 'EnsembleSecurityAnalyzer', 'analyzers': []}", "p.analyzers", "too_short"},
        {"{'kind': 'EnsembleSecurityAnalyzer'}", "p.analyzers", "too_short"},
        {"{'kind': 'EnsembleSecurityAnalyzer', 'analyzers': [{'kind': 'LLMSecurityAnalyzer'},"
         " {'kind': 'Mine'}]}",
         "p.analyzers.1", "value_error"},
        {"{'kind': 'Mine'}", "p", "value_error"},
        {"{}", "p", "value_error"},
        {"'LLMSecurityAnalyzer'", "p", "value_error"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].input);
        json_auto_t *problems = json_array();
        json_auto_t *analyzer = analyzer_read(input, &place, problems);

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
    json_auto_t *analyzer = analyzer_read(input, &place, problems);

    (void)state;
    assert_true(json_is_null(analyzer));
}

int analyzer_spec_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(analyzers_are_of_known_kinds),
        cmocka_unit_test(an_unknown_analyzer_is_none),
    };

    return cmocka_run_group_tests_name("model/analyzer_spec", tests, NULL, NULL);
}
