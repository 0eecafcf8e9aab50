#include "runtime/core/runtime_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/runtime/runtime_test.h"

struct judgement {
    enum runtime_desire desired;
    enum runtime_status status;
    int seen; /* an enum seen_state, or -1: no container */
    enum reconcile_verdict verdict;
};

static const struct judgement judgements[] = {
    {DESIRED_RUNNING, RUNTIME_RUNNING, SEEN_RUNNING, VERDICT_FINE},
    {DESIRED_RUNNING, RUNTIME_RUNNING, SEEN_PAUSED, VERDICT_FINE},
    {DESIRED_RUNNING, RUNTIME_RUNNING, SEEN_ENDED, VERDICT_LOST},
    {DESIRED_RUNNING, RUNTIME_RUNNING, SEEN_CREATED, VERDICT_LOST},
    {DESIRED_RUNNING, RUNTIME_RUNNING, -1, VERDICT_LOST},
    {DESIRED_RUNNING, RUNTIME_STARTING, -1, VERDICT_START},
    {DESIRED_RUNNING, RUNTIME_STARTING, SEEN_RUNNING, VERDICT_START},
    {DESIRED_RUNNING, RUNTIME_PAUSED, SEEN_RUNNING, VERDICT_START},
    {DESIRED_RUNNING, RUNTIME_PAUSED, SEEN_PAUSED, VERDICT_START},
    {DESIRED_RUNNING, RUNTIME_PAUSED, -1, VERDICT_START},
    {DESIRED_RUNNING, RUNTIME_ERROR, SEEN_ENDED, VERDICT_REMOVE_CONTAINER},
    {DESIRED_RUNNING, RUNTIME_ERROR, -1, VERDICT_FINE},
    {DESIRED_PAUSED, RUNTIME_RUNNING, SEEN_RUNNING, VERDICT_PAUSE},
    {DESIRED_PAUSED, RUNTIME_STARTING, -1, VERDICT_PAUSE},
    {DESIRED_PAUSED, RUNTIME_PAUSED, -1, VERDICT_FINE},
    {DESIRED_PAUSED, RUNTIME_PAUSED, SEEN_ENDED, VERDICT_REMOVE_CONTAINER},
    {DESIRED_PAUSED, RUNTIME_STOPPED, -1, VERDICT_FINE},
    {DESIRED_STOPPED, RUNTIME_RUNNING, SEEN_RUNNING, VERDICT_STOP},
    {DESIRED_STOPPED, RUNTIME_ERROR, -1, VERDICT_STOP},
    {DESIRED_STOPPED, RUNTIME_STOPPED, -1, VERDICT_FINE},
    {DESIRED_STOPPED, RUNTIME_STOPPED, SEEN_RUNNING, VERDICT_REMOVE_CONTAINER},
    {DESIRED_DELETED, RUNTIME_RUNNING, SEEN_RUNNING, VERDICT_DELETE},
    {DESIRED_DELETED, RUNTIME_STARTING, -1, VERDICT_DELETE},
    {DESIRED_DELETED, RUNTIME_STOPPED, -1, VERDICT_DELETE},
    {DESIRED_DELETED, RUNTIME_ERROR, -1, VERDICT_DELETE},
};

static void row_and_container_make_a_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(judgements); i++) {
        const struct judgement *one = &judgements[i];
        const struct runtime row = {.desired = one->desired, .status = one->status};
        const struct seen_sandbox seen = {.state = (enum seen_state)one->seen};

        assert_int_equal(reconcile_verdict_of(&row, one->seen < 0 ? NULL : &seen), one->verdict);
    }
}

static void asking_twice_does_nothing_twice(void **state)
{
    (void)state;
    assert_int_equal(runtime_state_next(VERB_START, RUNTIME_RUNNING).act, ACT_NONE);
    assert_int_equal(runtime_state_next(VERB_PAUSE, RUNTIME_PAUSED).act, ACT_NONE);
    assert_int_equal(runtime_state_next(VERB_STOP, RUNTIME_STOPPED).act, ACT_NONE);
    assert_int_equal(runtime_state_next(VERB_LOSE, RUNTIME_STOPPED).act, ACT_NONE);
}

static void every_state_can_be_started_again_and_deleted(void **state)
{
    (void)state;
    for (int status = 0; status < RUNTIME_N_STATUSES; status++) {
        if (status != RUNTIME_RUNNING)
            assert_int_equal(runtime_state_next(VERB_START, (enum runtime_status)status).act,
                             status == RUNTIME_PAUSED ? ACT_THAW : ACT_LAUNCH);
        assert_int_equal(runtime_state_next(VERB_DELETE, (enum runtime_status)status).act,
                         ACT_FORGET);
    }
}

static bool has_sandbox(int status)
{
    return status == RUNTIME_RUNNING || status == RUNTIME_PAUSED;
}

static void only_ones_with_a_sandbox_are_lost(void **state)
{
    (void)state;
    for (int status = 0; status < RUNTIME_N_STATUSES; status++)
        assert_int_equal(runtime_state_next(VERB_LOSE, (enum runtime_status)status).act,
                         has_sandbox(status) ? ACT_END : ACT_NONE);
    assert_int_equal(runtime_state_next(VERB_LOSE, RUNTIME_RUNNING).next, RUNTIME_ERROR);
    assert_int_equal(runtime_state_next(VERB_LOSE, RUNTIME_PAUSED).next, RUNTIME_PAUSED);
}

static void paused_one_is_held_or_has_ended(void **state)
{
    char container[] = "c";
    const struct runtime row = {
        .desired = DESIRED_PAUSED, .status = RUNTIME_PAUSED, .container_id = container};
    const struct seen_sandbox paused = {.state = SEEN_PAUSED};
    const struct seen_sandbox running = {.state = SEEN_RUNNING};
    const struct seen_sandbox ended = {.state = SEEN_ENDED};

    (void)state;
    assert_int_equal(reconcile_verdict_of(&row, &paused), VERDICT_FINE);
    assert_int_equal(reconcile_verdict_of(&row, &running), VERDICT_HOLD);
    assert_int_equal(reconcile_verdict_of(&row, &ended), VERDICT_REMOVE_CONTAINER);
    assert_int_equal(reconcile_verdict_of(&row, NULL), VERDICT_REMOVE_CONTAINER);
}

static void orphans_get_their_grace(void **state)
{
    const struct seen_sandbox sandbox = {.runtime_id = "abcdefghijklmnop", .created_at_s = 1000};
    const struct seen_sandbox helper = {.runtime_id = "", .created_at_s = 1000};

    (void)state;
    assert_false(runtime_state_is_orphan(&sandbox, 1119, 120000));
    assert_true(runtime_state_is_orphan(&sandbox, 1120, 120000));
    assert_true(runtime_state_is_orphan(&sandbox, 1000, 0));
    assert_false(runtime_state_is_orphan(&helper, 1001, 0));
    assert_true(runtime_state_is_orphan(&helper, 1120, 0));
}

int test_runtime_state(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_and_container_make_a_verdict),
        cmocka_unit_test(asking_twice_does_nothing_twice),
        cmocka_unit_test(every_state_can_be_started_again_and_deleted),
        cmocka_unit_test(only_ones_with_a_sandbox_are_lost),
        cmocka_unit_test(paused_one_is_held_or_has_ended),
        cmocka_unit_test(orphans_get_their_grace),
    };

    return cmocka_run_group_tests_name("runtime/runtime_state", tests, NULL, NULL);
}
