/*
 * Runs that start others: what is stored of both, and in which order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "support/pg.h"
#include "support/sql.h"
#include "worker/run_fixture.h"

#define BEGINNING "SystemPrompt Message(user) S(last_user_message_id) S(running) "
#define CALL(name, arguments) "{\"name\": \"" name "\", \"arguments\": " arguments "}"
#define FINISH CALL("finish", "{\"message\": \"done\"}")
#define TURN(steps) "{\"turns\": [{\"steps\": [" steps "]}]}"
#define CALLS(calls) "{\"calls\": [" calls "]}"

/* The child's part is the first, the parent's the second. */
#define SCRIPT(child_steps, steps)                                                                 \
    "{\"turns\": [], \"later\": [{\"match\": [\"the part\"], \"steps\": [" child_steps "]},"       \
    " {\"steps\": [" steps "]}]}"
#define START                                                                                      \
    CALLS(CALL("start_child_conversation",                                                         \
               "{\"task\": \"the part\", \"title\": \"Part\", \"isolation\": \"shared\"}"))
#define CHILD_STARTED                                                                              \
    "S(stats) Action(start_child_conversation) Observation(start_child_conversation) "
#define FINISHED "S(stats) Action(finish) Observation(finish) S(finished)"

#define TASK(more) CALL("task", "{\"prompt\": \"the part\"" more "}")
#define SAYS(text) "{\"text\": \"" text "\"}"

/* The only child of that conversation. */
static struct uuid child_of(const struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    struct uuid child = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_load_any(fixture->context.db, id, &conversation, &err), 0);
    assert_non_null(conversation.children);
    assert_true(uuid_parse(conversation.children, &child));
    return child;
}

static void assert_no_child(const struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_load_any(fixture->context.db, id, &conversation, &err), 0);
    assert_null(conversation.children);
}

/* The newest observation of the conversation says that, somewhere. */
static void assert_told(struct run_fixture *fixture, const struct uuid *id, const char *words)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    run_last_event(fixture, id, "ObservationEvent", &event);
    if (strstr(event.text, words) == NULL)
        fail_msg("no \"%s\" in %s", words, event.text);
}

/* The newest result of a task says that, somewhere. */
static void assert_task(struct run_fixture *fixture, const struct uuid *id, const char *words)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(event_store_load_after(fixture->context.db, id, &history, &err), 0);
    for (size_t i = 0; i < history.n; i++) {
        const json_t *seen = json_object_get(stored_event_json(&history.items[i]), "observation");

        if (!text_equal(json_text_or(seen, "kind", ""), "TaskObservation"))
            continue;
        strbuf_reset(&body);
        json_append_text(&body, seen);
    }
    if (body.len == 0 || strstr(body.text, words) == NULL)
        fail_msg("no %s in %s", words, body.text);
}

static void started_child_runs_by_itself(void **state)
{
    struct uuid id =
        run_new_conversation(*state, SCRIPT(CALLS(FINISH), START ", " CALLS(FINISH)), "{}");
    struct uuid child;

    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING CHILD_STARTED FINISHED);
    child = child_of(*state, &id);
    assert_row(*state, &child, "running/wanted/-");
    run_to_end(*state, &child);
    assert_log(*state, &child, BEGINNING FINISHED);
    assert_row(*state, &child, "finished/-/-");
}

static void children_are_started_three_deep_and_no_more(void **state)
{
    const char *script = SCRIPT(START, START);
    struct uuid id = run_new_conversation(*state, script, "{\"max_iterations\": 1}");

    for (int depth = 0; depth < 3; depth++) {
        run_to_end(*state, &id);
        id = child_of(*state, &id);
    }
    run_to_end(*state, &id);
    assert_no_child(*state, &id);
    assert_told(*state, &id, "at most 3 deep");
    assert_told(*state, &id, "\"is_error\":true");
}

