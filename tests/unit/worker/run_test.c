/*
 * Whole runs of a conversation: what they store, in which order, and what becomes of them when they
 * are stopped, overtaken, or cut off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/llm/condense.h"
#include "worker/run_fixture.h"
#include "worker/stub_sandbox.h"

#define BEGINNING "SystemPrompt Message(user) S(last_user_message_id) S(running) "
#define CALL(name, arguments) "{\"name\": \"" name "\", \"arguments\": " arguments "}"
#define COMMAND(command) CALL("terminal", "{\"command\": \"" command "\"}")
#define FINISH CALL("finish", "{\"message\": \"done\"}")
#define TURN(steps) "{\"turns\": [{\"steps\": [" steps "]}]}"
#define CALLS(calls) "{\"calls\": [" calls "]}"
#define SAYS(text) "{\"text\": \"" text "\"}"
/* Far less than what is cut short would take. */
#define AT_ONCE_MS 15000

/*
 * A run of a new conversation, up to where its first command runs. Returns how many commands were
 * begun by then.
 */
static size_t begin_command(struct background_run *run, struct run_fixture *fixture,
                            const char *script)
{
    size_t n_runs = stub_n_runs(fixture->stub) + 1;
    struct uuid id = run_new_conversation(fixture, script, "{}");

    background_run_start(run, fixture, &id);
    assert_true(stub_wait_for_runs(fixture->stub, n_runs));
    return n_runs;
}

/* As when its worker dies, or loses its lease. */
static void lose(struct background_run *run)
{
    run_control_request(&run->control, STOP_LOST);
    background_run_join(run);
    run_expire_lease(&run->id);
}

/* Has its own model make summaries. */
static void add_condenser(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET spec = jsonb_set(spec::jsonb, '{agent,condenser}',"
                   " jsonb_build_object('kind', 'LLMSummarizingCondenser', 'keep_first', 1,"
                   "  'max_size', 240, 'llm', spec::jsonb #> '{agent,llm}'))::text"
                   " WHERE id = '%s'",
                   id->text);
    test_sql(sql.text);
}

/* Leaves a run as a worker does that dies after the model found the view too long. */
static void die_before_the_condensation(struct run_fixture *fixture, const struct uuid *id)
{
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    claimed_agent_begin(&claimed, fixture, id);
    assert_int_equal(condense_request(&claimed.agent, &err), 0);
    agent_done(&claimed.agent);
    run_control_done(&claimed.control);
    run_expire_lease(id);
}

static void view_that_is_too_long_is_not_sent_by_the_next_worker(void **state)
{
    struct uuid id = run_new_conversation(*state, TURN(SAYS("hello")), "{}");

    add_condenser(&id);
    die_before_the_condensation(*state, &id);
    run_to_end(*state, &id);
    assert_log(*state, &id,
               BEGINNING "CondensationRequest S(stats) Condensation S(stats) Message(agent) "
                         "S(finished)");
}

static void words_finish_the_run(void **state)
{
    struct uuid id = run_new_conversation(*state, TURN(SAYS("hello")), "{}");

    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING "S(stats) Message(agent) S(finished)");
    assert_row(*state, &id, "finished/-/-");
}

static void title_is_the_first_message(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct uuid id = run_new_conversation(*state, TURN(SAYS("hello")), "{}");

    run_to_end(*state, &id);
    strbuf_appendf(&sql, "SELECT count(*) FROM conversations WHERE id = '%s' AND title = 'go'",
                   id.text);
    assert_int_equal(test_sql_count(sql.text), 1);
}

static void tools_run_in_order(void **state)
{
    struct uuid id = run_new_conversation(
        *state,
        TURN(CALLS(COMMAND("one") ", " CALL(
            "task_tracker",
            "{\"command\": \"plan\", \"task_list\":"
            " [{\"title\": \"a\", \"status\": \"done\"}]}")) ", " CALLS(CALL("think",
                                                                             "{\"thought\": "
                                                                             "\"hm\"}")) ", " CALLS(FINISH)),
        "{}");

    run_to_end(*state, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(terminal) Action(task_tracker) Observation(terminal)"
                         " Observation(task_tracker) S(stats) Action(think) Observation(think)"
                         " S(stats) Action(finish) Observation(finish) S(finished)");
    assert_row(*state, &id, "finished/-/-");
}

