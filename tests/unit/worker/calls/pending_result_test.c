/*
 * Calls of a stored answer, each to its result.
 */
#include "worker/agent/calls/pending_call.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "model/conversation/conversation.h"
#include "model/tools/client_tools.h"
#include "support/json_path.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/agent_row.h"
#include "worker/agent/core/history.h"
#include "worker/agent/mcp/server_talk.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/agent/sandbox/sandbox_call.h"
#include "worker/events.h"
#include "worker/step_test.h"

#define EDIT(path)                                                                                 \
    CALL("file_editor", "{\"command\": \"view\", \"path\": \"/workspace/project/" path "\"}")

/* Runs the pending call of that position to its result. */
static void run_call(struct claimed_agent *claimed, size_t at)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    CLEANUP(begun_call_done) struct begun_call begun = BEGUN_CALL_INIT;
    struct agent *agent = &claimed->agent;
    struct server_talks talks;
    size_t index = 1;
    struct error err = ERROR_INIT;

    history_find_pending(&agent->history, &pending);
    assert_true(at < pending.n);
    server_talks_init(&talks, -1);
    step_check(pending_call_begin(agent, &pending, at, &talks, &begun, &err), &err);
    assert_false(begun.is_early);
    if (begun.in_sandbox != NULL) {
        step_check(sandbox_call_wait(agent, &begun.in_sandbox, 1, &index, &err), &err);
        assert_int_equal(index, 0);
        step_check(pending_call_end(agent, &begun, &err), &err);
    }
    server_talks_done(&talks);
    assert_non_null(history_find_result(&agent->history, pending.items[at]));
}

static void tool_of_the_worker_keeps_its_state(void **state)
{
    struct claimed_agent claimed;

    claimed_agent_begin_pending(
        &claimed, *state,
        CALLS(COMMAND("x") ", " CALL("task_tracker", "{\"command\": \"plan\", \"task_list\":"
                                                     " [{\"title\": \"a\"}]}")));
    run_call(&claimed, 1);
    assert_step_event(&claimed, "ObservationEvent", "observation.kind",
                      "\"TaskTrackerObservation\"");
    assert_int_equal(step_number(&claimed, "(agent_state::jsonb #>> '{task_list,0,title}' = 'a')"
                                           "::int"),
                     1);
    claimed_agent_end(&claimed);
}

static void tool_that_is_gone_is_told(void **state)
{
    struct claimed_agent claimed;

    claimed_agent_begin_pending(&claimed, *state, CALLS(COMMAND("x")));
    json_put(conversation_agent(&claimed.agent.conversation), "tools", json_array());
    agent_renew_tools(&claimed.agent);
    run_call(&claimed, 0);
    assert_step_event(&claimed, "AgentErrorEvent", "error",
                      "\"Tool 'terminal' is no longer available in this conversation.\"");
    claimed_agent_end(&claimed);
}

static void call_of_the_client_has_a_fixed_result(void **state)
{
    struct claimed_agent claimed;
    struct conversation *conversation = &claimed.agent.conversation;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    json_auto_t *text = json_text_of(CLIENT_TOOL_RESULT);

    claimed_agent_begin_pending(&claimed, *state, CALLS(COMMAND("x")));
    json_put(conversation_agent(conversation), "tools", json_array());
    json_put(conversation->spec, "client_tools",
             test_json("[{\"name\": \"terminal\", \"parameters\": {\"type\": \"object\"}}]"));
    agent_renew_tools(&claimed.agent);
    run_call(&claimed, 0);
    json_append_text(&words, text);
    assert_step_event(&claimed, "ObservationEvent", "observation.content[0].text", words.text);
    claimed_agent_end(&claimed);
}

static void result_of_the_sandbox_is_acknowledged(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct claimed_agent claimed;

    claimed_agent_begin_pending(&claimed, fixture, CALLS(COMMAND("x")));
    run_call(&claimed, 0);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    assert_step_event(&claimed, "ObservationEvent", "observation.command", "\"x\"");
    sandbox_send_acknowledged(claimed.agent.sandbox);
    sandbox_settle(claimed.agent.sandbox);
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 1);
    claimed_agent_end(&claimed);
}