static void child_without_room_is_refused_in_words(void **state)
{
    struct run_fixture *fixture = *state;
    struct run_limits limits = fixture->context.settings.run_limits;
    struct uuid id = run_new_conversation(*state, SCRIPT(START, START), "{\"max_iterations\": 1}");

    fixture->context.settings.run_limits = (struct run_limits){.n_slots = 1, .n_queued = 0};
    run_to_end(*state, &id);
    fixture->context.settings.run_limits = limits;
    assert_no_child(*state, &id);
    assert_told(*state, &id, "run limit reached");
}

static void child_that_has_no_task_is_none(void **state)
{
    struct uuid id = run_new_conversation(
        *state,
        TURN(CALLS(CALL("start_child_conversation",
                        "{\"task\": \" \", \"isolation\": \"shared\"}")) ", " CALLS(FINISH)),
        "{}");

    run_to_end(*state, &id);
    assert_no_child(*state, &id);
    assert_log(*state, &id, BEGINNING CHILD_STARTED FINISHED);
}

static void calls_task(struct run_fixture *fixture, const char *child_steps, struct uuid *id_out,
                       struct uuid *child_out)
{
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;

    strbuf_appendf(&script,
                   "{\"turns\": [], \"later\": [{\"match\": [\"the part\"], \"steps\": [%s]},"
                   " {\"steps\": [" CALLS(TASK("")) ", " CALLS(FINISH) "]}]}",
                   child_steps);
    *id_out = run_new_conversation(fixture, script.text, "{}");
    run_to_end(fixture, id_out);
    assert_row(fixture, id_out, "running/wanted/-");
    *child_out = child_of(fixture, id_out);
}

static void caller_waits_without_a_lease_and_takes_the_result(void **state)
{
    struct uuid id;
    struct uuid child;

    calls_task(*state, SAYS("found it"), &id, &child);
    run_to_end(*state, &child);
    assert_row(*state, &child, "finished/-/-");
    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING "S(stats) Action(task) S(stats) Observation(task) " FINISHED);
    assert_row(*state, &id, "finished/-/-");
}

static void result_names_task_kind_and_status(void **state)
{
    struct uuid id;
    struct uuid child;

    calls_task(*state, SAYS("found it"), &id, &child);
    run_to_end(*state, &child);
    run_to_end(*state, &id);
    assert_task(*state, &id, "\"text\":\"found it\"");
    assert_task(*state, &id, "\"is_error\":false");
    assert_task(*state, &id, "\"task_id\":\"task_00000001\"");
    assert_task(*state, &id, "\"subagent\":\"general-purpose\"");
    assert_task(*state, &id, "\"status\":\"completed\"");
}

static void deleted_sub_agent_is_told_in_words(void **state)
{
    struct run_fixture *fixture = *state;
    const struct conversation_scope scope = {.user_id = fixture->user_id};
    struct error err = ERROR_INIT;
    struct uuid id;
    struct uuid child;

    calls_task(fixture, SAYS("found it"), &id, &child);
    assert_int_equal(conversation_store_delete(fixture->context.db, &scope, &child, &err), 0);
    run_to_end(fixture, &id);
    assert_task(fixture, &id, "The sub-agent's conversation was deleted");
    assert_task(fixture, &id, "\"status\":\"error\"");
    assert_row(fixture, &id, "finished/-/-");
}

static void sub_agent_that_fails_is_told_with_its_reason(void **state)
{
    struct uuid id;
    struct uuid child;

    calls_task(*state, "{\"status\": 401, \"error\": \"no such key\"}", &id, &child);
    run_to_end(*state, &child);
    run_to_end(*state, &id);
    assert_task(*state, &id, "ended with an error: Your LLM API key");
    assert_task(*state, &id, "\"status\":\"error\"");
}

static void sub_agent_that_somebody_stops_is_told_as_that(void **state)
{
    struct uuid id;
    struct uuid child;

    calls_task(*state, SAYS("found it"), &id, &child);
    run_interrupted(*state, &child);
    assert_row(*state, &child, "paused/-/-");
    run_to_end(*state, &id);
    assert_task(*state, &id, "The sub-agent was stopped");
}

static void request_stop(struct run_fixture *fixture, const struct uuid *id, const char *kind,
                         size_t n)
{
    size_t n_asked = 0;
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_request_stop(fixture->context.db, id, kind, &n_asked, &err),
                     0);
    assert_int_equal(n_asked, n);
}

