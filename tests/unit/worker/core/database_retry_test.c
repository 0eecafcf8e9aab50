#include "worker/agent/core/database_retry.h"

#include <stdbool.h>

#include "base/error.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/run_control.h"
#include "worker/worker_test.h"

/* Outcomes of the attempts, in order; ERROR_NONE: success. */
struct script {
    const enum error_code *outcomes;
    size_t n_calls;
    struct run_control *control;
    bool loses_lease; /* during the first attempt */
};

static int play(struct agent *agent, void *call, struct error *err)
{
    struct script *script = call;
    enum error_code outcome = script->outcomes[script->n_calls++];

    (void)agent;
    if (script->loses_lease)
        run_control_request(script->control, STOP_LOST);
    return outcome == ERROR_NONE ? 0 : error_set(err, outcome, "scripted");
}

static int retry(struct script *script, struct error *err)
{
    struct run_control control;
    struct agent agent = {.control = &control};
    int rc = 0;

    run_control_init(&control, 0);
    script->control = &control;
    rc = database_retry(&agent, play, script, err);
    run_control_done(&control);
    return rc;
}

static void temporary_failures_are_waited_for(void **state)
{
    static const enum error_code outcomes[] = {ERROR_UNAVAILABLE, ERROR_TIMEOUT, ERROR_NONE};
    struct script script = {.outcomes = outcomes};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(retry(&script, &err), 0);
    assert_int_equal(script.n_calls, 3);
    assert_int_equal(err.code, ERROR_NONE);
}

static void other_failures_are_returned_at_once(void **state)
{
    static const enum error_code outcomes[] = {ERROR_UNAVAILABLE, ERROR_CONFLICT, ERROR_NONE};
    struct script script = {.outcomes = outcomes};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(retry(&script, &err), -1);
    assert_int_equal(script.n_calls, 2);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_string_equal(err.message, "scripted");
}

static void lost_lease_ends_the_wait(void **state)
{
    static const enum error_code outcomes[] = {ERROR_UNAVAILABLE, ERROR_NONE};
    struct script script = {.outcomes = outcomes, .loses_lease = true};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(retry(&script, &err), -1);
    assert_int_equal(script.n_calls, 1);
    assert_int_equal(err.code, ERROR_STALE);
}

int database_retry_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(temporary_failures_are_waited_for),
        cmocka_unit_test(other_failures_are_returned_at_once),
        cmocka_unit_test(lost_lease_ends_the_wait),
    };

    return cmocka_run_group_tests_name("database_retry", tests, NULL, NULL);
}
