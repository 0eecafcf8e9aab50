/*
 * Hooks before the end of a run.
 */
#include "worker/agent/run_hooks.h"

#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"
#include "worker/agent/core/agent.h"
#include "worker/hooks/hooks_test.h"

#define STOP(hooks) HOOKS(ON("stop", hooks))
/* Many answers, of which a run takes as many as its hooks make it. */
#define TALK TURN(SAYS ", " SAYS ", " SAYS ", " SAYS)
#define REFUSED SAID " HookExecution Message(environment) S(running) "

static void hook_that_allows_it_ends_the_run(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct uuid id = run_new_conversation(fixture, TALK, STOP(RUNS("fine")));

    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING SAID " HookExecution");
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_event_type", "\"Stop\"");
    assert_row(fixture, &id, "finished/-/-");
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 1);
}

struct feedback {
    const char *answer;
    const char *words; /* as JSON; NULL: no message */
};

/* Refuses the first end of a run with two iterations: in the last one it is not asked. */
static void hook_that_refuses_it_continues_the_run(void **state)
{
    static const struct feedback table[] = {
        {"{\"exit_code\": 2, \"stderr\": \"test it\"}", "\"[Stop hook feedback] test it\""},
        {"{\"stdout\": \"{\\\"decision\\\": \\\"deny\\\", \\\"additionalContext\\\": "
         "\\\"more\\\"}\"}",
         "\"[Stop hook feedback] more\""},
        {"{\"stdout\": \"{\\\"decision\\\": \\\"deny\\\", \\\"reason\\\": \\\"why\\\","
         " \\\"additionalContext\\\": \\\"more\\\"}\"}",
         "\"[Stop hook feedback] why\\nmore\""},
        {"{\"exit_code\": 2}", NULL},
    };
    struct run_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
        struct uuid id = run_new_conversation(
            fixture, TALK,
            "{\"max_iterations\": 2, \"hook_config\": {" ON("stop", RUNS("refuse")) "}}");

        stub_answer_hook(fixture->stub, "refuse", table[i].answer);
        run_to_end(fixture, &id);
        assert_log(fixture, &id,
                   table[i].words != NULL ? BEGINNING REFUSED SAID
                                          : BEGINNING SAID " HookExecution S(running) " SAID);
        if (table[i].words != NULL) {
            assert_event_at(fixture, &id, "MessageEvent", 2, "llm_message.content[0].text",
                            table[i].words);
            assert_event_at(fixture, &id, "MessageEvent", 2, "llm_message.role", "\"user\"");
        }
        assert_event_at(fixture, &id, "HookExecutionEvent", 0, "blocked", "true");
        assert_row(fixture, &id, "finished/-/-");
        assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 1);
    }
}

static void finish_asks_the_hook_but_not_in_the_last_iteration(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(
        fixture,
        "{\"turns\": [{\"steps\": [" CALLS(FINISH) "]}, {\"steps\": [" CALLS(FINISH) "]}]}",
        "{\"max_iterations\": 2, \"hook_config\": {" ON("stop", RUNS("refuse-finish")) "}}");

    stub_answer_hook(fixture->stub, "refuse-finish", "{\"exit_code\": 2, \"stderr\": \"no\"}");
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(stats) Action(finish) Observation(finish) S(finished) HookExecution"
                         " Message(environment) S(running) S(stats) Action(finish)"
                         " Observation(finish) S(finished)");
    assert_row(fixture, &id, "finished/-/-");
}

static void message_while_the_hook_runs_is_answered(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;

    hooks_begin(&run, fixture, TALK, STOP(RUNS("hold-end")));
    assert_row(fixture, &run.id, "finished/wanted/leased");
    run_say(fixture, &run.id, "one more");
    stub_answer_hook(fixture->stub, "hold-end", "{}");
    stub_release(fixture->stub);
    assert_true(stub_wait_for_hooks(fixture->stub, stub_n_hooks(fixture->stub) + 1));
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_row(fixture, &run.id, "finished/-/-");
    assert_log(fixture, &run.id,
               BEGINNING SAID " S(idle) " SPOKEN "S(running) " SAID " HookExecution");
}

/* As one that comes during a model's last answer. */
static void message_without_a_run_while_the_hook_runs_is_answered_too(void **state)
{
    struct run_fixture *fixture = *state;
    struct conversation_scope scope = {.user_id = fixture->user_id};
    json_auto_t *content = json_array();
    const struct user_message message = {
        .catalogue = fixture->context.catalogue, .content = content, .run = MESSAGE_ONLY};
    struct background_run run;
    struct error err = ERROR_INIT;

    json_push(content, text_content("by the way"));
    hooks_begin(&run, fixture, TALK, STOP(RUNS("hold-only")));
    if (conversation_post_message(fixture->context.db, &scope, &run.id, &message, &err) < 0)
        fail_msg("%s", err.message);
    stub_release(fixture->stub);
    assert_true(stub_wait_for_hooks(fixture->stub, stub_n_hooks(fixture->stub) + 1));
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_row(fixture, &run.id, "finished/-/-");
    assert_log(fixture, &run.id,
               BEGINNING SAID " S(idle) " SPOKEN "S(running) " SAID " HookExecution");
}

