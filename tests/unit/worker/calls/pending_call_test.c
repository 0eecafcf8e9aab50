/*
 * Calls of a stored answer.
 */
#include "worker/agent/calls/pending_call.h"

#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/mcp/server_talk.h"
#include "worker/agent_test.h"

/* The log of an answer that calls, and of a run that had no sandbox for the first of its calls. */
#define NOT_BEGUN(calls) BEGINNING "S(stats) " calls "S(error) ConversationError "

/* Runs the last of the pending calls. */
static void run_last_call(struct agent *agent)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    struct begun_call begun = BEGUN_CALL_INIT;
    struct server_talks talks;
    struct error err = ERROR_INIT;

    history_find_pending(&agent->history, &pending);
    assert_int_not_equal(pending.n, 0);
    server_talks_init(&talks, -1);
    if (pending_call_begin(agent, &pending, pending.n - 1, &talks, &begun, &err) < 0)
        fail_msg("%s", err.message);
    assert_null(begun.in_sandbox);
    assert_null(begun.at_server);
    server_talks_done(&talks);
}

/* A claimed conversation that has a command and a finish to run, and a newer message. */
static void begin_spoken(struct claimed_agent *claimed, void **state)
{
    struct run_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    claimed_agent_begin_pending(claimed, fixture, CALLS(COMMAND("x") ", " FINISH));
    run_say(fixture, &claimed->agent.lease.conversation_id, "wait");
    if (event_writer_load(&claimed->agent, &err) < 0)
        fail_msg("%s", err.message);
}

static void finish_does_not_end_the_run_of_a_user_who_has_spoken(void **state)
{
    struct claimed_agent claimed;
    const struct uuid *id = &claimed.agent.lease.conversation_id;

    begin_spoken(&claimed, state);
    run_last_call(&claimed.agent);
    assert_false(claimed.agent.is_over);
    assert_row(*state, id, "running/wanted/leased");
    assert_log(*state, id,
               NOT_BEGUN("Action(terminal) Action(finish) ") "S(running) " SPOKEN
                                                             "Observation(finish)");
    claimed_agent_end(&claimed);
}

static void finish_ends_the_run_when_the_model_has_read_the_message(void **state)
{
    struct claimed_agent claimed;
    const struct uuid *id = &claimed.agent.lease.conversation_id;

    begin_spoken(&claimed, state);
    claimed.agent.asked_seq = claimed.agent.history.last_seq;
    run_last_call(&claimed.agent);
    assert_true(claimed.agent.is_over);
    assert_row(*state, id, "finished/-/-");
    claimed_agent_end(&claimed);
}

static void finish_that_was_asked_for_before_the_message_does_not_end_the_run(void **state)
{
    struct claimed_agent claimed;

    begin_spoken(&claimed, state);
    claimed.agent.asked_seq = 1;
    run_last_call(&claimed.agent);
    assert_false(claimed.agent.is_over);
    claimed_agent_end(&claimed);
}

int pending_call_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finish_does_not_end_the_run_of_a_user_who_has_spoken),
        cmocka_unit_test(finish_ends_the_run_when_the_model_has_read_the_message),
        cmocka_unit_test(finish_that_was_asked_for_before_the_message_does_not_end_the_run),
    };

    return cmocka_run_group_tests_name("worker/pending_call", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