static void unknown_members_of_a_result_are_dropped(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct uuid id = run_new_conversation(*state, TURN(CALLS(COMMAND("x")) ", " SAYS("b")), "{}");

    run_to_end(*state, &id);
    run_last_event(*state, &id, "ObservationEvent", &event);
    assert_null(strstr(event.text, "evil_member"));
    assert_json_at(event.text, "observation.metadata.working_dir", "\"/workspace/project\"");
}

static void bad_calls_are_answered_beside_the_good_ones(void **state)
{
    struct uuid id =
        run_new_conversation(*state,
                             TURN(CALLS(COMMAND("one") ", " CALL(
                                 "nosuch", "{\"x\": 1}") ", " COMMAND("two")) ", " SAYS("bye")),
                             "{}");

    run_to_end(*state, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(terminal) Action(nosuch) AgentError(nosuch)"
                         " Action(terminal) Observation(terminal) Observation(terminal)"
                         " S(stats) Message(agent) S(finished)");
}

static void call_without_a_name_is_answered(void **state)
{
    struct uuid id =
        run_new_conversation(*state, TURN(CALLS(CALL("", "{\"x\": 1}")) ", " SAYS("bye")), "{}");

    run_to_end(*state, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action() AgentError() S(stats) Message(agent) S(finished)");
    assert_row(*state, &id, "finished/-/-");
}

/* A script whose only call writes a file that has the piece, as JSON has it, n times. */
static void append_writing(struct strbuf *script, const char *piece, size_t n)
{
    strbuf_append(script, "{\"turns\": [{\"steps\": [{\"calls\": [{\"name\": \"file_editor\","
                          " \"arguments\": {\"command\": \"create\", \"path\": \"/tmp/x\","
                          " \"file_text\": \"");
    for (size_t i = 0; i < n; i++)
        strbuf_append(script, piece);
    strbuf_append(script, "\"}}]}, " SAYS("bye") "]}]}");
}

static struct uuid run_large_call(void **state, const char *piece, size_t n)
{
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf told = STRBUF_INIT;
    struct uuid id = UUID_INIT;

    append_writing(&script, piece, n);
    id = run_new_conversation(*state, script.text, "{}");
    run_to_end(*state, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(file_editor) AgentError(file_editor)"
                         " S(stats) Message(agent) S(finished)");
    run_last_event(*state, &id, "AgentErrorEvent", &told);
    assert_non_null(strstr(told.text, "too large to keep"));
    assert_row(*state, &id, "finished/-/-");
    return id;
}

static void call_that_no_event_holds_is_told_in_words(void **state)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf cut = STRBUF_INIT;
    struct uuid id = run_large_call(state, "x", 600000);

    run_last_event(*state, &id, "ActionEvent", &whole);
    assert_true(whole.len > 600000); /* what the model wrote stays, once */
    id = run_large_call(state, "\\n", 440000);
    run_last_event(*state, &id, "ActionEvent", &cut);
    assert_json_at(cut.text, "tool_call.arguments", "\"{}\"");
}

static void calls_behind_finish_do_not_run(void **state)
{
    struct uuid id = run_new_conversation(*state, TURN(CALLS(FINISH ", " COMMAND("late"))), "{}");
    struct run_fixture *fixture = *state;
    size_t n_before = stub_n_runs(fixture->stub);

    run_to_end(*state, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(finish) Action(terminal) Observation(finish)"
                         " AgentError(terminal) S(finished)");
    assert_int_equal(stub_n_runs(fixture->stub), n_before);
}

static void refused_key_ends_the_run_in_error(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct uuid id =
        run_new_conversation(*state, TURN("{\"status\": 401, \"error\": \"no such key\"}"), "{}");

    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING "S(error) ConversationError");
    run_last_event(*state, &id, "ConversationErrorEvent", &event);
    assert_json_at(event.text, "code", "\"LLMAuthenticationError\"");
    assert_row(*state, &id, "error/-/-");
}

