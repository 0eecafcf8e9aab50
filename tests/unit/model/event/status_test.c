#include "base/attr.h"
#include "model/event/status.h"
#include "unit/model/model_test.h"

static void every_status_has_a_word_that_reads_back(void **state)
{
    static const struct {
        enum execution_status status;
        const char *word;
    } words[] = {
        {STATUS_IDLE, "idle"},
        {STATUS_RUNNING, "running"},
        {STATUS_PAUSED, "paused"},
        {STATUS_WAITING_FOR_CONFIRMATION, "waiting_for_confirmation"},
        {STATUS_FINISHED, "finished"},
        {STATUS_ERROR, "error"},
        {STATUS_STUCK, "stuck"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        enum execution_status read = STATUS_N;

        assert_string_equal(status_to_string(words[i].status), words[i].word);
        assert_true(status_from_string(words[i].word, &read));
        assert_int_equal(read, words[i].status);
    }
    assert_int_equal(ARRAY_SIZE(words), STATUS_N);
}

static void garbage_is_told_as_an_error(void **state)
{
    (void)state;
    assert_string_equal(status_to_string(STATUS_N), "error");
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

int status_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_word_that_reads_back),
        cmocka_unit_test(unknown_word_is_no_status),
        cmocka_unit_test(run_starts_all_but_finished),
        cmocka_unit_test(garbage_is_told_as_an_error),
    };

    return cmocka_run_group_tests_name("model/status", tests, NULL, NULL);
}
