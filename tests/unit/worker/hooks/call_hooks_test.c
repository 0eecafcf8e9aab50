/*
 * Hooks before and after the model's calls, in whole runs.
 */
#include "worker/agent/hooks/call_hooks.h"

#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "model/conversation/conversation.h"
#include "support/sql.h"
#include "worker/agent/calls/call_batch.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/events.h"
#include "worker/hooks/hooks_test.h"

#define BEFORE(hooks) HOOKS(ON("pre_tool_use", hooks))
#define AFTER(hooks) HOOKS(ON("post_tool_use", hooks))

/* A denial, under a command of its own. */
static const char *deny(struct run_fixture *fixture)
{
    stub_answer_hook(fixture->stub, "deny", "{\"exit_code\": 2, \"stderr\": \"not here\"}");
    return BEFORE(RUNS("deny"));
}

/* The row counts the answer of one call. */
static void assert_paid(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND stats::json #>>"
                   " '{usage_to_metrics,agent,accumulated_token_usage,completion_tokens}' = '8'",
                   id->text);
    assert_int_equal(test_sql_count(sql.text), 1);
}

/* --- before a call --- */

static void blocked_call_is_rejected_and_does_not_run(void **state)
{
    CLEANUP(strbuf_done) struct strbuf action = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    const char *config = deny(fixture);
    size_t n_runs = stub_n_runs(fixture->stub);
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct uuid id = run_new_conversation(fixture, TURN(CALLS(COMMAND("rm")) ", " SAYS), config);
    json_auto_t *json = NULL;
    struct error err = ERROR_INIT;

    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(stats) HookExecution(terminal) Action(terminal)"
                         " UserRejectObservation(terminal) " SAID);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 1);
    hooks_event(fixture, &id, "ActionEvent", 0, &action);
    if (json_parse(action.text, action.len, &json, &err) < 0)
        fail_msg("%s", err.message);
    strbuf_appendf(&expected, "\"%s\"", json_text_or(json, "id", ""));
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "action_id", expected.text);
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "source", "\"hook\"");
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_input.tool_input.command",
                    "\"rm\"");
    assert_event_at(fixture, &id, "UserRejectObservation", 0, "action_id", expected.text);
    assert_event_at(fixture, &id, "UserRejectObservation", 0, "rejection_source", "\"hook\"");
    assert_event_at(fixture, &id, "UserRejectObservation", 0, "rejection_reason", "\"not here\"");
    assert_row(fixture, &id, "finished/-/-");
}

static void block_without_a_reason_has_one(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id =
        run_new_conversation(fixture, TURN(CALLS(THINK) ", " SAYS), BEFORE(RUNS("silent")));

    stub_answer_hook(fixture->stub, "silent", "{\"exit_code\": 2}");
    run_to_end(fixture, &id);
    assert_event_at(fixture, &id, "UserRejectObservation", 0, "rejection_reason",
                    "\"A hook blocked this call.\"");
}

static void call_that_no_hook_blocks_runs(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct uuid id =
        run_new_conversation(fixture, TURN(CALLS(COMMAND("ls")) ", " SAYS), BEFORE(RUNS("fine")));

    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(stats) HookExecution(terminal) Action(terminal) Observation(terminal)"
                         " " SAID);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 2);
}

/* Each is asked for by its own tool; one whose arguments are wrong is not asked for. */
static void each_valid_call_of_an_answer_has_its_own_verdict(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct uuid id = UUID_INIT;

    (void)deny(fixture);
    id = run_new_conversation(
        fixture,
        TURN(CALLS(COMMAND("a") ", " CALL("nosuch", "{}") ", " THINK ", " COMMAND("b")) ", " SAYS),
        HOOKS(ON_TOOL("pre_tool_use", "think", RUNS("deny"))));
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING
               "S(stats) Action(terminal) Action(nosuch) AgentError(nosuch) HookExecution(think)"
               " Action(think) Action(terminal) UserRejectObservation(think) Observation(terminal)"
               " Observation(terminal) " SAID);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 3);
}

