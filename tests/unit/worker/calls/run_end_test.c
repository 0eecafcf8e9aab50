/*
 * The ways in which a run ends.
 */
#include "worker/agent/calls/run_end.h"

#include "model/event/event.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/core/agent.h"
#include "worker/step_test.h"

static int end_in_error(struct agent *agent, struct error *err)
{
    return run_end_error(agent, "LLMTimeoutError", "It took too long.", err);
}

static const struct {
    int (*end)(struct agent *agent, struct error *err);
    const char *log;
    const char *row;
    bool gives_way; /* to a message of the user */
} ends[] = {
    {end_in_error, BEGINNING " S(error) ConversationError", "error/-/-", true},
    {run_end_stuck, BEGINNING " S(stuck)", "stuck/-/-", true},
    {run_end_pause, BEGINNING " S(paused) Pause", "paused/-/-", false},
    {run_end_interrupt, BEGINNING " S(paused) Interrupt", "paused/-/-", false},
};

static void each_end_is_stored_with_the_row(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        struct claimed_agent claimed;
        struct error err = ERROR_INIT;
        int64_t version = 0;

        step_begin(&claimed, state, "{}");
        version = step_number(&claimed, "snapshot_version");
        assert_step_row(&claimed, "running/wanted/leased");
        step_check(ends[i].end(&claimed.agent, &err), &err);
        assert_true(claimed.agent.is_over);
        assert_step_log(&claimed, ends[i].log);
        assert_step_row(&claimed, ends[i].row);
        assert_int_equal(step_number(&claimed, "snapshot_version"), version + 1);
        claimed_agent_end(&claimed);
    }
}

/* Only what was asked for ends the run of a user who has spoken since the model was asked. */
static void message_of_the_user_keeps_a_run_going(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        struct claimed_agent claimed;
        struct error err = ERROR_INIT;

        step_begin(&claimed, state, "{}");
        claimed.agent.asked_seq = claimed.agent.history.last_seq;
        run_say(*state, &claimed.agent.lease.conversation_id, "and this");
        assert_int_equal(ends[i].end(&claimed.agent, &err), ends[i].gives_way ? -1 : 0);
        if (ends[i].gives_way)
            assert_int_equal(err.code, ERROR_CONFLICT);
        assert_int_equal(claimed.agent.is_over, !ends[i].gives_way);
        assert_step_row(&claimed, ends[i].gives_way ? "running/wanted/leased" : ends[i].row);
        claimed_agent_end(&claimed);
    }
}

/* A claimed conversation whose last run has finished. */
static void begin_finished(struct claimed_agent *claimed, void **state)
{
    struct uuid id = run_new_conversation(*state, UNUSED_SCRIPT, "{}");

    run_to_end(*state, &id);
    run_again(*state, &id);
    claimed_agent_begin(claimed, *state, &id);
    assert_step_row(claimed, "finished/wanted/leased");
}

static void finished_run_ends_without_an_event(void **state)
{
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;
    int64_t version = 0;

    begin_finished(&claimed, state);
    version = step_number(&claimed, "snapshot_version");
    step_check(run_end_nothing(&claimed.agent, &err), &err);
    assert_true(claimed.agent.is_over);
    assert_step_log(&claimed, BEGINNING " S(stats) Message(agent) S(finished)");
    assert_step_row(&claimed, "finished/-/-");
    assert_int_equal(step_number(&claimed, "snapshot_version"), version + 1);
    claimed_agent_end(&claimed);
}

/* The message came after the claim: another run answers it. */
static void message_to_a_finished_run_is_not_lost(void **state)
{
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;
    struct uuid id;

    begin_finished(&claimed, state);
    id = claimed.agent.lease.conversation_id;
    run_say(*state, &id, "and this");
    step_check(run_end_nothing(&claimed.agent, &err), &err);
    assert_step_row(&claimed, "running/wanted/-");
    agent_done(&claimed.agent);
    run_control_done(&claimed.control);
    claimed_agent_begin(&claimed, *state, &id);
    claimed_agent_end(&claimed);
}

static void error_is_told_with_its_code(void **state)
{
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    step_begin(&claimed, state, "{}");
    step_check(end_in_error(&claimed.agent, &err), &err);
    assert_step_event(&claimed, "ConversationErrorEvent", "code", "\"LLMTimeoutError\"");
    assert_step_event(&claimed, "ConversationErrorEvent", "detail", "\"It took too long.\"");
    claimed_agent_end(&claimed);
}

static void interrupt_without_calls_leaves_the_sandbox_alone(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_interrupts = stub_n_interrupts(fixture->stub);
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    step_begin(&claimed, state, "{}");
    step_check(run_end_interrupt(&claimed.agent, &err), &err);
    assert_int_equal(stub_n_interrupts(fixture->stub), n_interrupts);
    claimed_agent_end(&claimed);
}

static void interrupt_ends_each_open_call(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_interrupts = stub_n_interrupts(fixture->stub);
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    claimed_agent_begin_pending(&claimed, fixture, CALLS(COMMAND("x") ", " COMMAND("y")));
    step_check(run_end_interrupt(&claimed.agent, &err), &err);
    assert_int_equal(stub_n_interrupts(fixture->stub), n_interrupts + 1);
    assert_true(claimed.agent.is_over);
    assert_step_log(&claimed, BEGINNING " S(stats) Action(terminal) Action(terminal) S(error)"
                                        " ConversationError S(running) AgentError(terminal)"
                                        " AgentError(terminal) S(paused) Interrupt");
    assert_step_event(&claimed, "AgentErrorEvent", "error", "\"" EVENT_INTERRUPTED_TEXT "\"");
    claimed_agent_end(&claimed);
}

static void handed_over_run_is_wanted_still(void **state)
{
    struct claimed_agent claimed;
    struct claimed_agent next;
    struct uuid id;

    step_begin(&claimed, state, "{}");
    id = claimed.agent.lease.conversation_id;
    run_end_hand_over(&claimed.agent);
    assert_true(claimed.agent.is_over);
    assert_step_log(&claimed, BEGINNING);
    assert_step_row(&claimed, "running/wanted/-");
    claimed_agent_begin(&next, *state, &id);
    assert_step_row(&next, "running/wanted/leased");
    agent_done(&claimed.agent);
    run_control_done(&claimed.control);
    claimed_agent_end(&next);
}

/* Its lease is another worker's: nothing is handed over, and the run is over all the same. */
static void lost_lease_is_not_handed_over(void **state)
{
    struct claimed_agent claimed;

    step_begin(&claimed, state, "{}");
    claimed.agent.lease.fence--;
    run_end_hand_over(&claimed.agent);
    assert_true(claimed.agent.is_over);
    assert_step_row(&claimed, "running/wanted/leased");
    claimed_agent_end(&claimed);
}

int run_end_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_is_stored_with_the_row),
        cmocka_unit_test(message_of_the_user_keeps_a_run_going),
        cmocka_unit_test(finished_run_ends_without_an_event),
        cmocka_unit_test(message_to_a_finished_run_is_not_lost),
        cmocka_unit_test(error_is_told_with_its_code),
        cmocka_unit_test(interrupt_without_calls_leaves_the_sandbox_alone),
        cmocka_unit_test(interrupt_ends_each_open_call),
        cmocka_unit_test(handed_over_run_is_wanted_still),
        cmocka_unit_test(lost_lease_is_not_handed_over),
    };

    return cmocka_run_group_tests_name("worker/run_end", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
