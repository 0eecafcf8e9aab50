#include "worker/worker_test.h"

#include "base/error.h"
#include "worker/agent/core/run_control.h"

static void count_cancel(void *what)
{
    (*(int *)what)++;
}

static void stops_cut_what_they_may(void **state)
{
    struct run_control control;
    struct error err = ERROR_INIT;
    int n_cancelled = 0;

    (void)state;
    run_control_init(&control, 0);
    assert_int_equal(run_control_begin_wait(&control, WAIT_TOOL, count_cancel, &n_cancelled, &err),
                     0);
    run_control_request(&control, STOP_PAUSE);
    assert_int_equal(n_cancelled, 0);
    run_control_request(&control, STOP_INTERRUPT);
    assert_int_equal(n_cancelled, 1);
    run_control_end_wait(&control);
    assert_int_equal(run_control_begin_wait(&control, WAIT_MODEL, count_cancel, &n_cancelled, &err),
                     -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    run_control_request(&control, STOP_PAUSE);
    assert_int_equal(run_control_stop(&control), STOP_INTERRUPT);
    run_control_request(&control, STOP_LOST);
    assert_int_equal(run_control_sleep(&control, 1, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    run_control_done(&control);
}

int run_control_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_cut_what_they_may),
    };

    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
