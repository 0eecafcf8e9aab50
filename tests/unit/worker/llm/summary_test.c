/*
 * The rule by which a condenser chooses what it forgets.
 */
#include "worker/agent/llm/summary.h"

#include <jansson.h>

#include "base/json.h"
#include "worker/agent/core/model_view.h"
#include "worker/step_test.h"

static void rule_has_defaults(void **state)
{
    json_auto_t *given = json_object();
    struct model_view_rule rule = summary_rule(NULL);

    (void)state;
    assert_int_equal(rule.keep_first, 2);
    assert_true(rule.minimum_progress == 0.1);
    assert_int_equal(rule.max_events, 20000);
    assert_int_equal(rule.max_size, 0);
    json_put(given, "keep_first", json_integer(5));
    json_put(given, "minimum_progress", json_real(0.5));
    json_put(given, "max_size", json_integer(80));
    rule = summary_rule(given);
    assert_int_equal(rule.keep_first, 5);
    assert_true(rule.minimum_progress == 0.5);
    assert_int_equal(rule.max_size, 0);
}

int summary_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_has_defaults),
    };

    return cmocka_run_group_tests_name("worker/summary", tests, NULL, NULL);
}