static void pause_reaches_the_sub_agent_and_both_go_on(void **state)
{
    struct uuid id;
    struct uuid child;

    calls_task(*state, SAYS("found it"), &id, &child);
    request_stop(*state, &id, "pause", 2);
    run_to_end(*state, &child);
    assert_row(*state, &child, "paused/-/-");
    run_to_end(*state, &id);
    assert_row(*state, &id, "paused/-/-");
    run_again(*state, &id);
    run_to_end(*state, &id);
    assert_row(*state, &id, "running/wanted/-");
    run_to_end(*state, &child);
    assert_row(*state, &child, "finished/-/-");
    run_to_end(*state, &id);
    assert_task(*state, &id, "\"status\":\"completed\"");
}

static void interrupt_ends_the_call_and_the_sub_agent(void **state)
{
    struct uuid id;
    struct uuid child;

    calls_task(*state, SAYS("found it"), &id, &child);
    request_stop(*state, &id, "interrupt", 2);
    run_to_end(*state, &child);
    assert_row(*state, &child, "paused/-/-");
    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING "S(stats) Action(task) AgentError(task) S(paused) Interrupt");
}

static void task_goes_on_by_its_name(void **state)
{
    const char *script =
        "{\"turns\": [], \"later\": [{\"match\": [\"the part\"], \"steps\": [" SAYS(
            "half") "]},"
                    " {\"match\": [\"the rest\"], \"steps\": [" SAYS(
                        "whole") "]}, {\"steps\": "
                                 "[" CALLS(TASK("")) ", " CALLS(CALL("task",
                                                                     "{\"prompt\":"
                                                                     " \"the "
                                                                     "rest\", "
                                                                     "\"resume\":"
                                                                     " \"task_"
                                                                     "00000001\""
                                                                     "}")) ","
                                                                           " " CALLS(FINISH) "]}]}";
    struct uuid id = run_new_conversation(*state, script, "{}");
    struct uuid child;

    run_to_end(*state, &id);
    child = child_of(*state, &id);
    run_to_end(*state, &child);
    run_to_end(*state, &id);
    assert_task(*state, &id, "\"text\":\"half\"");
    run_to_end(*state, &child);
    run_to_end(*state, &id);
    assert_task(*state, &id, "\"text\":\"whole\"");
    assert_task(*state, &id, "\"task_id\":\"task_00000001\"");
    assert_row(*state, &id, "finished/-/-");
}

static void wrong_calls_are_told_in_words(void **state)
{
    struct uuid id = run_new_conversation(
        *state,
        TURN(CALLS(TASK(", \"subagent_type\": \"wizard\"")) ", " CALLS(TASK(
            ", \"resume\": \"task_00000009\"")) ", " CALLS(CALL("task", "{\"prompt\": \"\"}"))),
        "{\"max_iterations\": 1}");

    run_to_end(*state, &id);
    assert_task(*state, &id, "There is no sub-agent of the kind");
    assert_task(*state, &id, "- code-explorer: ");
    run_again(*state, &id);
    run_to_end(*state, &id);
    assert_task(*state, &id, "no task with that id");
    run_again(*state, &id);
    run_to_end(*state, &id);
    assert_task(*state, &id, "The prompt is empty.");
    assert_no_child(*state, &id);
}

static void sub_agents_go_three_deep_and_no_more(void **state)
{
    const char *script =
        "{\"turns\": [], \"later\": [{\"steps\": [" CALLS(TASK("")) ", " SAYS("told") "]}]}";
    const char *more = "{\"agent_definitions\": [{\"name\": \"general-purpose\"}]}";
    struct uuid line[4];

    line[0] = run_new_conversation(*state, script, more);
    for (int depth = 0; depth < 3; depth++) {
        run_to_end(*state, &line[depth]);
        line[depth + 1] = child_of(*state, &line[depth]);
    }
    run_to_end(*state, &line[3]);
    assert_task(*state, &line[3], "at most 3 deep");
    for (int depth = 2; depth >= 0; depth--)
        run_to_end(*state, &line[depth]);
    assert_task(*state, &line[0], "\"text\":\"told\"");
}

