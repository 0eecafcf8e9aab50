#include "model/event/error_class.h"

#include "base/json.h"
#include "unit/model/model_test.h"

static void codes_decide_before_the_words(void **state)
{
    (void)state;
    assert_int_equal(error_class_of("LLMBadRequestError", "ExceededBudget: rate limit"),
                     ERROR_CLASS_CONFIG);
    assert_int_equal(error_class_of("LLMRateLimitError", "invalid api key"),
                     ERROR_CLASS_RATE_LIMIT);
    assert_int_equal(error_class_of("LLMContextWindowExceedError", ""), ERROR_CLASS_AGENT_ACTION);
    assert_int_equal(error_class_of("MaxIterationsReached", ""), ERROR_CLASS_AGENT_LIMIT);
    assert_int_equal(error_class_of("MaxBudgetReached", ""), ERROR_CLASS_QUOTA);
}

static void words_decide_where_no_code_does(void **state)
{
    (void)state;
    assert_int_equal(error_class_of("RuntimeError", "Incorrect API key given"), ERROR_CLASS_AUTH);
    assert_int_equal(error_class_of("RuntimeError", "Rate Limit, and a timeout"),
                     ERROR_CLASS_RATE_LIMIT);
    assert_int_equal(error_class_of("LLMServiceUnavailableError", "You need more credits"),
                     ERROR_CLASS_QUOTA);
    assert_int_equal(error_class_of("ValueError", "Duplicate tool names"), ERROR_CLASS_INTERNAL);
}

static void a_server_that_fails_is_transient(void **state)
{
    (void)state;
    assert_int_equal(error_class_of("BadGatewayError", "boom"), ERROR_CLASS_TRANSIENT);
    assert_int_equal(error_class_of("LLMServiceUnavailableError", ""), ERROR_CLASS_TRANSIENT);
}

static void all_else_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(error_class_of("RuntimeError", "the image cannot be read"),
                     ERROR_CLASS_UNKNOWN);
    assert_int_equal(error_class_of("", ""), ERROR_CLASS_UNKNOWN);
}

static void each_class_has_its_wire_form(void **state)
{
    (void)state;
    for (int class = 0; class < ERROR_N_CLASSES; class ++) {
        json_auto_t *json = error_class_to_json((enum error_class) class);

        assert_int_equal(json_object_size(json), 3);
        assert_true(json_is_boolean(json_object_get(json, "retryable")));
        assert_string_not_equal(json_text_or(json, "kind", ""), "");
        assert_string_not_equal(json_text_or(json, "user_action", ""), "");
    }
}

int error_class_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_decide_before_the_words),
        cmocka_unit_test(words_decide_where_no_code_does),
        cmocka_unit_test(a_server_that_fails_is_transient),
        cmocka_unit_test(all_else_is_unknown),
        cmocka_unit_test(each_class_has_its_wire_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
