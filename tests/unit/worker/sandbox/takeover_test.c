#include "worker/worker_test.h"

#include "worker/agent/sandbox/takeover.h"

static void calls_in_doubt_are_asked_about(void **state)
{
    (void)state;
    assert_int_equal(takeover_decide(&(struct takeover_facts){"", "b", true}), TAKEOVER_RUN);
    assert_int_equal(takeover_decide(&(struct takeover_facts){"b", "b", true}), TAKEOVER_RUN);
    assert_int_equal(takeover_decide(&(struct takeover_facts){"a", "b", false}), TAKEOVER_RUN);
    assert_int_equal(takeover_decide(&(struct takeover_facts){"a", "b", true}), TAKEOVER_ASK);
}

int takeover_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_in_doubt_are_asked_about),
    };

    return cmocka_run_group_tests_name("takeover", tests, NULL, NULL);
}