/* --- several at once --- */

#define AT_ONCE(limit) "{\"agent\": {\"tool_concurrency_limit\": " limit "}}"

/* A run whose answer calls n sub-agents, up to where it waits; *ids_out: those that were started.
 */
static struct uuid call_several(struct run_fixture *fixture, const char *calls, const char *more,
                                struct uuid *ids_out, size_t n)
{
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;
    struct error err = ERROR_INIT;
    struct uuid id = UUID_INIT;

    strbuf_appendf(&script,
                   "{\"turns\": [], \"later\": [{\"match\": [\"the part\"], \"steps\": [" SAYS(
                       "found it") "]}, {\"steps\": [" CALLS("%s") ", " CALLS(FINISH) "]}]}",
                   calls);
    id = run_new_conversation(fixture, script.text, more);
    run_to_end(fixture, &id);
    assert_row(fixture, &id, "running/wanted/-");
    assert_int_equal(conversation_store_load_any(fixture->context.db, &id, &row, &err), 0);
    assert_int_equal(strlen(row.children), n * 37 - 1);
    for (size_t i = 0; i < n; i++) {
        row.children[i * 37 + 36] = '\0';
        assert_true(uuid_parse(&row.children[i * 37], &ids_out[i]));
    }
    return id;
}

/* Sub-agents have the same place in the queue. */
static void run_first(struct run_fixture *fixture, const struct uuid *id)
{
    run_put_first(id);
    run_to_end(fixture, id);
}

static void delete_run(struct run_fixture *fixture, const struct uuid *id)
{
    const struct conversation_scope scope = {.user_id = fixture->user_id};
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_delete(fixture->context.db, &scope, id, &err), 0);
}

#define TWO_TASKS TASK("") ", " TASK("")
#define ONE_TOLD " S(stats) Observation(task)"

