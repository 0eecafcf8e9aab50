/*
 * Whole runs of agents whose calls may run at once.
 */
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"
#include "support/pg.h"
#include "worker/agent/calls/call_batch.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent_test.h"

#define BEGUN BEGINNING "S(stats) "
#define ENDED " S(stats) Message(agent) S(finished)"
#define AT_ONCE(limit) "{\"agent\": {\"tool_concurrency_limit\": " limit "}}"
#define VIEW(path) CALL("file_editor", "{\"command\": \"view\", \"path\": \"" path "\"}")
#define THINK CALL("think", "{\"thought\": \"hm\"}")
#define STEPS(steps) "{\"turns\": [{\"steps\": [" steps "]}]}"
#define CALLS_OF(calls) "{\"calls\": [" calls "]}"
#define SAYS "{\"text\": \"well\"}"

/* Two commands that hold, of two tools. */
#define TWO_HOLD STEPS(CALLS_OF(COMMAND("hold") ", " VIEW("/a/hold")) ", " SAYS)

/* A run of a new conversation, up to where n of its calls were begun in the sandbox. */
static void begin_calls(struct background_run *run, struct run_fixture *fixture, const char *script,
                        const char *limit, size_t n)
{
    size_t n_runs = stub_n_runs(fixture->stub) + n;
    struct uuid id = run_new_conversation(fixture, script, limit);

    background_run_start(run, fixture, &id);
    assert_true(stub_wait_for_runs(fixture->stub, n_runs));
}

static void two_calls_run_at_once(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;

    begin_calls(&run, fixture, TWO_HOLD, AT_ONCE("2"), 2);
    assert_int_equal(stub_n_running(fixture->stub), 2);
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_row(fixture, &run.id, "finished/-/-");
}

/*
 * The limit lets the last call begin when the second one's result is stored; the shell's second
 * command waits for its first.
 */
static void results_are_stored_as_they_come(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;

    begin_calls(&run, fixture,
                STEPS(CALLS_OF(COMMAND("hold") ", " VIEW("/a") ", " COMMAND("next") ", " VIEW(
                    "/b/hold")) ", " SAYS),
                AT_ONCE("2"), 3);
    assert_log(fixture, &run.id,
               BEGUN "Action(terminal) Action(file_editor) Action(terminal) Action(file_editor)"
                     " Observation(file_editor)");
    assert_int_equal(stub_n_running(fixture->stub), 2);
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_row(fixture, &run.id, "finished/-/-");
}

static void limit_of_one_keeps_the_order(void **state)
{
    struct uuid id = run_new_conversation(
        *state, STEPS(CALLS_OF(COMMAND("sleep:50") ", " VIEW("/a") ", " THINK) ", " SAYS), "{}");

    run_to_end(*state, &id);
    assert_log(*state, &id,
               BEGUN "Action(terminal) Action(file_editor) Action(think) Observation(terminal)"
                     " Observation(file_editor) Observation(think)" ENDED);
}

/* As a client does: the row, with an event that announces it. */
static void take_tools_away(struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    json_auto_t *value = json_array();
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_load_any(fixture->context.db, id, &now, &err), 0);
    json_put(conversation_agent(&now), "tools", json_array());
    write.spec = now.spec;
    event_add_state(&events, "agent", value);
    assert_int_equal(conversation_store_write(fixture->context.db, &now, &events, &write, &err), 0);
}

static void change_of_a_client_counts_from_the_next_call_on(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct background_run run;

    begin_calls(
        &run, fixture,
        STEPS(CALLS_OF(COMMAND("hold") ", " COMMAND("next") ", " COMMAND("last")) ", " SAYS), "{}",
        1);
    take_tools_away(fixture, &run.id);
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    assert_log(fixture, &run.id,
               BEGUN "Action(terminal) Action(terminal) Action(terminal) S(agent)"
                     " Observation(terminal) AgentError(terminal) AgentError(terminal)" ENDED);
}

static void finish_waits_for_the_calls_before_it(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;

    begin_calls(&run, fixture,
                STEPS(CALLS_OF(COMMAND("hold") ", " VIEW("/a/hold") ", " FINISH ", " VIEW("/b"))),
                AT_ONCE("8"), 2);
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_row(fixture, &run.id, "finished/-/-");
    assert_int_equal(stub_n_running(fixture->stub), 0);
}

static void interrupt_ends_all_calls(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_interrupts = stub_n_interrupts(fixture->stub);
    struct background_run run;

    begin_calls(&run, fixture, TWO_HOLD, AT_ONCE("2"), 2);
    run_control_request(&run.control, STOP_INTERRUPT);
    background_run_join(&run);
    assert_int_equal(stub_n_interrupts(fixture->stub), n_interrupts + 1);
    assert_log(fixture, &run.id,
               BEGUN "Action(terminal) Action(file_editor) AgentError(terminal)"
                     " AgentError(file_editor) S(paused) Interrupt");
    assert_row(fixture, &run.id, "paused/-/-");
}

