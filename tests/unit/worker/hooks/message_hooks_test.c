/*
 * Hooks at the start of a conversation and for the user's messages.
 */
#include "worker/agent/run_hooks.h"

#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/hooks/hooks_test.h"

#define PROMPT(hooks) HOOKS(ON("user_prompt_submit", hooks))

/* A step's hooks; true if something was stored. */
static bool begin(struct agent *agent)
{
    struct error err = ERROR_INIT;
    bool is_settled = false;

    if (run_hooks_begin(agent, &is_settled, &err) < 0)
        fail_msg("%s", err.message);
    return is_settled;
}

static void deny(struct run_fixture *fixture, const char *command)
{
    stub_answer_hook(fixture->stub, command, "{\"exit_code\": 2, \"stderr\": \"no\"}");
}

/* --- the start --- */

static void session_begins_once(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_hooks = stub_n_hooks(fixture->stub);
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct uuid id = run_new_conversation(fixture, TURN("{\"status\": 401, \"error\": \"no\"}"),
                                          HOOKS(ON("session_start", RUNS("begin"))));

    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING "HookExecution S(error) ConversationError");
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 1);
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_event_type", "\"SessionStart\"");
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_input", "{}");
    /* The model has not answered yet. */
    run_again(fixture, &id);
    run_to_end(fixture, &id);
    assert_int_equal(stub_n_hooks(fixture->stub), n_hooks + 1);
}

static void session_with_an_answer_has_begun(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(
        fixture, "{\"turns\": [{\"steps\": [" SAYS "]}, {\"steps\": [" SAYS "]}]}", "{}");
    struct claimed_agent claimed;

    run_to_end(fixture, &id);
    run_say(fixture, &id, "more");
    claimed_agent_begin(&claimed, fixture, &id);
    json_put(claimed.agent.conversation.spec, "hook_config",
             json_loads("{" ON("session_start", RUNS("x")) "}", 0, NULL));
    assert_false(begin(&claimed.agent));
    claimed_agent_end(&claimed);
}

static void denial_does_not_end_a_session(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id =
        run_new_conversation(fixture, TURN(SAYS), HOOKS(ON("session_start", RUNS("deny-begin"))));

    deny(fixture, "deny-begin");
    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING "HookExecution " SAID);
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "blocked", "false");
}

/* --- messages --- */

static void each_message_has_its_hook_once(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_hooks = stub_n_hooks(fixture->stub);
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct uuid id = run_new_conversation(
        fixture,
        "{\"turns\": [{\"steps\": [" CALLS(COMMAND("ls")) ", " SAYS "]}, {\"steps\": [" SAYS "]}]}",
        PROMPT(RUNS("first") ", " RUNS("second")));

    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "HookExecution HookExecution S(stats) Action(terminal)"
                         " Observation(terminal) " SAID);
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 3);
    run_say(fixture, &id, "more");
    run_to_end(fixture, &id);
    assert_int_equal(stub_n_hooks(fixture->stub), n_hooks + 4);
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_input.message", "\"go\"");
    assert_event_at(fixture, &id, "HookExecutionEvent", 2, "hook_input.message", "\"more\"");
}

static void hook_names_its_message(void **state)
{
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TURN(SAYS), PROMPT(RUNS("x")));
    json_auto_t *json = NULL;

    run_to_end(fixture, &id);
    hooks_event(fixture, &id, "MessageEvent", 0, &message);
    json = json_loads(message.text, 0, NULL);
    strbuf_appendf(&expected, "\"%s\"", json_text_or(json, "id", ""));
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "message_id", expected.text);
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "action_id", NULL);
}

static void parts_of_a_message_are_lines_for_its_hook(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(
        fixture, TURN(SAYS),
        "{\"initial_message\": {\"role\": \"user\", \"content\": ["
        "{\"type\": \"text\", \"text\": \"one\"}, {\"type\": \"text\", \"text\": \"\"},"
        " {\"type\": \"text\", \"text\": \"two\"}]}, \"hook_config\": {" ON("user_prompt_submit",
                                                                            RUNS("x")) "}}");

    run_to_end(fixture, &id);
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_input.message", "\"one\\ntwo\"");
}

static void blocked_message_ends_the_run_without_a_model(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(
        fixture, TURN(SAYS),
        HOOKS(ON("user_prompt_submit", RUNS("deny-message")) ", " ON("stop", RUNS("not-asked"))));

    deny(fixture, "deny-message");
    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING "HookExecution S(finished)");
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "blocked", "true");
    assert_row(fixture, &id, "finished/-/-");
    stub_answer_hook(fixture->stub, "deny-message", "{}");
    run_say(fixture, &id, "please");
    run_to_end(fixture, &id);
    assert_row(fixture, &id, "finished/-/-");
    assert_event_at(fixture, &id, "HookExecutionEvent", 1, "hook_input.message", "\"please\"");
}

