/*
 * A call on its way to the sandbox.
 */
#include "worker/agent/sandbox/sandbox_call.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "model/tools/toolset.h"
#include "support/sql.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/agent_test.h"

static int run_command(struct agent *agent, json_t **observation_out, struct call_problem *problem,
                       struct error *err)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    CLEANUP(sandbox_call_freep) struct sandbox_tool_call *call = NULL;
    size_t index = 0;
    const struct agent_tool *tool = toolset_find(agent->tools, "terminal");

    assert_non_null(tool);
    history_find_pending(&agent->history, &pending);
    assert_int_equal(pending.n, 1);
    call = sandbox_call_begin(agent, pending.items[0], tool);
    if (sandbox_call_is_sent(call) && sandbox_call_wait(agent, &call, 1, &index, err) < 0)
        return -1;
    return sandbox_call_end(call, observation_out, problem, err);
}

static int run_pending_command(struct agent *agent, json_t **observation_out, struct error *err)
{
    CLEANUP(call_problem_done) struct call_problem problem = CALL_PROBLEM_INIT;

    return run_command(agent, observation_out, &problem, err);
}

static void call_is_begun_under_a_lease_only(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct claimed_agent claimed;
    json_auto_t *observation = NULL;
    struct error err = ERROR_INIT;

    claimed_agent_begin_pending(&claimed, fixture, CALLS(COMMAND("x")));
    if (sandbox_ready(claimed.agent.sandbox, &err) < 0)
        fail_msg("%s", err.message);
    run_control_request(&claimed.control, STOP_LOST);
    assert_int_equal(run_pending_command(&claimed.agent, &observation, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_null(observation);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    claimed_agent_end(&claimed);
}

static void call_notes_its_sandbox_and_runs(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct claimed_agent claimed;
    json_auto_t *observation = NULL;
    struct error err = ERROR_INIT;

    claimed_agent_begin_pending(&claimed, fixture, CALLS(COMMAND("x")));
    if (run_pending_command(&claimed.agent, &observation, &err) < 0)
        fail_msg("%s", err.message);
    assert_non_null(observation);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    assert_string_equal(
        json_text_or(claimed.agent.conversation.agent_state, AGENT_STATE_SANDBOX, ""),
        sandbox_runtime_id(claimed.agent.sandbox));
    claimed_agent_end(&claimed);
}

#define LOST "The sandbox was restarted while this call was in progress"

/* What the model is told of a call that the sandbox did not finish. */
static void call_without_a_result_has_a_reason(void **state)
{
    static const struct {
        const char *reply;
        const char *words;
        bool is_of_sandbox;
    } rows[] = {
        {"{\"state\":\"-\",\"http_status\":409,\"detail\":\"begun by another\"}",
         "the sandbox refused the call: begun by another", false},
        {"{\"state\":\"-\",\"http_status\":400,\"detail\":\"no such tool\"}",
         "the sandbox refused the call: no such tool", false},
        {"{\"state\":\"-\",\"http_status\":413,\"detail\":\"too large\"}",
         "the sandbox refused the call: too large", false},
        {"{\"state\":\"-\",\"http_status\":429,\"detail\":\"too many\"}",
         "the sandbox refused the call: too many", false},
        {"{\"state\":\"interrupted\",\"reason\":\"out of memory\"}",
         "The call was interrupted: out of memory", false},
        {"{\"state\":\"interrupted\"}", LOST, true},
        {"{\"state\":\"running\"}", "the sandbox's reply to a call has no result", false},
        {"{\"state\":\"odd\"}", "the sandbox's reply has no known state", false},
        {"{\"state\":\"finished\",\"observation\":{\"kind\":\"x\",\"content\":[]}}",
         "the sandbox's reply is not a TerminalObservation", false},
    };
    struct run_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(call_problem_done) struct call_problem problem = CALL_PROBLEM_INIT;
        size_t n_interrupts = stub_n_interrupts(fixture->stub);
        struct claimed_agent claimed;
        json_auto_t *observation = NULL;
        struct error err = ERROR_INIT;

        stub_answer_hook(fixture->stub, "fails", rows[i].reply);
        claimed_agent_begin_pending(&claimed, fixture, CALLS(COMMAND("fails")));
        if (run_command(&claimed.agent, &observation, &problem, &err) < 0)
            fail_msg("%s: %s", rows[i].reply, err.message);
        assert_null(observation);
        if (strstr(problem.text.text, rows[i].words) != problem.text.text)
            fail_msg("%s: %s", rows[i].reply, problem.text.text);
        assert_int_equal(problem.is_of_sandbox, rows[i].is_of_sandbox);
        assert_int_equal(stub_n_interrupts(fixture->stub), n_interrupts);
        claimed_agent_end(&claimed);
    }
}

static void long_reason_is_cut(void **state)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    CLEANUP(call_problem_done) struct call_problem problem = CALL_PROBLEM_INIT;
    struct run_fixture *fixture = *state;
    struct claimed_agent claimed;
    json_auto_t *observation = NULL;
    struct error err = ERROR_INIT;

    strbuf_append(&reply, "{\"state\":\"interrupted\",\"reason\":\"");
    for (int i = 0; i < 1001; i++)
        strbuf_append(&reply, "\u00e9");
    strbuf_append(&reply, "\"}");
    stub_answer_hook(fixture->stub, "fails", reply.text);
    claimed_agent_begin_pending(&claimed, fixture, CALLS(COMMAND("fails")));
    assert_int_equal(run_command(&claimed.agent, &observation, &problem, &err), 0);
    assert_int_equal(problem.text.len, strlen("The call was interrupted: ") + 2 * 1000);
    claimed_agent_end(&claimed);
}