/* Two calls with 64 hooks that print 50 KB each are within the limit, the sixth one is not. */
static void hooks_of_an_answer_that_print_too_much_end_the_run(void **state)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct uuid within = UUID_INIT;
    struct uuid beyond = UUID_INIT;
    size_t n_runs = 0;

    for (int i = 0; i < 50000; i++)
        strbuf_append_char(&answer, 'x');
    stub_answer_hook_text(fixture->stub, "loud", 0, answer.text);
    strbuf_append(&config, "{\"hook_config\": {\"pre_tool_use\": [{\"hooks\": [" RUNS("loud"));
    for (int i = 1; i < 64; i++)
        strbuf_append(&config, ", " RUNS("loud"));
    strbuf_append(&config, "]}]}}");
    within = run_new_conversation(fixture, TURN(CALLS(THINK ", " THINK) ", " SAYS), config.text);
    run_to_end(fixture, &within);
    assert_row(fixture, &within, "finished/-/-");
    beyond = run_new_conversation(fixture,
                                  TURN(CALLS(THINK ", " THINK ", " THINK ", " THINK ", " THINK
                                                   ", " THINK ", " COMMAND("a")) ", " SAYS),
                                  config.text);
    n_runs = stub_n_runs(fixture->stub);
    run_to_end(fixture, &beyond);
    assert_row(fixture, &beyond, "error/-/-");
    assert_event_at(fixture, &beyond, "ConversationErrorEvent", 0, "detail",
                    "\"The hooks before the calls of one answer printed more than 16 MB. Let them"
                    " print less, and run the conversation again.\"");
    hooks_event(fixture, &beyond, "ActionEvent", 0, &answer);
    assert_string_equal(answer.text, "");
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 6 * 64);
}

static void invalid_call_asks_no_hook(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_hooks = stub_n_hooks(fixture->stub);
    struct uuid id = run_new_conversation(
        fixture, TURN(CALLS(CALL("nosuch", "{}") ", " CALL("terminal", "{}")) ", " SAYS),
        deny(fixture));

    run_to_end(fixture, &id);
    assert_int_equal(stub_n_hooks(fixture->stub), n_hooks);
    assert_log(fixture, &id,
               BEGINNING "S(stats) Action(nosuch) AgentError(nosuch) Action(terminal)"
                         " AgentError(terminal) " SAID);
}

static void blocked_finish_does_not_end_the_run(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TURN(CALLS(FINISH) ", " SAYS), deny(fixture));

    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(stats) HookExecution(finish) Action(finish)"
                         " UserRejectObservation(finish) " SAID);
}

/* Its calls were planned before the message, and their hooks are not asked again. */
static void message_while_a_hook_runs_keeps_its_verdict(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;
    size_t n_hooks = stub_n_hooks(fixture->stub) + 1;

    hooks_begin(&run, fixture, TURN(CALLS(COMMAND("ls")) ", " SAYS), BEFORE(RUNS("hold-before")));
    stub_answer_hook(fixture->stub, "hold-before", "{\"exit_code\": 2, \"stderr\": \"no\"}");
    run_say(fixture, &run.id, "wait");
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_int_equal(stub_n_hooks(fixture->stub), n_hooks);
    assert_log(fixture, &run.id,
               BEGINNING SPOKEN "S(stats) HookExecution(terminal) Action(terminal)"
                                " UserRejectObservation(terminal) " SAID);
    assert_row(fixture, &run.id, "finished/-/-");
}

static void interrupt_while_a_hook_runs_loses_the_answer(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;
    size_t n_runs = stub_n_runs(fixture->stub) + 1;

    hooks_begin(&run, fixture, TURN(CALLS(COMMAND("ls")) ", " SAYS), BEFORE(RUNS("hold-cut")));
    run_control_request(&run.control, STOP_INTERRUPT);
    background_run_join(&run);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_log(fixture, &run.id, BEGINNING "S(stats) S(paused) Interrupt");
    assert_row(fixture, &run.id, "paused/-/-");
    assert_paid(&run.id);
    stub_release(fixture->stub);
}

static void pause_lets_a_hook_and_its_call_end(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;

    hooks_begin(&run, fixture, TURN(CALLS(COMMAND("ls")) ", " SAYS), BEFORE(RUNS("hold-pause")));
    run_control_request(&run.control, STOP_PAUSE);
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_log(fixture, &run.id,
               BEGINNING "S(stats) HookExecution(terminal) Action(terminal) Observation(terminal)"
                         " S(paused) Pause");
}

static void calls_without_a_sandbox_for_their_hooks_end_the_run(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TURN(CALLS(THINK) ", " SAYS), BEFORE(RUNS("x")));

    stub_refuse_start(fixture->stub, "no room");
    run_to_end(fixture, &id);
    stub_refuse_start(fixture->stub, NULL);
    assert_log(fixture, &id, BEGINNING "S(stats) S(error) ConversationError");
    assert_event_at(fixture, &id, "ConversationErrorEvent", 0, "code", "\"RuntimeError\"");
    assert_paid(&id);
    assert_row(fixture, &id, "error/-/-");
}