static void interrupt_stops_a_command_at_once(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_interrupts = stub_n_interrupts(fixture->stub);
    struct background_run run;
    int64_t asked_ms = 0;

    (void)begin_command(&run, fixture, TURN(CALLS(COMMAND("sleep:60000"))));
    asked_ms = clock_monotonic_ms();
    run_control_request(&run.control, STOP_INTERRUPT);
    background_run_join(&run);
    assert_true(clock_monotonic_ms() - asked_ms < AT_ONCE_MS);
    assert_int_equal(stub_n_interrupts(fixture->stub), n_interrupts + 1);
    assert_log(fixture, &run.id,
               BEGINNING "S(stats) Action(terminal) AgentError(terminal) S(paused) Interrupt");
    assert_row(fixture, &run.id, "paused/-/-");
}

static void interrupt_stops_a_model_at_once(void **state)
{
    struct uuid id =
        run_new_conversation(*state, TURN("{\"text\": \"late\", \"delay_ms\": 60000}"), "{}");
    struct background_run run;
    int64_t asked_ms = 0;

    background_run_start(&run, *state, &id);
    background_run_wait_for_model(&run);
    asked_ms = clock_monotonic_ms();
    run_control_request(&run.control, STOP_INTERRUPT);
    background_run_join(&run);
    assert_true(clock_monotonic_ms() - asked_ms < AT_ONCE_MS);
    assert_log(*state, &id, BEGINNING "S(paused) Interrupt");
}

static void pause_lets_the_command_end(void **state)
{
    struct background_run run;

    (void)begin_command(&run, *state, TURN(CALLS(COMMAND("sleep:300")) ", " SAYS("went on")));
    run_control_request(&run.control, STOP_PAUSE);
    background_run_join(&run);
    assert_log(*state, &run.id,
               BEGINNING "S(stats) Action(terminal) Observation(terminal) S(paused) Pause");
    run_again(*state, &run.id);
    run_to_end(*state, &run.id);
    assert_log(*state, &run.id,
               BEGINNING "S(stats) Action(terminal) Observation(terminal) S(paused) Pause"
                         " S(running) S(stats) Message(agent) S(finished)");
}

static void pause_lets_all_calls_of_an_answer_end(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;

    (void)begin_command(&run, fixture,
                        TURN(CALLS(COMMAND("hold") ", " COMMAND("two")) ", " SAYS("went on")));
    run_control_request(&run.control, STOP_PAUSE);
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_log(fixture, &run.id,
               BEGINNING "S(stats) Action(terminal) Action(terminal) Observation(terminal)"
                         " Observation(terminal) S(paused) Pause");
}

static void message_during_the_answer_is_answered_too(void **state)
{
    struct uuid id =
        run_new_conversation(*state,
                             "{\"turns\": [{\"steps\": [{\"text\": \"first\", \"delay_ms\": 400}]},"
                             " {\"steps\": [{\"text\": \"second\"}, {\"text\": \"third\"}]}]}",
                             "{}");
    struct background_run run;

    background_run_start(&run, *state, &id);
    background_run_wait_for_model(&run);
    run_say(*state, &id, "and this");
    background_run_join(&run);
    assert_log(*state, &id,
               BEGINNING "Message(user) S(last_user_message_id) S(stats) Message(agent)"
                         " S(stats) Message(agent) S(finished)");
}

static void another_worker_takes_over_without_running_twice(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run first;
    size_t n_runs =
        begin_command(&first, fixture, TURN(CALLS(COMMAND("sleep:700")) ", " CALLS(FINISH)));

    run_expire_lease(&first.id);
    run_to_end(fixture, &first.id);
    background_run_join(&first);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_log(fixture, &first.id,
               BEGINNING "S(stats) Action(terminal) Observation(terminal) S(stats) Action(finish)"
                         " Observation(finish) S(finished)");
}

/* The first command was cut off with these words, and the run went on. */
static void assert_cut_off(struct run_fixture *fixture, const struct uuid *id, const char *words)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    assert_log(fixture, id,
               BEGINNING "S(stats) Action(terminal) AgentError(terminal) S(stats) Message(agent)"
                         " S(finished)");
    run_last_event(fixture, id, "AgentErrorEvent", &event);
    assert_non_null(strstr(event.text, words));
}

static void call_of_a_lost_sandbox_is_not_run_again(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run first;
    size_t n_runs =
        begin_command(&first, fixture, TURN(CALLS(COMMAND("sleep:700")) ", " SAYS("well")));

    lose(&first);
    stub_replace_sandbox(fixture->stub);
    run_to_end(fixture, &first.id);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_cut_off(fixture, &first.id, "The sandbox was restarted while this call was in progress");
}