/* The sandbox has a newer fence: that worker goes on with the call. */
static void refusal_is_no_result_for_a_worker_that_lost_its_lease(void **state)
{
    CLEANUP(call_problem_done) struct call_problem problem = CALL_PROBLEM_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct claimed_agent claimed;
    json_auto_t *first = NULL;
    json_auto_t *observation = NULL;
    struct error err = ERROR_INIT;

    stub_answer_hook(fixture->stub, "fails", "{\"state\":\"-\",\"http_status\":409}");
    claimed_agent_begin_pending(&claimed, fixture, CALLS(COMMAND("fails")));
    assert_int_equal(run_pending_command(&claimed.agent, &first, &err), 0);
    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_owner = gen_random_uuid(),"
                   " lease_fence = lease_fence + 1 WHERE id = '%s'",
                   claimed.agent.lease.conversation_id.text);
    test_sql(sql.text);
    assert_int_equal(run_command(&claimed.agent, &observation, &problem, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(problem.text.len, 0);
    claimed_agent_end(&claimed);
}

/* Then the time of any other call is given. */
static void time_that_is_no_limit_is_not_taken(void **state)
{
    static const char *const times[] = {"0", "1000000"};
    struct run_fixture *fixture = *state;
    const int64_t timeout_ms = fixture->context.settings.tool_timeout_ms;

    fixture->context.settings.tool_timeout_ms = 1000;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        CLEANUP(call_problem_done) struct call_problem problem = CALL_PROBLEM_INIT;
        CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;
        size_t n_interrupts = stub_n_interrupts(fixture->stub);
        struct claimed_agent claimed;
        json_auto_t *observation = NULL;
        struct error err = ERROR_INIT;

        strbuf_appendf(&script, CALLS(CALL("terminal", "{\"command\": \"hold\", \"timeout\": %s}")),
                       times[i]);
        claimed_agent_begin_pending(&claimed, fixture, script.text);
        if (run_command(&claimed.agent, &observation, &problem, &err) < 0)
            fail_msg("%s: %s", times[i], err.message);
        assert_null(observation);
        assert_string_equal(problem.text.text,
                            "The call was cut off: it gave no result within 1 seconds.");
        assert_int_equal(stub_n_interrupts(fixture->stub), n_interrupts + 1);
        claimed_agent_end(&claimed);
    }
    fixture->context.settings.tool_timeout_ms = timeout_ms;
}

int sandbox_call_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_is_begun_under_a_lease_only),
        cmocka_unit_test(call_notes_its_sandbox_and_runs),
        cmocka_unit_test(call_without_a_result_has_a_reason),
        cmocka_unit_test(long_reason_is_cut),
        cmocka_unit_test(time_that_is_no_limit_is_not_taken),
        cmocka_unit_test(refusal_is_no_result_for_a_worker_that_lost_its_lease),
    };

    return cmocka_run_group_tests_name("worker/sandbox_call", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