static void sub_agents_of_an_answer_run_at_once(void **state)
{
    struct uuid children[2];
    struct uuid id = call_several(*state, TWO_TASKS, AT_ONCE("2"), children, 2);

    assert_row(*state, &children[0], "running/wanted/-");
    assert_row(*state, &children[1], "running/wanted/-");
    run_first(*state, &children[1]);
    run_first(*state, &id);
    /* The first result is stored when it comes; the model is asked when both are there. */
    assert_log(*state, &id, BEGINNING "S(stats) Action(task) Action(task)" ONE_TOLD);
    assert_row(*state, &id, "running/wanted/-");
    run_first(*state, &children[0]);
    run_first(*state, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(task) Action(task)" ONE_TOLD ONE_TOLD " " FINISHED);
    assert_row(*state, &id, "finished/-/-");
}

static void no_more_sub_agents_run_than_the_limit(void **state)
{
    struct uuid one[1];
    struct uuid two[2];
    struct uuid id = call_several(*state, TWO_TASKS, "{}", one, 1);

    run_first(*state, &one[0]);
    run_first(*state, &id);
    assert_row(*state, &id, "running/wanted/-");
    delete_run(*state, &id);
    id = call_several(*state, TWO_TASKS ", " TASK(""), AT_ONCE("2"), two, 2);
    run_first(*state, &two[0]);
    run_first(*state, &id);
    {
        CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
        struct run_fixture *fixture = *state;
        struct error err = ERROR_INIT;

        assert_int_equal(conversation_store_load_any(fixture->context.db, &id, &row, &err), 0);
        assert_int_equal(strlen(row.children), 3 * 37 - 1);
    }
    delete_run(*state, &id);
}

/* Calls that the run itself drives do not run next to sub-agents. */
static void other_calls_of_the_answer_wait_for_the_sub_agents(void **state)
{
    struct uuid children[2];
    struct uuid id = call_several(*state,
                                  CALL("think", "{\"thought\": \"a\"}") ", " TWO_TASKS ", " CALL(
                                      "think", "{\"thought\": \"b\"}"),
                                  AT_ONCE("4"), children, 2);

    assert_log(*state, &id,
               BEGINNING "S(stats) Action(think) Action(task) Action(task) Action(think)"
                         " Observation(think)");
    for (size_t i = 0; i < 2; i++)
        run_first(*state, &children[i]);
    run_first(*state, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(think) Action(task) Action(task) Action(think)"
                         " Observation(think)" ONE_TOLD ONE_TOLD " Observation(think) " FINISHED);
}

static void interrupt_ends_all_calls_and_all_sub_agents(void **state)
{
    struct uuid children[2];
    struct uuid id = call_several(*state, TWO_TASKS, AT_ONCE("2"), children, 2);

    request_stop(*state, &id, "interrupt", 3);
    for (size_t i = 0; i < 2; i++) {
        run_first(*state, &children[i]);
        assert_row(*state, &children[i], "paused/-/-");
    }
    run_first(*state, &id);
    assert_log(*state, &id,
               BEGINNING "S(stats) Action(task) Action(task) AgentError(task) AgentError(task)"
                         " S(paused) Interrupt");
}

/* One has ended by then: its result stays, and the other one goes on. */
static void pause_of_several_keeps_what_has_ended(void **state)
{
    struct uuid children[2];
    struct uuid id = call_several(*state, TWO_TASKS, AT_ONCE("2"), children, 2);

    run_first(*state, &children[0]);
    request_stop(*state, &id, "pause", 2);
    run_first(*state, &children[1]);
    assert_row(*state, &children[1], "paused/-/-");
    run_first(*state, &id);
    assert_row(*state, &id, "paused/-/-");
    run_again(*state, &id);
    run_first(*state, &id);
    assert_row(*state, &id, "running/wanted/-");
    run_first(*state, &children[1]);
    assert_row(*state, &children[1], "finished/-/-");
    run_first(*state, &id);
    assert_row(*state, &id, "finished/-/-");
}

static void deleted_one_of_several_is_told_in_words(void **state)
{
    struct run_fixture *fixture = *state;
    const struct conversation_scope scope = {.user_id = fixture->user_id};
    struct error err = ERROR_INIT;
    struct uuid children[2];
    struct uuid id = call_several(fixture, TWO_TASKS, AT_ONCE("2"), children, 2);

    assert_int_equal(conversation_store_delete(fixture->context.db, &scope, &children[0], &err), 0);
    run_first(fixture, &id);
    assert_task(fixture, &id, "The sub-agent's conversation was deleted");
    assert_row(fixture, &id, "running/wanted/-");
    run_first(fixture, &children[1]);
    run_first(fixture, &id);
    assert_task(fixture, &id, "found it");
    assert_row(fixture, &id, "finished/-/-");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(started_child_runs_by_itself),
        cmocka_unit_test(children_are_started_three_deep_and_no_more),
        cmocka_unit_test(child_without_room_is_refused_in_words),
        cmocka_unit_test(child_that_has_no_task_is_none),
        cmocka_unit_test(caller_waits_without_a_lease_and_takes_the_result),
        cmocka_unit_test(result_names_task_kind_and_status),
        cmocka_unit_test(deleted_sub_agent_is_told_in_words),
        cmocka_unit_test(sub_agent_that_fails_is_told_with_its_reason),
        cmocka_unit_test(sub_agent_that_somebody_stops_is_told_as_that),
        cmocka_unit_test(pause_reaches_the_sub_agent_and_both_go_on),
        cmocka_unit_test(interrupt_ends_the_call_and_the_sub_agent),
        cmocka_unit_test(task_goes_on_by_its_name),
        cmocka_unit_test(wrong_calls_are_told_in_words),
        cmocka_unit_test(sub_agents_go_three_deep_and_no_more),
        cmocka_unit_test(sub_agents_of_an_answer_run_at_once),
        cmocka_unit_test(no_more_sub_agents_run_than_the_limit),
        cmocka_unit_test(other_calls_of_the_answer_wait_for_the_sub_agents),
        cmocka_unit_test(interrupt_ends_all_calls_and_all_sub_agents),
        cmocka_unit_test(pause_of_several_keeps_what_has_ended),
        cmocka_unit_test(deleted_one_of_several_is_told_in_words),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}