/* Queued ones have their hooks one after the other, and only the newest one can be stopped. */
static void block_of_an_earlier_message_does_not_end_the_run(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TURN(SAYS), PROMPT(RUNS("deny-earlier")));
    struct claimed_agent claimed;

    run_say(fixture, &id, "and this");
    deny(fixture, "deny-earlier");
    claimed_agent_begin(&claimed, fixture, &id);
    assert_true(begin(&claimed.agent));
    assert_false(claimed.agent.is_over);
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_input.message", "\"go\"");
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "blocked", "true");
    assert_row(fixture, &id, "running/wanted/leased");
    assert_true(begin(&claimed.agent));
    assert_true(claimed.agent.is_over);
    assert_event_at(fixture, &id, "HookExecutionEvent", 1, "hook_input.message", "\"and this\"");
    assert_row(fixture, &id, "finished/-/-");
    claimed_agent_end(&claimed);
}

static void messages_without_new_ones_have_no_more_hooks(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TURN(SAYS), PROMPT(RUNS("x")));
    struct claimed_agent claimed;

    claimed_agent_begin(&claimed, fixture, &id);
    assert_true(begin(&claimed.agent));
    assert_false(begin(&claimed.agent));
    claimed_agent_end(&claimed);
}

/* The last one of them is the last event that was copied. */
static void first_message_after_the_copied_ones_has_its_hook(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TURN(SAYS), PROMPT(RUNS("x")));
    struct claimed_agent claimed;
    json_t *origin = json_object();

    claimed_agent_begin(&claimed, fixture, &id);
    json_put(origin, "n_events", json_integer(1));
    json_put(claimed.agent.conversation.spec, "forked_from", origin);
    assert_true(begin(&claimed.agent));
    claimed_agent_end(&claimed);
}

/* As in a fork: they had their hooks in their source. */
static void copied_messages_have_no_hooks(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TURN(SAYS), PROMPT(RUNS("x")));
    struct claimed_agent claimed;
    json_t *origin = json_object();
    struct error err = ERROR_INIT;

    claimed_agent_begin(&claimed, fixture, &id);
    json_put(origin, "n_events", json_integer(2));
    json_put(claimed.agent.conversation.spec, "forked_from", origin);
    assert_false(begin(&claimed.agent));
    run_say(fixture, &id, "new");
    if (event_writer_load(&claimed.agent, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(begin(&claimed.agent));
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_input.message", "\"new\"");
    assert_false(begin(&claimed.agent));
    claimed_agent_end(&claimed);
}

static void next_worker_knows_which_messages_had_their_hooks(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_hooks = stub_n_hooks(fixture->stub);
    struct uuid id = run_new_conversation(
        fixture, TURN(SAYS),
        HOOKS(ON("user_prompt_submit", RUNS("x")) ", " ON("session_start", RUNS("y"))));
    struct claimed_agent claimed;

    claimed_agent_begin(&claimed, fixture, &id);
    assert_true(begin(&claimed.agent));
    assert_true(begin(&claimed.agent));
    assert_false(begin(&claimed.agent));
    agent_done(&claimed.agent);
    run_control_done(&claimed.control);
    run_expire_lease(&id);
    run_to_end(fixture, &id);
    assert_int_equal(stub_n_hooks(fixture->stub), n_hooks + 2);
    assert_log(fixture, &id, BEGINNING "HookExecution HookExecution " SAID);
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_event_type", "\"SessionStart\"");
}

/* The newer message cannot be lost with the blocked one, whose hook is not run again. */
static void message_while_a_hook_blocks_another_is_heard(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;
    size_t n_runs = stub_n_runs(fixture->stub);

    stub_answer_hook(fixture->stub, "hold-block", "{\"exit_code\": 2}");
    hooks_begin(&run, fixture, TURN(SAYS), PROMPT(RUNS("hold-block")));
    run_say(fixture, &run.id, "listen");
    stub_answer_hook(fixture->stub, "hold-block", "{\"exit_code\": 2}");
    stub_release(fixture->stub);
    assert_true(stub_wait_for_runs(fixture->stub, n_runs + 2));
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 2);
    assert_log(fixture, &run.id, BEGINNING SPOKEN "HookExecution HookExecution S(finished)");
    assert_event_at(fixture, &run.id, "HookExecutionEvent", 0, "hook_input.message", "\"go\"");
    assert_event_at(fixture, &run.id, "HookExecutionEvent", 1, "hook_input.message", "\"listen\"");
    assert_row(fixture, &run.id, "finished/-/-");
}

/* An event that another writer stores meanwhile, other than a message of the user. */
static void note_something(struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    (void)event_add_environment_message(&events, "by the way");
    if (conversation_store_load_any(fixture->context.db, id, &conversation, &err) < 0 ||
        conversation_store_write(fixture->context.db, &conversation, &events, &write, &err) < 0)
        fail_msg("%s", err.message);
}

