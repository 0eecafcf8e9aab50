/*
 * The crash points that a run passes: the tests that kill a worker rely on them.
 */
#include "base/crash.h"

#include <stdatomic.h>

#include "model/conversation/conversation.h"
#include "store/conversation/conversation_store.h"
#include "worker/step_test.h"

/* More than a run passes, so that none ends the process. */
#define FAR 1000
#define STEPS(first)                                                                               \
    "{\"turns\": [{\"steps\": [{\"calls\": [" first "]}, {\"calls\": [" FINISH "]}]}]}"

static const char command[] = STEPS(COMMAND("x"));
static const char words[] = "{\"turns\": [{\"steps\": [{\"text\": \"hello\"}]}]}";
static const char child[] = STEPS(CALL("start_child_conversation", "{\"task\": \"the part\"}"));
static const char task[] = STEPS(CALL("task", "{\"prompt\": \"the part\"}"));
static const char bad_task[] = STEPS(CALL("task", "{\"prompt\": \" \"}"));

/* Deletes the only child, if there is one, so that no other test's run finds it waiting. */
static bool delete_child(const struct run_fixture *fixture, const struct uuid *id)
{
    const struct conversation_scope scope = {.user_id = fixture->user_id};
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    struct uuid child_id = UUID_INIT;
    struct error err = ERROR_INIT;

    step_check(conversation_store_load_any(fixture->context.db, id, &parent, &err), &err);
    if (parent.children == NULL || !uuid_parse(parent.children, &child_id))
        return false;
    step_check(conversation_store_delete(fixture->context.db, &scope, &child_id, &err), &err);
    return true;
}

/* Runs to the end, with the result of a sub-agent that was deleted before it had one. */
static void run_with_child(struct run_fixture *fixture, const char *script)
{
    struct uuid id = run_new_conversation(fixture, script, "{}");

    run_to_end(fixture, &id);
    if (delete_child(fixture, &id) && script == task)
        run_to_end(fixture, &id);
    assert_row(fixture, &id, "finished/-/-");
}

static void each_point_is_passed_as_often_as_its_step_is_taken(void **state)
{
    static const struct {
        const char *script;
        enum crash_name point;
        long n;
    } cases[] = {
        {command, CRASH_LLM_SENT, 2},
        {command, CRASH_LLM_DONE, 2},
        {command, CRASH_ACTION_COMMITTED, 2},
        {command, CRASH_AES_BEFORE_SEND, 1},
        {command, CRASH_AES_SENT, 1},
        {command, CRASH_AES_RESULT_READ, 1},
        {command, CRASH_OBS_BEFORE_COMMIT, 2},
        {command, CRASH_OBS_COMMITTED, 1},
        {command, CRASH_CHILD_BEFORE_COMMIT, 0},
        {words, CRASH_LLM_SENT, 1},
        {words, CRASH_ACTION_COMMITTED, 1},
        {words, CRASH_OBS_BEFORE_COMMIT, 0},
        {child, CRASH_CHILD_BEFORE_COMMIT, 1},
        {child, CRASH_CHILD_COMMITTED, 1},
        {task, CRASH_CHILD_BEFORE_COMMIT, 1},
        {task, CRASH_CHILD_COMMITTED, 1},
        {task, CRASH_WAIT_BEFORE_COMMIT, 1},
        {task, CRASH_WAIT_COMMITTED, 1},
        {task, CRASH_OBS_BEFORE_COMMIT, 2},
        {task, CRASH_OBS_COMMITTED, 1},
        {bad_task, CRASH_CHILD_BEFORE_COMMIT, 0},
        {bad_task, CRASH_WAIT_BEFORE_COMMIT, 0},
        {bad_task, CRASH_OBS_BEFORE_COMMIT, 2},
        {bad_task, CRASH_OBS_COMMITTED, 1},
    };
    struct run_fixture *fixture = *state;
    struct crash_points *points = &fixture->context.crash;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        points->armed = cases[i].point;
        atomic_store(&points->n_left, FAR);
        run_with_child(fixture, cases[i].script);
        points->armed = CRASH_N_POINTS;
        if (FAR - atomic_load(&points->n_left) != cases[i].n)
            fail_msg("case %zu: %ld passages", i, FAR - atomic_load(&points->n_left));
    }
}

/* The fixture's database passes no points: that one is expected at the end still. */
static void statement_of_a_result_is_expected_to_pass_a_point(void **state)
{
    struct run_fixture *fixture = *state;
    struct crash_points *points = &fixture->context.crash;

    points->armed = CRASH_OBS_COMMIT_SENT;
    atomic_store(&points->n_left, FAR);
    run_with_child(fixture, words);
    assert_false(atomic_load(&points->is_expected));
    run_with_child(fixture, command);
    assert_true(atomic_load(&points->is_expected));
    atomic_store(&points->is_expected, false);
    points->armed = CRASH_N_POINTS;
}

int crash_points_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_point_is_passed_as_often_as_its_step_is_taken),
        cmocka_unit_test(statement_of_a_result_is_expected_to_pass_a_point),
    };

    return cmocka_run_group_tests_name("worker/crash_points", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
