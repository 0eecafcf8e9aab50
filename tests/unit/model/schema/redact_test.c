#include "base/json.h"
#include "model/schema/validation_error.h"
#include "unit/model/model_test.h"

static void secrets_are_hidden_wherever_they_are(void **state)
{
    json_auto_t *input =
        json_of("{'api_key': 'x', 'GITHUB_TOKEN': 'y', 'n_tokens': 5, 'plain': 'hello',"
                " 'headers': {'X-Any': 'z'}, 'list': ['ghp_abc', 'fine', {'password': ['deep']}]}");
    json_auto_t *expected = json_of(
        "{'api_key': '<redacted>', 'GITHUB_TOKEN': '<redacted>', 'n_tokens': 5, 'plain': 'hello',"
        " 'headers': {'X-Any': '<redacted>'},"
        " 'list': ['<redacted>', 'fine', {'password': ['<redacted>']}]}");
    json_auto_t *copy = redact_copy(input);

    (void)state;
    assert_json_equal(copy, expected);
}

static void problem_of_a_secret_does_not_show_it(void **state)
{
    static const struct json_path body = {NULL, "body", 0};
    static const struct json_path place = {&body, "api_key", 0};
    json_auto_t *problems = json_array();
    json_auto_t *input = json_string("hunter2");

    (void)state;
    validation_error_add_value(problems, &place, "is bad", input);
    assert_string_equal(json_text_or(json_array_get(problems, 0), "input", ""), "<redacted>");
}

static void problem_without_input_says_null(void **state)
{
    static const struct json_path body = {NULL, "body", 0};
    json_auto_t *problems = json_array();

    (void)state;
    validation_error_add_value(problems, &body, "is bad", NULL);
    assert_true(json_is_null(json_object_get(json_array_get(problems, 0), "input")));
}

int redact_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_hidden_wherever_they_are),
        cmocka_unit_test(problem_of_a_secret_does_not_show_it),
        cmocka_unit_test(problem_without_input_says_null),
    };

    return cmocka_run_group_tests_name("model/redact", tests, NULL, NULL);
}