/* An earlier sandbox may have begun it, and this one does not know it. */
static void call_that_its_sandbox_lost_is_no_fault_of_the_call(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf lost = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf gone = STRBUF_INIT;

    claimed_agent_begin_pending(&claimed, fixture, CALLS(COMMAND("x") ", " COMMAND("y")));
    json_put_text(claimed.agent.conversation.agent_state, AGENT_STATE_SANDBOX, "zzzzzzzzzzzzzzzz");
    claimed.agent.claimed_seq = claimed.agent.history.last_seq;
    run_call(&claimed, 0);
    step_last_event(&claimed, "AgentErrorEvent", &lost);
    assert_non_null(strstr(lost.text, "The sandbox was restarted while this call"));
    assert_json_at(lost.text, "classification.kind", "\"internal\"");
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    json_put(conversation_agent(&claimed.agent.conversation), "tools", json_array());
    agent_renew_tools(&claimed.agent);
    run_call(&claimed, 0);
    step_last_event(&claimed, "AgentErrorEvent", &gone);
    assert_json_at(gone.text, "classification.kind", "\"agent_action\"");
    claimed_agent_end(&claimed);
}

/* A rule of the workspace for some paths, as it is kept after the reading. */
#define PATH_RULE                                                                                  \
    "[{\"name\": \"py\", \"content\": \"Write types.\", \"paths\": [\"*.py\"]},"                   \
    " {\"name\": \"md\", \"content\": \"Be brief.\", \"paths\": [\"*.md\"]}]"

static void rule_comes_with_the_first_call_for_its_path(void **state)
{
    struct claimed_agent claimed;
    struct conversation *conversation = &claimed.agent.conversation;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;

    claimed_agent_begin_pending(
        &claimed, *state,
        CALLS(EDIT("a.txt") ", " EDIT("a.py") ", " EDIT("b.py") ", " EDIT("c.md")));
    json_put(conversation->spec, PROJECT_SKILLS, test_json(PATH_RULE));
    run_call(&claimed, 0);
    assert_step_event(&claimed, "ObservationEvent", "extended_content", NULL);
    run_call(&claimed, 0);
    step_last_event(&claimed, "ObservationEvent", &event);
    assert_non_null(strstr(event.text, "Write types."));
    json_append_text(&kept, json_object_get(conversation->agent_state, AGENT_STATE_PATH_RULES));
    assert_json_at(kept.text, "", "[\"py\"]");
    assert_int_equal(
        step_number(&claimed,
                    "(agent_state::jsonb #>> '{activated_path_rules}' = '[\"py\"]')::int"),
        1);
    run_call(&claimed, 0);
    step_last_event(&claimed, "ObservationEvent", &event);
    assert_null(strstr(event.text, "Write types."));
    run_call(&claimed, 0);
    step_last_event(&claimed, "ObservationEvent", &event);
    assert_non_null(strstr(event.text, "Be brief."));
    assert_int_equal(
        step_number(&claimed,
                    "(agent_state::jsonb #>> '{activated_path_rules}' = '[\"py\", \"md\"]')::int"),
        1);
    claimed_agent_end(&claimed);
}

/* The model was asked in an earlier run: what counts is what came behind the call. */
static void finish_of_an_earlier_run_knows_what_was_said_since(void **state)
{
    struct claimed_agent claimed;

    claimed_agent_begin_pending(&claimed, *state, CALLS(COMMAND("x") ", " FINISH));
    assert_int_equal(claimed.agent.asked_seq, 0);
    assert_int_not_equal(step_number(&claimed, "claim_count"), 0);
    run_call(&claimed, 1);
    assert_true(claimed.agent.is_over);
    assert_step_row(&claimed, "finished/-/-");
    claimed_agent_end(&claimed);
}

/* A hook's result is kept in the sandbox until its event is stored, also behind a finish. */
static void hooks_of_a_finish_are_acknowledged(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct uuid id = run_new_conversation(
        fixture, CALLS(FINISH),
        "{\"hook_config\": {\"post_tool_use\": [{\"hooks\": [{\"command\": \"x\"}]}]}}");

    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING
               " S(stats) Action(finish) HookExecution(finish) Observation(finish) S(finished)");
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 1);
}

int pending_result_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tool_of_the_worker_keeps_its_state),
        cmocka_unit_test(tool_that_is_gone_is_told),
        cmocka_unit_test(call_of_the_client_has_a_fixed_result),
        cmocka_unit_test(result_of_the_sandbox_is_acknowledged),
        cmocka_unit_test(call_that_its_sandbox_lost_is_no_fault_of_the_call),
        cmocka_unit_test(rule_comes_with_the_first_call_for_its_path),
        cmocka_unit_test(finish_of_an_earlier_run_knows_what_was_said_since),
        cmocka_unit_test(hooks_of_a_finish_are_acknowledged),
    };

    return cmocka_run_group_tests_name("worker/pending_result", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
