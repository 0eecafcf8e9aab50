#include "model/agent/policy.h"

#include "base/attr.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/limits.h"
#include "model/schema/validation_error.h"
#include "unit/model/model_test.h"

static const struct json_path place = {NULL, "p", 0};

static void policies_are_of_three_kinds(void **state)
{
    static const struct {
        const char *input;
        const char *policy;
        int strictness;
        const char *path; /* of a problem; NULL: none */
    } cases[] = {
        {"{'kind': 'NeverConfirm', 'x': 1}", "{'kind': 'NeverConfirm'}", 0, NULL},
        {"{'kind': 'AlwaysConfirm'}", "{'kind': 'AlwaysConfirm'}", 2, NULL},
        {"{'kind': 'ConfirmRisky'}",
         "{'kind': 'ConfirmRisky', 'threshold': 'HIGH', 'confirm_unknown': true}", 1, NULL},
        {"{'kind': 'ConfirmRisky', 'threshold': 'LOW', 'confirm_unknown': false}",
         "{'kind': 'ConfirmRisky', 'threshold': 'LOW', 'confirm_unknown': false}", 1, NULL},
        {"{'kind': 'ConfirmRisky', 'threshold': 'UNKNOWN'}",
         "{'kind': 'ConfirmRisky', 'confirm_unknown': true}", 1, "p.threshold"},
        {"{'kind': 'Confirm'}", "{'kind': 'Confirm'}", 0, "p"},
        {"{}", "{'kind': ''}", 0, "p"},
        {"'AlwaysConfirm'", "{'kind': ''}", 0, "p"},
    };

    (void)state;
    assert_int_equal(policy_strictness(NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].input);
        json_auto_t *problems = json_array();
        json_auto_t *policy = policy_read(input, &place, problems);

        assert_json_is(policy, cases[i].policy);
        assert_int_equal(policy_strictness(policy), cases[i].strictness);
        if (cases[i].path == NULL)
            assert_json_is(problems, "[]");
        else
            assert_non_null(problem_at(problems, cases[i].path));
    }
}

static void tags_have_plain_names_and_short_values(void **state)
{
    static const struct {
        const char *name;
        size_t n_chars;
        bool is_problem;
    } cases[] = {
        {"a", 0, false},
        {"z9", TAG_VALUE_MAX_CHARS, false},
        {"0", TAG_VALUE_MAX_CHARS + 1, true},
        {"A", 1, true},
        {"a_b", 1, true},
        {"", 1, true},
        {"a-", 1, true},
        {"\xc3\xa4", 1, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
        json_auto_t *tags = json_object();
        json_auto_t *problems = json_array();

        for (size_t n = 0; n < cases[i].n_chars; n++)
            strbuf_append(&value, "\xc3\xa4");
        json_put_text(tags, cases[i].name, value.text);
        tags_check(tags, &place, problems);
        assert_int_equal(json_array_size(problems), cases[i].is_problem);
    }
}

int policy_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_are_of_three_kinds),
        cmocka_unit_test(tags_have_plain_names_and_short_values),
    };

    return cmocka_run_group_tests_name("model/policy", tests, NULL, NULL);
}