/* The model has not been asked in this run, and its hook is not asked again. */
static void other_event_while_a_hook_runs_changes_nothing(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_hooks = stub_n_hooks(fixture->stub) + 1;
    struct background_run run;

    hooks_begin(&run, fixture, TURN(SAYS), PROMPT(RUNS("hold-other")));
    note_something(fixture, &run.id);
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_int_equal(stub_n_hooks(fixture->stub), n_hooks);
    assert_log(fixture, &run.id, BEGINNING "Message(environment) HookExecution " SAID);
}

static void interrupt_while_a_hook_runs_ends_the_run(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;

    hooks_begin(&run, fixture, TURN(SAYS), PROMPT(RUNS("hold-prompt")));
    run_control_request(&run.control, STOP_INTERRUPT);
    background_run_join(&run);
    assert_log(fixture, &run.id, BEGINNING "S(paused) Interrupt");
    stub_release(fixture->stub);
    /* The message still is without its hook. */
    run_again(fixture, &run.id);
    run_to_end(fixture, &run.id);
    assert_log(fixture, &run.id, BEGINNING "S(paused) Interrupt S(running) HookExecution " SAID);
}

/* Whether the hook ran to its end is unknown; it is not run again. */
static void hook_of_a_sandbox_that_is_gone_is_told(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;

    hooks_begin(&run, fixture, TURN(SAYS), PROMPT(RUNS("hold-gone")));
    stub_replace_sandbox(fixture->stub);
    stub_hang(fixture->stub);
    background_run_join(&run);
    stub_release(fixture->stub);
    assert_log(fixture, &run.id, BEGINNING "HookExecution " SAID);
    assert_event_at(fixture, &run.id, "HookExecutionEvent", 0, "error",
                    "\"another sandbox replaced this one\"");
}

static void hooks_do_not_hide_that_an_agent_repeats_itself(void **state)
{
#define AGAIN CALLS(COMMAND("same"))
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(
        fixture,
        TURN(AGAIN ", " AGAIN ", " AGAIN ", " AGAIN ", " AGAIN ", " AGAIN ", " AGAIN ", " AGAIN),
        HOOKS(ON("user_prompt_submit", RUNS("x")) ", " ON("post_tool_use", RUNS("y"))));

    run_to_end(fixture, &id);
    assert_row(fixture, &id, "stuck/-/-");
}

/* It is a message with a hook, too. */
static void model_is_asked_once_to_rephrase(void **state)
{
#define REFUSES "{\"status\": 400, \"error\": \"content_filter\"}"
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture,
                                          "{\"turns\": [{\"steps\": [" REFUSES ", " REFUSES
                                          "]}, {\"steps\": [" REFUSES ", " REFUSES "]}]}",
                                          PROMPT(RUNS("x")));

    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "HookExecution Message(user) HookExecution S(error) ConversationError");
    assert_row(fixture, &id, "error/-/-");
}

static void run_without_a_sandbox_for_its_hooks_ends_in_error(void **state)
{
    static const char *const configs[] = {PROMPT(RUNS("x")), HOOKS(ON("session_start", RUNS("x")))};
    struct run_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
        struct uuid id = run_new_conversation(fixture, TURN(SAYS), configs[i]);

        stub_refuse_start(fixture->stub, "no room");
        run_to_end(fixture, &id);
        stub_refuse_start(fixture->stub, NULL);
        assert_log(fixture, &id, BEGINNING "S(error) ConversationError");
        assert_event_at(fixture, &id, "ConversationErrorEvent", 0, "code", "\"RuntimeError\"");
        hooks_event(fixture, &id, "ConversationErrorEvent", 0, &event);
        assert_non_null(strstr(event.text, "no room"));
        assert_row(fixture, &id, "error/-/-");
    }
}

int message_hooks_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session_begins_once),
        cmocka_unit_test(session_with_an_answer_has_begun),
        cmocka_unit_test(denial_does_not_end_a_session),
        cmocka_unit_test(each_message_has_its_hook_once),
        cmocka_unit_test(hook_names_its_message),
        cmocka_unit_test(parts_of_a_message_are_lines_for_its_hook),
        cmocka_unit_test(blocked_message_ends_the_run_without_a_model),
        cmocka_unit_test(block_of_an_earlier_message_does_not_end_the_run),
        cmocka_unit_test(messages_without_new_ones_have_no_more_hooks),
        cmocka_unit_test(copied_messages_have_no_hooks),
        cmocka_unit_test(first_message_after_the_copied_ones_has_its_hook),
        cmocka_unit_test(next_worker_knows_which_messages_had_their_hooks),
        cmocka_unit_test(message_while_a_hook_blocks_another_is_heard),
        cmocka_unit_test(other_event_while_a_hook_runs_changes_nothing),
        cmocka_unit_test(interrupt_while_a_hook_runs_ends_the_run),
        cmocka_unit_test(hook_of_a_sandbox_that_is_gone_is_told),
        cmocka_unit_test(hooks_do_not_hide_that_an_agent_repeats_itself),
        cmocka_unit_test(model_is_asked_once_to_rephrase),
        cmocka_unit_test(run_without_a_sandbox_for_its_hooks_ends_in_error),
    };

    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}
