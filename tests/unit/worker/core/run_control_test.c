#include "worker/worker_test.h"

#include "base/clock.h"
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

enum { LONG_MS = 60000, GRACE_MS = 5000 };

/* When a stop cuts a wait. */
enum cut { NEVER, AFTER_GRACE, NOW };

static const struct {
    enum stop_kind stop;
    enum wait_kind wait;
    enum cut cut;
} cuts[] = {
    {STOP_NONE, WAIT_MODEL, NEVER},        {STOP_NONE, WAIT_SANDBOX, NEVER},
    {STOP_NONE, WAIT_TOOL, NEVER},         {STOP_HAND_OVER, WAIT_MODEL, AFTER_GRACE},
    {STOP_HAND_OVER, WAIT_SANDBOX, NOW},   {STOP_HAND_OVER, WAIT_TOOL, AFTER_GRACE},
    {STOP_PAUSE, WAIT_MODEL, AFTER_GRACE}, {STOP_PAUSE, WAIT_SANDBOX, AFTER_GRACE},
    {STOP_PAUSE, WAIT_TOOL, NEVER},        {STOP_INTERRUPT, WAIT_MODEL, NOW},
    {STOP_INTERRUPT, WAIT_SANDBOX, NOW},   {STOP_INTERRUPT, WAIT_TOOL, NOW},
    {STOP_LOST, WAIT_MODEL, NOW},          {STOP_LOST, WAIT_SANDBOX, NOW},
    {STOP_LOST, WAIT_TOOL, NOW},
};

/* As if the stop had been requested that much earlier. */
static void age(struct run_control *control, int64_t ms)
{
    lock_take(&control->lock);
    control->stop_at_ms -= ms;
    lock_release(&control->lock);
}

static void each_stop_cuts_each_wait_in_its_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
        struct run_control control;
        struct error err = ERROR_INIT;
        int n_cancelled = 0;

        run_control_init(&control, 0);
        assert_int_equal(
            run_control_begin_wait(&control, cuts[i].wait, count_cancel, &n_cancelled, &err), 0);
        run_control_request(&control, cuts[i].stop);
        assert_int_equal(n_cancelled, cuts[i].cut == NOW);
        age(&control, GRACE_MS);
        run_control_tick(&control);
        assert_int_equal(n_cancelled > 0, cuts[i].cut != NEVER);
        run_control_end_wait(&control);
        n_cancelled = 0;
        run_control_tick(&control);
        assert_int_equal(n_cancelled, 0);
        run_control_done(&control);
    }
}

static void each_stop_refuses_the_waits_that_it_would_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
        struct run_control control;
        struct error err = ERROR_INIT;
        int n_cancelled = 0;

        run_control_init(&control, 0);
        run_control_request(&control, cuts[i].stop);
        assert_int_equal(
            run_control_begin_wait(&control, cuts[i].wait, count_cancel, &n_cancelled, &err),
            cuts[i].cut == NOW ? -1 : 0);
        assert_int_equal(err.code, cuts[i].cut == NOW ? ERROR_CANCELLED : ERROR_NONE);
        run_control_end_wait(&control);
        age(&control, GRACE_MS);
        assert_int_equal(
            run_control_begin_wait(&control, cuts[i].wait, count_cancel, &n_cancelled, &err),
            cuts[i].cut == NEVER ? 0 : -1);
        assert_int_equal(n_cancelled, 0);
        run_control_done(&control);
    }
}

/* A minute is more than any machine is late. */
static void grace_lasts_seconds(void **state)
{
    struct run_control control;
    struct error err = ERROR_INIT;
    int n_cancelled = 0;

    (void)state;
    run_control_init(&control, 0);
    assert_int_equal(run_control_begin_wait(&control, WAIT_MODEL, count_cancel, &n_cancelled, &err),
                     0);
    run_control_request(&control, STOP_PAUSE);
    age(&control, GRACE_MS - LONG_MS);
    run_control_tick(&control);
    assert_int_equal(n_cancelled, 0);
    age(&control, LONG_MS);
    run_control_tick(&control);
    assert_int_equal(n_cancelled, 1);
    run_control_done(&control);
}

static void same_or_weaker_stop_changes_nothing(void **state)
{
    struct run_control control;
    int64_t asked_ms = 0;

    (void)state;
    run_control_init(&control, 0);
    assert_int_equal(run_control_stop(&control), STOP_NONE);
    run_control_request(&control, STOP_PAUSE);
    age(&control, LONG_MS);
    asked_ms = control.stop_at_ms;
    run_control_request(&control, STOP_PAUSE);
    run_control_request(&control, STOP_HAND_OVER);
    assert_int_equal(run_control_stop(&control), STOP_PAUSE);
    assert_int_equal(control.stop_at_ms, asked_ms);
    run_control_request(&control, STOP_INTERRUPT);
    assert_true(control.stop_at_ms > asked_ms);
    run_control_done(&control);
}

static void words_of_the_store_are_stops(void **state)
{
    static const struct {
        const char *word;
        enum stop_kind stop;
    } cases[] = {
        {"pause", STOP_PAUSE}, {"interrupt", STOP_INTERRUPT}, {"", STOP_NONE}, {"lost", STOP_NONE}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct run_control control;

        run_control_init(&control, 0);
        run_control_request_word(&control, cases[i].word);
        assert_int_equal(run_control_stop(&control), cases[i].stop);
        run_control_done(&control);
    }
}

static void lease_ends_by_time_or_loss(void **state)
{
    struct run_control control;

    (void)state;
    run_control_init(&control, clock_monotonic_ms() + LONG_MS);
    assert_true(run_control_has_lease(&control));
    run_control_renew(&control, clock_monotonic_ms());
    assert_false(run_control_has_lease(&control));
    run_control_renew(&control, clock_monotonic_ms() + LONG_MS);
    assert_true(run_control_has_lease(&control));
    run_control_request(&control, STOP_INTERRUPT);
    assert_true(run_control_has_lease(&control));
    run_control_request(&control, STOP_LOST);
    assert_false(run_control_has_lease(&control));
    run_control_done(&control);
}

static void sleep_ends_by_itself(void **state)
{
    struct run_control control;
    struct error err = ERROR_INIT;
    int64_t began_ms = clock_monotonic_ms();

    (void)state;
    run_control_init(&control, 0);
    assert_int_equal(run_control_sleep(&control, 20, &err), 0);
    assert_true(clock_monotonic_ms() - began_ms >= 20);
    assert_true(clock_monotonic_ms() - began_ms < LONG_MS);
    run_control_done(&control);
}

int run_control_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_cut_what_they_may),
        cmocka_unit_test(each_stop_cuts_each_wait_in_its_time),
        cmocka_unit_test(each_stop_refuses_the_waits_that_it_would_cut),
        cmocka_unit_test(grace_lasts_seconds),
        cmocka_unit_test(same_or_weaker_stop_changes_nothing),
        cmocka_unit_test(words_of_the_store_are_stops),
        cmocka_unit_test(lease_ends_by_time_or_loss),
        cmocka_unit_test(sleep_ends_by_itself),
    };

    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