/* A summary by another writer that comes after the first answer. */
static void condense(struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    json_auto_t *forgotten = json_array();
    struct error err = ERROR_INIT;

    event_add_condensation(&events, &(struct condensation_parts){.forgotten = forgotten,
                                                                 .summary = "it was short",
                                                                 .offset = 1,
                                                                 .llm_response_id = "sum"});
    if (conversation_store_load_any(fixture->context.db, id, &conversation, &err) < 0 ||
        conversation_store_write(fixture->context.db, &conversation, &events, &write, &err) < 0)
        fail_msg("%s", err.message);
}

/* The status before a Condensation is all that tells what the hook is about. */
static void end_is_known_after_a_condensation(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub) + 1;
    struct background_run run;

    hooks_begin(&run, fixture, TALK, STOP(RUNS("hold-condense")));
    condense(fixture, &run.id);
    stub_answer_hook(fixture->stub, "hold-condense", "{\"exit_code\": 2, \"stderr\": \"no\"}");
    stub_release(fixture->stub);
    assert_true(stub_wait_for_runs(fixture->stub, n_runs + 1));
    assert_log(fixture, &run.id,
               BEGINNING SAID " Condensation HookExecution Message(environment) S(running) " SAID);
    stub_answer_hook(fixture->stub, "hold-condense", "{}");
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_row(fixture, &run.id, "finished/-/-");
}

static void run_after_a_condensation_asks_again(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TALK, STOP(RUNS("fine-condensed")));

    run_to_end(fixture, &id);
    condense(fixture, &id);
    run_again(fixture, &id);
    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING SAID " HookExecution Condensation HookExecution");
    run_again(fixture, &id);
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING SAID " HookExecution Condensation HookExecution HookExecution");
    assert_row(fixture, &id, "finished/-/-");
}

/* The model has not been asked in this run, and its hook is not asked again. */
static void other_event_while_the_hook_runs_changes_nothing(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TALK, STOP(RUNS("hold-twice")));
    size_t n_hooks = stub_n_hooks(fixture->stub);
    struct background_run run;

    for (size_t i = 1; i <= 2; i++) {
        background_run_start(&run, fixture, &id);
        assert_true(stub_wait_for_hooks(fixture->stub, n_hooks + i));
        condense(fixture, &id);
        stub_release(fixture->stub);
        background_run_join(&run);
        assert_int_equal(stub_n_hooks(fixture->stub), n_hooks + i);
        run_again(fixture, &id);
    }
    background_run_start(&run, fixture, &id);
    assert_true(stub_wait_for_hooks(fixture->stub, n_hooks + 3));
    stub_release(fixture->stub);
    background_run_join(&run);
}

static void message_before_a_condensation_is_answered(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub) + 1;
    struct background_run run;

    hooks_begin(&run, fixture, TALK, STOP(RUNS("hold-said")));
    run_say(fixture, &run.id, "one more");
    condense(fixture, &run.id);
    stub_release(fixture->stub);
    assert_true(stub_wait_for_runs(fixture->stub, n_runs + 1));
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_log(fixture, &run.id,
               BEGINNING SAID " S(idle) " SPOKEN "S(running) Condensation " SAID " HookExecution");
}

/* It ends the run, and the hook was asked once for each end. */
static void run_of_a_finished_conversation_asks_again(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct uuid id = run_new_conversation(fixture, TALK, STOP(RUNS("fine-again")));

    run_to_end(fixture, &id);
    for (size_t i = 2; i <= 3; i++) {
        run_again(fixture, &id);
        run_to_end(fixture, &id);
        assert_row(fixture, &id, "finished/-/-");
        assert_int_equal(stub_n_runs(fixture->stub), n_runs + i);
    }
    assert_log(fixture, &id, BEGINNING SAID " HookExecution HookExecution HookExecution");
}

static void finished_conversation_can_be_refused_its_end_later(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(
        fixture, TALK, "{\"max_iterations\": 2, \"hook_config\": {" ON("stop", RUNS("later")) "}}");

    stub_answer_hook(fixture->stub, "later", "{}");
    run_to_end(fixture, &id);
    stub_answer_hook(fixture->stub, "later", "{\"exit_code\": 2, \"stderr\": \"not yet\"}");
    run_again(fixture, &id);
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING SAID " HookExecution HookExecution Message(environment) S(running) " SAID);
    assert_row(fixture, &id, "finished/-/-");
}