/* Calls that are not to run need no confirmation. */
static void policy_is_asked_about_the_other_calls_only(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = UUID_INIT;

    (void)deny(fixture);
    id = run_new_conversation(
        fixture, TURN(CALLS(COMMAND("a") ", " THINK) ", " SAYS),
        "{\"confirmation_policy\": {\"kind\": \"AlwaysConfirm\"},"
        " \"hook_config\": {" ON_TOOL("pre_tool_use", "terminal", RUNS("deny")) "}}");
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(stats) HookExecution(terminal) Action(terminal) Action(think)"
                         " UserRejectObservation(terminal) Observation(think) " SAID);
}

static void hook_sees_no_secret_of_a_call(void **state)
{
    CLEANUP(strbuf_done) struct strbuf order = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    size_t n_hooks = stub_n_hooks(fixture->stub);
    struct uuid id = run_new_conversation(
        fixture, TURN(CALLS(COMMAND("echo hush-hush-4711")) ", " SAYS),
        "{\"secrets\": {\"TOKEN\": {\"kind\": \"StaticSecret\", \"value\": \"hush-hush-4711\"}},"
        " \"hook_config\": {" ON("pre_tool_use", RUNS("x")) ", " ON("post_tool_use",
                                                                    RUNS("y")) "}}");

    run_to_end(fixture, &id);
    assert_int_equal(stub_n_hooks(fixture->stub), n_hooks + 2);
    stub_hook(fixture->stub, n_hooks, &order);
    assert_non_null(strstr(order.text, "<secret-hidden>"));
    assert_null(strstr(order.text, "4711"));
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_input.tool_input.command",
                    "\"echo <secret-hidden>\"");
    assert_event_at(fixture, &id, "HookExecutionEvent", 1, "hook_input.tool_input.command",
                    "\"echo <secret-hidden>\"");
    assert_event_at(fixture, &id, "HookExecutionEvent", 1,
                    "hook_input.tool_response.content[0].text", "\"echo <secret-hidden>\"");
}

/* --- after a call --- */

static void add(struct run_fixture *fixture)
{
    stub_answer_hook_text(fixture->stub, "add", 0, "{\"additionalContext\": \"mind the gap\"}");
}

static void text_of_a_hook_comes_with_the_result(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct uuid id = run_new_conversation(fixture, TURN(CALLS(COMMAND("ls")) ", " SAYS),
                                          AFTER(RUNS("add") ", " RUNS("none")));

    add(fixture);
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(stats) Action(terminal) HookExecution(terminal) HookExecution(terminal)"
                         " Observation(terminal) " SAID);
    assert_event_at(fixture, &id, "ObservationEvent", 0, "extended_content[0].text",
                    "\"mind the gap\"");
    assert_event_at(fixture, &id, "ObservationEvent", 0, "extended_content[1]", NULL);
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_event_type", "\"PostToolUse\"");
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_input.tool_response.kind",
                    "\"TerminalObservation\"");
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_input.tool_input.command",
                    "\"ls\"");
    /* Two hooks and the call. */
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 3);
}

/* Both together are too large for an event. */
static void large_result_is_stored_without_the_text_of_a_hook(void **state)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct uuid id = run_new_conversation(fixture, TURN(CALLS(COMMAND("print:960000")) ", " SAYS),
                                          AFTER(RUNS("much")));

    strbuf_append(&answer, "{\"additionalContext\": \"");
    for (int i = 0; i < 49000; i++)
        strbuf_append_char(&answer, 'x');
    strbuf_append(&answer, "\"}");
    stub_answer_hook_text(fixture->stub, "much", 0, answer.text);
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(stats) Action(terminal) HookExecution(terminal) Observation(terminal)"
                         " " SAID);
    assert_event_at(fixture, &id, "ObservationEvent", 0, "extended_content", NULL);
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 2);
}

static void run_pending(struct agent *agent)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    struct error err = ERROR_INIT;

    history_find_pending(&agent->history, &pending);
    if (call_batch_run(agent, &pending, &err) < 0)
        fail_msg("%s", err.message);
}