static void hung_sandbox_is_started_anew_during_a_call(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_doubts = stub_n_doubts(fixture->stub);
    struct background_run run;
    size_t n_runs =
        begin_command(&run, fixture, TURN(CALLS(COMMAND("sleep:60000")) ", " SAYS("well")));

    stub_hang(fixture->stub);
    background_run_join(&run);
    assert_int_equal(stub_n_doubts(fixture->stub), n_doubts + 1);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_cut_off(fixture, &run.id, "The call was interrupted: " STUB_RESTARTED_TEXT);
}

static void slow_call_of_a_sandbox_that_lives_is_left_alone(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id =
        run_new_conversation(*state, TURN(CALLS(COMMAND("sleep:1500")) ", " SAYS("well")), "{}");
    size_t n_starts = stub_n_starts(fixture->stub);

    run_to_end(fixture, &id);
    assert_int_equal(stub_n_starts(fixture->stub), n_starts + 1);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(terminal) Observation(terminal) S(stats) Message(agent)"
                         " S(finished)");
}

static void interrupt_reaches_the_command_that_another_worker_began(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_starts = stub_n_starts(fixture->stub);
    size_t n_interrupts = stub_n_interrupts(fixture->stub);
    struct background_run first;

    (void)begin_command(&first, fixture, TURN(CALLS(COMMAND("sleep:60000")) ", " SAYS("well")));
    lose(&first);
    run_interrupted(fixture, &first.id);
    assert_int_equal(stub_n_interrupts(fixture->stub), n_interrupts + 1);
    assert_int_equal(stub_n_starts(fixture->stub), n_starts + 1);
    assert_log(fixture, &first.id,
               BEGINNING "S(stats) Action(terminal) AgentError(terminal) S(paused) Interrupt");
}

static void call_that_was_never_begun_runs_in_a_new_sandbox(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id =
        run_new_conversation(*state, TURN(CALLS(COMMAND("x")) ", " SAYS("well")), "{}");
    struct background_run first;

    /* No sandbox to be had: the call stays without a result, and the run can be repeated. */
    stub_refuse_start(fixture->stub, "image missing: test:1");
    background_run_start(&first, fixture, &id);
    background_run_join(&first);
    assert_log(*state, &id, BEGINNING "S(stats) Action(terminal) S(error) ConversationError");
    stub_refuse_start(fixture->stub, NULL);
    run_again(fixture, &id);
    run_to_end(fixture, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(terminal) S(error) ConversationError S(running)"
                         " Observation(terminal) S(stats) Message(agent) S(finished)");
}

static void pause_does_not_wait_for_ever_for_a_sandbox(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id =
        run_new_conversation(*state, TURN(CALLS(COMMAND("x")) ", " SAYS("well")), "{}");

    stub_refuse_start(fixture->stub, "no room");
    run_to_end(fixture, &id);
    stub_refuse_start(fixture->stub, NULL);
    run_again(fixture, &id);
    run_paused_long_ago(fixture, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(terminal) S(error) ConversationError S(running)"
                         " S(paused) Pause");
    run_again(fixture, &id);
    run_to_end(fixture, &id);
    assert_row(*state, &id, "finished/-/-");
}

static void missing_sandbox_is_told_in_words(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(*state, TURN(CALLS(COMMAND("x"))), "{}");

    stub_refuse_start(fixture->stub, "image missing: test:1");
    run_to_end(fixture, &id);
    stub_refuse_start(fixture->stub, NULL);
    run_last_event(*state, &id, "ConversationErrorEvent", &event);
    assert_non_null(strstr(event.text, "image missing: test:1"));
    assert_row(*state, &id, "error/-/-");
}

static void secrets_reach_the_command_and_nothing_else(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct uuid id = run_new_conversation(
        *state, TURN(CALLS(COMMAND("echo $TOKEN")) ", " SAYS("it is s3cr3t-value, I saw")),
        "{\"secrets\": {\"TOKEN\": {\"kind\": \"StaticSecret\", \"value\": \"s3cr3t-value\"}}}");

    run_to_end(*state, &id);
    run_last_event(*state, &id, "ObservationEvent", &event);
    assert_json_at(event.text, "observation.content[0].text", "\"<secret-hidden>\"");
    run_last_event(*state, &id, "MessageEvent", &event);
    assert_non_null(strstr(event.text, "it is <secret-hidden>, I saw"));
}