static void interrupt_while_the_hook_runs_pauses(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;

    hooks_begin(&run, fixture, TALK, STOP(RUNS("hold-cut-end")));
    run_control_request(&run.control, STOP_INTERRUPT);
    background_run_join(&run);
    stub_release(fixture->stub);
    assert_log(fixture, &run.id, BEGINNING SAID " S(paused) Interrupt");
    assert_row(fixture, &run.id, "paused/-/-");
}

static void hook_of_a_lost_run_is_taken_over(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run first;
    struct background_run second;
    size_t n_runs = stub_n_runs(fixture->stub) + 1;
    size_t n_hooks = stub_n_hooks(fixture->stub) + 2;

    hooks_begin(&first, fixture, TALK, STOP(RUNS("hold-take-over")));
    run_control_request(&first.control, STOP_LOST);
    background_run_join(&first);
    run_expire_lease(&first.id);
    background_run_start(&second, fixture, &first.id);
    assert_true(stub_wait_for_hooks(fixture->stub, n_hooks));
    stub_release(fixture->stub);
    background_run_join(&second);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_log(fixture, &first.id, BEGINNING SAID " HookExecution");
    assert_row(fixture, &first.id, "finished/-/-");
}

/* Both wait for the hook, and only the second may store what came of it. */
static void overtaken_run_ends_without_a_word(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run first;
    struct background_run second;
    size_t n_hooks = stub_n_hooks(fixture->stub) + 2;

    hooks_begin(&first, fixture, TALK, STOP(RUNS("hold-overtaken")));
    run_expire_lease(&first.id);
    background_run_start(&second, fixture, &first.id);
    assert_true(stub_wait_for_hooks(fixture->stub, n_hooks));
    stub_release(fixture->stub);
    background_run_join(&first);
    background_run_join(&second);
    assert_log(fixture, &first.id, BEGINNING SAID " HookExecution");
    assert_row(fixture, &first.id, "finished/-/-");
}

/* The answer has been stored: it only is not known whether more was to be done. */
static void end_without_a_sandbox_for_its_hook_is_an_error(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TALK, STOP(RUNS("x")));

    stub_refuse_start(fixture->stub, "no room");
    run_to_end(fixture, &id);
    stub_refuse_start(fixture->stub, NULL);
    assert_log(fixture, &id, BEGINNING SAID " S(error) ConversationError");
    assert_row(fixture, &id, "error/-/-");
}

static void conversation_has_a_sandbox_for_its_hooks_alone(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_starts = stub_n_starts(fixture->stub);
    struct uuid id = run_new_conversation(fixture, TALK,
                                          "{\"agent\": {\"tools\": [{\"name\": \"task_tracker\"}]},"
                                          " \"hook_config\": {" ON("stop", RUNS("x")) "}}");

    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING SAID " HookExecution");
    assert_true(stub_n_starts(fixture->stub) > n_starts);
}

static void conversation_without_tools_and_hooks_has_no_sandbox(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_starts = stub_n_starts(fixture->stub);
    struct uuid id = run_new_conversation(fixture, TALK,
                                          "{\"agent\": {\"tools\": [{\"name\": \"task_tracker\"}]},"
                                          " \"hook_config\": {\"stop\": []}}");

    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING SAID);
    assert_int_equal(stub_n_starts(fixture->stub), n_starts);
}

static void end_without_hooks_is_one_write(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_hooks = stub_n_hooks(fixture->stub);
    struct uuid id = run_new_conversation(fixture, TALK, HOOKS(ON("session_end", RUNS("x"))));

    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING SAID);
    assert_int_equal(stub_n_hooks(fixture->stub), n_hooks);
    assert_row(fixture, &id, "finished/-/-");
}

int stop_hooks_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hook_that_allows_it_ends_the_run),
        cmocka_unit_test(hook_that_refuses_it_continues_the_run),
        cmocka_unit_test(finish_asks_the_hook_but_not_in_the_last_iteration),
        cmocka_unit_test(message_while_the_hook_runs_is_answered),
        cmocka_unit_test(message_without_a_run_while_the_hook_runs_is_answered_too),
        cmocka_unit_test(end_is_known_after_a_condensation),
        cmocka_unit_test(run_after_a_condensation_asks_again),
        cmocka_unit_test(other_event_while_the_hook_runs_changes_nothing),
        cmocka_unit_test(message_before_a_condensation_is_answered),
        cmocka_unit_test(run_of_a_finished_conversation_asks_again),
        cmocka_unit_test(finished_conversation_can_be_refused_its_end_later),
        cmocka_unit_test(interrupt_while_the_hook_runs_pauses),
        cmocka_unit_test(hook_of_a_lost_run_is_taken_over),
        cmocka_unit_test(overtaken_run_ends_without_a_word),
        cmocka_unit_test(end_without_a_sandbox_for_its_hook_is_an_error),
        cmocka_unit_test(conversation_has_a_sandbox_for_its_hooks_alone),
        cmocka_unit_test(conversation_without_tools_and_hooks_has_no_sandbox),
        cmocka_unit_test(end_without_hooks_is_one_write),
    };

    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}
