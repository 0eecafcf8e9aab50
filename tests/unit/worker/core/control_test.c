#include "worker/worker_test.h"

#include "base/error.h"
#include "worker/agent/core/control.h"

static void count_cancel(void *what)
{
    (*(int *)what)++;
}

static void stops_cut_what_they_may(void **state)
{
    struct control control;
    struct error err = ERROR_INIT;
    int n_cancelled = 0;

    (void)state;
    control_init(&control, 0);
    assert_int_equal(control_begin_wait(&control, WAIT_TOOL, count_cancel, &n_cancelled, &err), 0);
    control_request(&control, STOP_PAUSE);
    assert_int_equal(n_cancelled, 0);
    control_request(&control, STOP_INTERRUPT);
    assert_int_equal(n_cancelled, 1);
    control_end_wait(&control);
    assert_int_equal(control_begin_wait(&control, WAIT_MODEL, count_cancel, &n_cancelled, &err),
                     -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    control_request(&control, STOP_PAUSE);
    assert_int_equal(control_stop(&control), STOP_INTERRUPT);
    control_request(&control, STOP_LOST);
    assert_int_equal(control_sleep(&control, 1, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    control_done(&control);
}

int control_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_cut_what_they_may),
    };

    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