#define SECRET_VALUE "s3cr3t-value"
#define TOKEN_SECRET                                                                               \
    "\"secrets\": {\"TOKEN\": {\"kind\": \"StaticSecret\", \"value\": \"" SECRET_VALUE "\"}}"

/* In clear; the row holds it sealed. */
static void assert_not_stored(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT (SELECT count(*) FROM events e WHERE e.conversation_id = '%s'"
                   " AND e.body LIKE '%%" SECRET_VALUE
                   "%%') + (SELECT count(*) FROM conversations c"
                   " WHERE c.id = '%s' AND c::text LIKE '%%" SECRET_VALUE "%%')",
                   id->text, id->text);
    assert_int_equal(test_sql_count(sql.text), 0);
}

static void assert_withheld(struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    run_last_event(fixture, id, "AgentErrorEvent", &event);
    assert_non_null(strstr(event.text, "The call was not run: its arguments hold the value of a"));
    assert_non_null(strstr(event.text, "environment variable, such as \\\"$NAME\\\""));
    run_last_event(fixture, id, "ActionEvent", &event);
    assert_non_null(strstr(event.text, "echo <secret-hidden>"));
    assert_not_stored(id);
}

/* The worker that planned both calls lives on, without its lease; the next one knows the stored
 * form alone. */
static void call_that_held_a_secret_is_not_run_by_the_next_worker(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub) + 1;
    struct uuid id = run_new_conversation(
        fixture,
        TURN(CALLS(COMMAND("sleep:700") ", " COMMAND("echo " SECRET_VALUE)) ", " SAYS("well")),
        "{" TOKEN_SECRET "}");
    struct background_run first;

    background_run_start(&first, fixture, &id);
    assert_true(stub_wait_for_runs(fixture->stub, n_runs));
    run_expire_lease(&id);
    run_to_end(fixture, &id);
    background_run_join(&first);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_log(fixture, &id,
               BEGINNING "S(stats) Action(terminal) Action(terminal) Observation(terminal)"
                         " AgentError(terminal) S(stats) Message(agent) S(finished)");
    assert_withheld(fixture, &id);
}

static void begun_call_that_held_a_secret_is_waited_for_by_the_next_worker(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub) + 1;
    struct uuid id = run_new_conversation(
        fixture, TURN(CALLS(COMMAND("sleep:700 " SECRET_VALUE)) ", " SAYS("well")),
        "{" TOKEN_SECRET "}");
    struct background_run first;

    background_run_start(&first, fixture, &id);
    assert_true(stub_wait_for_runs(fixture->stub, n_runs));
    lose(&first);
    run_to_end(fixture, &id);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_log(fixture, &id,
               BEGINNING "S(stats) Action(terminal) Observation(terminal) S(stats) Message(agent)"
                         " S(finished)");
    run_last_event(fixture, &id, "ObservationEvent", &event);
    assert_json_at(event.text, "observation.content[0].text", "\"sleep:700 <secret-hidden>\"");
    assert_not_stored(&id);
}

static void confirmed_call_that_held_a_secret_is_not_run(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct uuid id = run_new_conversation(
        fixture, TURN(CALLS(COMMAND("echo " SECRET_VALUE)) ", " SAYS("well")),
        "{\"confirmation_policy\": {\"kind\": \"AlwaysConfirm\"}, " TOKEN_SECRET "}");

    run_to_end(fixture, &id);
    assert_row(fixture, &id, "waiting_for_confirmation/-/-");
    run_again(fixture, &id);
    run_to_end(fixture, &id);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_log(fixture, &id,
               BEGINNING "S(stats) Action(terminal) S(waiting_for_confirmation) S(running)"
                         " AgentError(terminal) S(stats) Message(agent) S(finished)");
    assert_withheld(fixture, &id);
}

static void policy_holds_calls_back_until_the_next_run(void **state)
{
    struct uuid id =
        run_new_conversation(*state, TURN(CALLS(COMMAND("x")) ", " CALLS(FINISH)),
                             "{\"confirmation_policy\": {\"kind\": \"AlwaysConfirm\"}}");

    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING "S(stats) Action(terminal) S(waiting_for_confirmation)");
    assert_row(*state, &id, "waiting_for_confirmation/-/-");
    run_again(*state, &id);
    run_to_end(*state, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(terminal) S(waiting_for_confirmation) S(running)"
                         " Observation(terminal) S(stats) Action(finish) Observation(finish)"
                         " S(finished)");
}

