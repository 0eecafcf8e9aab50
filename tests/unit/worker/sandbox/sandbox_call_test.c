/*
 * A call on its way to the sandbox.
 */
#include "worker/agent/sandbox/sandbox_call.h"

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "model/tools/toolset.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/agent_test.h"

static int run_pending_command(struct agent *agent, json_t **observation_out, struct error *err)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    CLEANUP(call_problem_done) struct call_problem problem = CALL_PROBLEM_INIT;
    CLEANUP(sandbox_call_freep) struct sandbox_tool_call *call = NULL;
    size_t index = 0;
    const struct agent_tool *tool = toolset_find(agent->tools, "terminal");

    assert_non_null(tool);
    history_find_pending(&agent->history, &pending);
    assert_int_equal(pending.n, 1);
    call = sandbox_call_begin(agent, pending.items[0], tool);
    if (sandbox_call_is_sent(call) && sandbox_call_wait(agent, &call, 1, &index, err) < 0)
        return -1;
    return sandbox_call_end(call, observation_out, &problem, err);
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

int sandbox_call_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_is_begun_under_a_lease_only),
        cmocka_unit_test(call_notes_its_sandbox_and_runs),
    };

    return cmocka_run_group_tests_name("worker/sandbox_call", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