static void pause_lets_all_calls_end(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;

    begin_calls(
        &run, fixture,
        STEPS(CALLS_OF(COMMAND("hold") ", " VIEW("/a/hold") ", " COMMAND("next")) ", " SAYS),
        AT_ONCE("2"), 2);
    run_control_request(&run.control, STOP_PAUSE);
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_row(fixture, &run.id, "paused/-/-");
}

/* As when its worker dies: another one asks for each call by its id. */
static void calls_of_a_lost_run_are_taken_over(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run first;
    struct background_run second;
    size_t n_runs = 0;

    begin_calls(&first, fixture, TWO_HOLD, AT_ONCE("2"), 2);
    n_runs = stub_n_runs(fixture->stub);
    run_control_request(&first.control, STOP_LOST);
    background_run_join(&first);
    run_expire_lease(&first.id);
    background_run_start(&second, fixture, &first.id);
    stub_release(fixture->stub);
    background_run_join(&second);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_row(fixture, &first.id, "finished/-/-");
}

/* Neither runs again. */
static void calls_of_a_hung_sandbox_end(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_doubts = stub_n_doubts(fixture->stub);
    struct background_run run;
    size_t n_runs = 0;

    begin_calls(&run, fixture, TWO_HOLD, AT_ONCE("2"), 2);
    n_runs = stub_n_runs(fixture->stub);
    stub_hang(fixture->stub);
    background_run_join(&run);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_true(stub_n_doubts(fixture->stub) > n_doubts);
    assert_row(fixture, &run.id, "finished/-/-");
}

/* A call that is settled, here by a finish that the user's next message overtook, does not run. */
static void call_that_was_told_not_to_run_does_not(void **state)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    claimed_agent_begin_pending(&claimed, fixture,
                                CALLS(COMMAND("x") ", " FINISH ", " COMMAND("y")));
    run_say(fixture, &claimed.agent.lease.conversation_id, "wait");
    if (event_writer_load(&claimed.agent, &err) < 0)
        fail_msg("%s", err.message);
    history_find_pending(&claimed.agent.history, &pending);
    if (call_batch_run(&claimed.agent, &pending, &err) < 0)
        fail_msg("%s", err.message);
    assert_false(claimed.agent.is_over);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    claimed_agent_end(&claimed);
}

static void run_pending(struct agent *agent)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    struct error err = ERROR_INIT;

    history_find_pending(&agent->history, &pending);
    if (call_batch_run(agent, &pending, &err) < 0)
        fail_msg("%s", err.message);
}

static size_t n_pending(const struct agent *agent)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;

    history_find_pending(&agent->history, &pending);
    return pending.n;
}

static const char *noted_sandbox(const struct agent *agent)
{
    return json_text_or(agent->conversation.agent_state, AGENT_STATE_SANDBOX, "");
}

/* Once the new sandbox is noted, a take-over would run a call of the earlier one again. */
static void another_sandbox_gets_no_call_while_calls_of_the_earlier_one_are_open(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct claimed_agent claimed;

    claimed_agent_begin_pending(&claimed, fixture, CALLS(COMMAND("x")));
    json_put_text(claimed.agent.conversation.agent_state, AGENT_STATE_SANDBOX, "earlier");
    claimed.agent.n_open_calls = 1;
    run_pending(&claimed.agent);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_int_equal(n_pending(&claimed.agent), 1);
    assert_string_equal(noted_sandbox(&claimed.agent), "earlier");
    claimed.agent.n_open_calls = 0;
    run_pending(&claimed.agent);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    assert_int_equal(n_pending(&claimed.agent), 0);
    assert_string_not_equal(noted_sandbox(&claimed.agent), "earlier");
    claimed_agent_end(&claimed);
}

/* If the worker dies between the two, the second one is still known to be in doubt. */
static void lost_calls_leave_the_earlier_sandbox_noted(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct claimed_agent claimed;

    claimed_agent_begin_pending(&claimed, fixture, CALLS(COMMAND("x") ", " COMMAND("y")));
    json_put_text(claimed.agent.conversation.agent_state, AGENT_STATE_SANDBOX, "earlier");
    claimed.agent.claimed_seq = INT64_MAX;
    run_pending(&claimed.agent);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_int_equal(n_pending(&claimed.agent), 0);
    assert_string_equal(noted_sandbox(&claimed.agent), "earlier");
    claimed_agent_end(&claimed);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_calls_run_at_once),
        cmocka_unit_test(results_are_stored_as_they_come),
        cmocka_unit_test(limit_of_one_keeps_the_order),
        cmocka_unit_test(change_of_a_client_counts_from_the_next_call_on),
        cmocka_unit_test(finish_waits_for_the_calls_before_it),
        cmocka_unit_test(interrupt_ends_all_calls),
        cmocka_unit_test(pause_lets_all_calls_end),
        cmocka_unit_test(calls_of_a_lost_run_are_taken_over),
        cmocka_unit_test(calls_of_a_hung_sandbox_end),
        cmocka_unit_test(call_that_was_told_not_to_run_does_not),
        cmocka_unit_test(another_sandbox_gets_no_call_while_calls_of_the_earlier_one_are_open),
        cmocka_unit_test(lost_calls_leave_the_earlier_sandbox_noted),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}