static void run_on_finished_does_nothing(void **state)
{
    struct uuid id = run_new_conversation(*state, TURN(SAYS("hello")), "{}");

    run_to_end(*state, &id);
    run_again(*state, &id);
    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING "S(stats) Message(agent) S(finished)");
    assert_row(*state, &id, "finished/-/-");
}

static void limit_of_iterations_ends_the_run(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct uuid id = run_new_conversation(
        *state, TURN(CALLS(COMMAND("a")) ", " CALLS(COMMAND("b")) ", " CALLS(COMMAND("c"))),
        "{\"max_iterations\": 2}");

    run_to_end(*state, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(terminal) Observation(terminal) S(stats) Action(terminal)"
                         " Observation(terminal) S(error) ConversationError");
    run_last_event(*state, &id, "ConversationErrorEvent", &event);
    assert_non_null(strstr(event.text, "MaxIterationsReached"));
}

static void hand_over_leaves_the_command_running(void **state)
{
    struct run_fixture *fixture = *state;
    struct background_run run;
    size_t n_runs =
        begin_command(&run, fixture, TURN(CALLS(COMMAND("sleep:400")) ", " SAYS("well")));

    run_control_request(&run.control, STOP_HAND_OVER);
    background_run_join(&run);
    assert_row(fixture, &run.id, "running/wanted/-");
    run_to_end(fixture, &run.id);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_row(fixture, &run.id, "finished/-/-");
}

static void deleted_conversation_is_forgotten_by_its_sandbox(void **state)
{
    struct run_fixture *fixture = *state;
    struct conversation_scope scope = {.user_id = fixture->user_id};
    size_t n_forgotten = stub_n_forgotten(fixture->stub);
    struct background_run run;
    struct error err = ERROR_INIT;

    (void)begin_command(&run, fixture, TURN(CALLS(COMMAND("sleep:2000"))));
    assert_int_equal(conversation_store_delete(fixture->context.db, &scope, &run.id, &err), 0);
    run_control_request(&run.control, STOP_LOST);
    background_run_join(&run);
    assert_int_equal(stub_n_forgotten(fixture->stub), n_forgotten + 1);
}

/* As if so many claims had ended without progress. */
static void set_claims(const struct uuid *id, int n)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET claim_count = %d WHERE id = '%s'", n, id->text);
    test_sql(sql.text);
}

static void conversation_that_kills_its_workers_is_given_up(void **state)
{
    struct uuid last = run_new_conversation(*state, TURN(SAYS("hello")), "{}");
    struct uuid id;

    set_claims(&last, CLAIMS_MAX - 1);
    run_to_end(*state, &last);
    assert_row(*state, &last, "finished/-/-");
    id = run_new_conversation(*state, TURN(SAYS("hello")), "{}");
    set_claims(&id, CLAIMS_MAX);
    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING "S(error) ConversationError");
    run_again(*state, &id);
    run_to_end(*state, &id);
    assert_row(*state, &id, "finished/-/-");
}

static void answer_too_large_to_keep_ends_the_run_in_error(void **state)
{
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;
    struct uuid id;

    strbuf_append(&script, "{\"turns\": [{\"steps\": [{\"text\": \"");
    for (int i = 0; i < 1100000; i++)
        strbuf_append_char(&script, 'x');
    strbuf_append(&script, "\"}]}]}");
    id = run_new_conversation(*state, script.text, "{}");
    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING "S(error) ConversationError");
}

/* The model may write the placeholder itself: nothing was lost of such a call. */
static void call_that_only_looks_like_one_with_a_secret_is_run(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct uuid id = run_new_conversation(
        *state, TURN(CALLS(COMMAND("grep <secret-hidden>")) ", " CALLS(FINISH)), "{}");

    run_to_end(fixture, &id);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(terminal) Observation(terminal) S(stats) Action(finish)"
                         " Observation(finish) S(finished)");
}

