#include "base/text.h"
#include "model/event/status.h"
#include "unit/model/model_test.h"

static void every_status_has_a_word_that_reads_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STATUS_N; i++) {
        enum execution_status status = (enum execution_status)i;
        enum execution_status read = STATUS_N;

        assert_true(status_from_string(status_to_string(status), &read));
        assert_int_equal(read, status);
    }
}

static void unknown_word_is_no_status(void **state)
{
    enum execution_status status = STATUS_PAUSED;

    (void)state;
    assert_false(status_from_string("RUNNING", &status));
    assert_false(status_from_string("", &status));
    assert_false(status_from_string("deleting", &status));
    assert_int_equal(status, STATUS_PAUSED);
}

static void run_starts_all_but_finished(void **state)
{
    (void)state;
    assert_int_equal(status_on_run(STATUS_FINISHED), STATUS_FINISHED);
    assert_int_equal(status_on_run(STATUS_ERROR), STATUS_RUNNING);
    assert_int_equal(status_on_run(STATUS_STUCK), STATUS_RUNNING);
    assert_int_equal(status_on_run(STATUS_WAITING_FOR_CONFIRMATION), STATUS_RUNNING);
}

static void only_a_message_wakes_what_is_finished(void **state)
{
    (void)state;
    assert_true(status_may_become(STATUS_FINISHED, STATUS_IDLE));
    assert_false(status_may_become(STATUS_FINISHED, STATUS_RUNNING));
    assert_false(status_may_become(STATUS_FINISHED, STATUS_PAUSED));
}

static void status_does_not_become_itself_or_garbage(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STATUS_N; i++) {
        assert_false(status_may_become((enum execution_status)i, (enum execution_status)i));
        assert_false(status_may_become((enum execution_status)i, STATUS_N));
    }
}

int status_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_word_that_reads_back),
        cmocka_unit_test(unknown_word_is_no_status),
        cmocka_unit_test(run_starts_all_but_finished),
        cmocka_unit_test(only_a_message_wakes_what_is_finished),
        cmocka_unit_test(status_does_not_become_itself_or_garbage),
    };

    return cmocka_run_group_tests_name("model/status", tests, NULL, NULL);
}