/* The rule is noted together with the result. */
static void text_of_a_hook_comes_after_the_rules_for_a_file(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct claimed_agent claimed;
    struct agent *agent = &claimed.agent;
    json_auto_t *members = test_json("{\"hook_config\": {" ON(
        "post_tool_use", RUNS("add")) "}, \"" PROJECT_SKILLS
                                      "\": [{\"name\": \"c-files\", \"content\": \"Use tabs.\", "
                                      "\"paths\": [\"*.c\"]}]}");

    add(fixture);
    claimed_agent_begin_pending(
        &claimed, fixture,
        TURN(CALLS(
            CALL("file_editor", "{\"command\": \"view\", \"path\": \"/workspace/project/a.c\"}"))));
    (void)json_object_update(agent->conversation.spec, members);
    run_pending(agent);
    hooks_event(fixture, &agent->lease.conversation_id, "ObservationEvent", 0, &event);
    assert_non_null(strstr(event.text, "Use tabs."));
    assert_json_at(event.text, "extended_content[1].text", "\"mind the gap\"");
    assert_json_at(event.text, "extended_content[2]", NULL);
    assert_string_equal(
        json_string_value(json_array_get(
            json_object_get(agent->conversation.agent_state, AGENT_STATE_PATH_RULES), 0)),
        "c-files");
    claimed_agent_end(&claimed);
}

static void result_without_a_text_of_a_hook_has_no_such_member(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id =
        run_new_conversation(fixture, TURN(CALLS(COMMAND("ls")) ", " SAYS), AFTER(RUNS("none")));

    run_to_end(fixture, &id);
    assert_event_at(fixture, &id, "ObservationEvent", 0, "extended_content", NULL);
}

static void denial_after_a_call_changes_nothing(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = UUID_INIT;

    (void)deny(fixture);
    id = run_new_conversation(fixture, TURN(CALLS(THINK) ", " SAYS), AFTER(RUNS("deny")));
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(stats) Action(think) HookExecution(think) Observation(think) " SAID);
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "blocked", "false");
}

static void finish_and_a_tool_of_a_client_have_their_hooks(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct uuid id = run_new_conversation(
        fixture, TURN(CALLS(CALL("ask_user", "{}")) ", " CALLS(FINISH)),
        "{\"client_tools\": [{\"name\": \"ask_user\", \"description\": \"Asks.\","
        " \"parameters\": {\"type\": \"object\", \"properties\": {}}}],"
        " \"hook_config\": {" ON("post_tool_use", RUNS("add")) "}}");

    add(fixture);
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(stats) Action(ask_user) HookExecution(ask_user) Observation(ask_user)"
                         " S(stats) Action(finish) HookExecution(finish) Observation(finish)"
                         " S(finished)");
    assert_event_at(fixture, &id, "ObservationEvent", 0, "extended_content[0].text",
                    "\"mind the gap\"");
    assert_event_at(fixture, &id, "ObservationEvent", 1, "extended_content[0].text",
                    "\"mind the gap\"");
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 2);
}

/* There is nothing to tell it. */
static void call_without_a_result_asks_no_hook(void **state)
{
    struct run_fixture *fixture = *state;
    struct worker_settings *settings = &fixture->context.settings;
    int64_t timeout_ms = settings->tool_timeout_ms;
    size_t n_hooks = stub_n_hooks(fixture->stub);
    struct uuid id =
        run_new_conversation(fixture, TURN(CALLS(COMMAND("hold")) ", " SAYS), AFTER(RUNS("x")));

    settings->tool_timeout_ms = 500;
    run_to_end(fixture, &id);
    settings->tool_timeout_ms = timeout_ms;
    assert_int_equal(stub_n_hooks(fixture->stub), n_hooks);
    assert_log(fixture, &id, BEGINNING "S(stats) Action(terminal) AgentError(terminal) " SAID);
}

static void interrupt_while_a_hook_runs_keeps_the_result(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;

    hooks_begin(&run, fixture, TURN(CALLS(COMMAND("ls")) ", " SAYS), AFTER(RUNS("hold-after")));
    run_control_request(&run.control, STOP_INTERRUPT);
    background_run_join(&run);
    stub_release(fixture->stub);
    assert_log(fixture, &run.id,
               BEGINNING "S(stats) Action(terminal) Observation(terminal) S(paused) Interrupt");
    assert_row(fixture, &run.id, "paused/-/-");
}