static void command_without_an_end_is_interrupted_and_told(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct worker_settings *settings = &fixture->context.settings;
    int64_t timeout_ms = settings->tool_timeout_ms;
    size_t n_interrupts = stub_n_interrupts(fixture->stub);
    struct uuid id =
        run_new_conversation(*state, TURN(CALLS(COMMAND("hold")) ", " CALLS(FINISH)), "{}");

    settings->tool_timeout_ms = 1000;
    run_to_end(fixture, &id);
    settings->tool_timeout_ms = timeout_ms;
    assert_int_equal(stub_n_interrupts(fixture->stub), n_interrupts + 1);
    run_last_event(*state, &id, "AgentErrorEvent", &event);
    assert_non_null(strstr(event.text, "gave no result within 1 seconds"));
    assert_row(*state, &id, "finished/-/-");
}

static void command_may_take_as_long_as_it_asks_for(void **state)
{
    struct run_fixture *fixture = *state;
    struct worker_settings *settings = &fixture->context.settings;
    int64_t timeout_ms = settings->tool_timeout_ms;
    struct uuid id = run_new_conversation(
        *state,
        TURN(CALLS(CALL("terminal", "{\"command\": \"sleep:1000\", \"timeout\": 5}")) ", " CALLS(
            FINISH)),
        "{}");

    settings->tool_timeout_ms = 300;
    run_to_end(fixture, &id);
    settings->tool_timeout_ms = timeout_ms;
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(terminal) Observation(terminal) S(stats) Action(finish)"
                         " Observation(finish) S(finished)");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_finish_the_run),
        cmocka_unit_test(view_that_is_too_long_is_not_sent_by_the_next_worker),
        cmocka_unit_test(title_is_the_first_message),
        cmocka_unit_test(tools_run_in_order),
        cmocka_unit_test(unknown_members_of_a_result_are_dropped),
        cmocka_unit_test(bad_calls_are_answered_beside_the_good_ones),
        cmocka_unit_test(call_without_a_name_is_answered),
        cmocka_unit_test(call_that_no_event_holds_is_told_in_words),
        cmocka_unit_test(calls_behind_finish_do_not_run),
        cmocka_unit_test(refused_key_ends_the_run_in_error),
        cmocka_unit_test(interrupt_stops_a_command_at_once),
        cmocka_unit_test(interrupt_stops_a_model_at_once),
        cmocka_unit_test(pause_lets_the_command_end),
        cmocka_unit_test(pause_lets_all_calls_of_an_answer_end),
        cmocka_unit_test(message_during_the_answer_is_answered_too),
        cmocka_unit_test(another_worker_takes_over_without_running_twice),
        cmocka_unit_test(call_of_a_lost_sandbox_is_not_run_again),
        cmocka_unit_test(hung_sandbox_is_started_anew_during_a_call),
        cmocka_unit_test(slow_call_of_a_sandbox_that_lives_is_left_alone),
        cmocka_unit_test(interrupt_reaches_the_command_that_another_worker_began),
        cmocka_unit_test(call_that_was_never_begun_runs_in_a_new_sandbox),
        cmocka_unit_test(pause_does_not_wait_for_ever_for_a_sandbox),
        cmocka_unit_test(missing_sandbox_is_told_in_words),
        cmocka_unit_test(secrets_reach_the_command_and_nothing_else),
        cmocka_unit_test(call_that_held_a_secret_is_not_run_by_the_next_worker),
        cmocka_unit_test(begun_call_that_held_a_secret_is_waited_for_by_the_next_worker),
        cmocka_unit_test(confirmed_call_that_held_a_secret_is_not_run),
        cmocka_unit_test(policy_holds_calls_back_until_the_next_run),
        cmocka_unit_test(run_on_finished_does_nothing),
        cmocka_unit_test(limit_of_iterations_ends_the_run),
        cmocka_unit_test(hand_over_leaves_the_command_running),
        cmocka_unit_test(deleted_conversation_is_forgotten_by_its_sandbox),
        cmocka_unit_test(answer_too_large_to_keep_ends_the_run_in_error),
        cmocka_unit_test(conversation_that_kills_its_workers_is_given_up),
        cmocka_unit_test(call_that_only_looks_like_one_with_a_secret_is_run),
        cmocka_unit_test(command_without_an_end_is_interrupted_and_told),
        cmocka_unit_test(command_may_take_as_long_as_it_asks_for),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}
