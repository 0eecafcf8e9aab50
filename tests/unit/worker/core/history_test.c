#include "worker/worker_test.h"

#include "store/conversation/event_store.h"
#include "worker/agent/core/history.h"
#include "worker/events.h"

static void only_executable_calls_without_result_are_pending(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;

    (void)state;
    history_add_text(&history,
                     "[" ACTION("1", "x") "," RESULT("1", "y") "," ACTION("2", "x") "," BAD_ACTION(
                         "3") "," FAILURE("3") "," ACTION("4", "z") "]");
    history_find_pending(&history, &pending);
    assert_int_equal(pending.n, 2);
    assert_int_equal(pending.items[0], 2);
    assert_int_equal(pending.items[1], 5);
}

static void iterations_count_from_the_start_of_the_run(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    (void)state;
    history_add_text(&history, "[" AGENT("old") "," RUNNING "," ACTION("1", "x") "," RESULT(
                                   "1", "y") "," ACTION("2", "x") "," RESULT("2", "y") "]");
    assert_int_equal(history_count_iterations(&history), 2);
    assert_false(history_has_user_message_after(&history, 0));
    assert_true(history_has_call_id(&history, "2"));
    assert_false(history_has_call_id(&history, "3"));
    assert_true(history_has_response_id(&history, "r2"));
    assert_false(history_has_response_id(&history, "r3"));
}

int history_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_executable_calls_without_result_are_pending),
        cmocka_unit_test(iterations_count_from_the_start_of_the_run),
    };

    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