/* A lost run stores nothing, and the next one asks for the hook by the same id. */
static void hook_of_a_lost_run_is_taken_over(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run first;
    struct background_run second;
    size_t n_hooks = stub_n_hooks(fixture->stub);
    size_t n_runs = stub_n_runs(fixture->stub);

    stub_answer_hook_text(fixture->stub, "hold-lost", 0, "{\"additionalContext\": \"kept\"}");
    hooks_begin(&first, fixture, TURN(CALLS(COMMAND("ls")) ", " SAYS), AFTER(RUNS("hold-lost")));
    run_control_request(&first.control, STOP_LOST);
    background_run_join(&first);
    assert_log(fixture, &first.id, BEGINNING "S(stats) Action(terminal)");
    run_expire_lease(&first.id);
    background_run_start(&second, fixture, &first.id);
    assert_true(stub_wait_for_hooks(fixture->stub, n_hooks + 2));
    stub_release(fixture->stub);
    background_run_join(&second);
    assert_int_equal(stub_n_hooks(fixture->stub), n_hooks + 2);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 2);
    assert_log(fixture, &first.id,
               BEGINNING "S(stats) Action(terminal) HookExecution(terminal) Observation(terminal)"
                         " " SAID);
    assert_event_at(fixture, &first.id, "ObservationEvent", 0, "extended_content[0].text",
                    "\"kept\"");
}

static void result_is_kept_without_a_sandbox_for_its_hook(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TURN(CALLS(THINK) ", " SAYS), AFTER(RUNS("x")));

    stub_refuse_start(fixture->stub, "no room");
    run_to_end(fixture, &id);
    stub_refuse_start(fixture->stub, NULL);
    assert_log(fixture, &id, BEGINNING "S(stats) Action(think) Observation(think) " SAID);
}

/* --- verdicts --- */

static void verdicts_begin_empty(void **state)
{
    CLEANUP(call_verdicts_done) struct call_verdicts verdicts = CALL_VERDICTS_INIT;
    struct uuid first = uuid_random();

    (void)state;
    call_verdicts_init(&verdicts, 3, &first);
    assert_int_equal(verdicts.n, 3);
    assert_string_equal(verdicts.items[0].action_id.text, first.text);
    assert_true(uuid_is_set(&verdicts.items[1].action_id));
    assert_string_not_equal(verdicts.items[1].action_id.text, first.text);
    assert_string_not_equal(verdicts.items[2].action_id.text, verdicts.items[1].action_id.text);
    for (size_t i = 0; i < verdicts.n; i++) {
        assert_false(verdicts.items[i].is_blocked);
        assert_int_equal(verdicts.items[i].events.n, 0);
        assert_int_equal(verdicts.items[i].reason.len, 0);
    }
}

int call_hooks_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocked_call_is_rejected_and_does_not_run),
        cmocka_unit_test(block_without_a_reason_has_one),
        cmocka_unit_test(call_that_no_hook_blocks_runs),
        cmocka_unit_test(each_valid_call_of_an_answer_has_its_own_verdict),
        cmocka_unit_test(hooks_of_an_answer_that_print_too_much_end_the_run),
        cmocka_unit_test(invalid_call_asks_no_hook),
        cmocka_unit_test(blocked_finish_does_not_end_the_run),
        cmocka_unit_test(message_while_a_hook_runs_keeps_its_verdict),
        cmocka_unit_test(interrupt_while_a_hook_runs_loses_the_answer),
        cmocka_unit_test(pause_lets_a_hook_and_its_call_end),
        cmocka_unit_test(calls_without_a_sandbox_for_their_hooks_end_the_run),
        cmocka_unit_test(policy_is_asked_about_the_other_calls_only),
        cmocka_unit_test(hook_sees_no_secret_of_a_call),
        cmocka_unit_test(text_of_a_hook_comes_with_the_result),
        cmocka_unit_test(text_of_a_hook_comes_after_the_rules_for_a_file),
        cmocka_unit_test(large_result_is_stored_without_the_text_of_a_hook),
        cmocka_unit_test(result_without_a_text_of_a_hook_has_no_such_member),
        cmocka_unit_test(denial_after_a_call_changes_nothing),
        cmocka_unit_test(finish_and_a_tool_of_a_client_have_their_hooks),
        cmocka_unit_test(call_without_a_result_asks_no_hook),
        cmocka_unit_test(interrupt_while_a_hook_runs_keeps_the_result),
        cmocka_unit_test(hook_of_a_lost_run_is_taken_over),
        cmocka_unit_test(result_is_kept_without_a_sandbox_for_its_hook),
        cmocka_unit_test(verdicts_begin_empty),
    };

    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}
