/*
 * Writes of a run when their outcome is unknown, others write, or the lease is in doubt.
 */
#include "worker/agent/core/event_writer.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "model/event/event.h"
#include "model/prompt/knowledge_request.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/conversation_store.h"
#include "support/sql.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent_test.h"

#define UNUSED_SCRIPT "{\"turns\": [{\"steps\": [{\"text\": \"unused\"}]}]}"

static void check(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s", err->message);
}

static void begin(struct claimed_agent *claimed, void **state)
{
    struct uuid id = run_new_conversation(*state, UNUSED_SCRIPT, "{}");

    claimed_agent_begin(claimed, *state, &id);
}

static void assert_written(struct claimed_agent *claimed, const char *expected)
{
    assert_log(claimed->fixture, &claimed->agent.lease.conversation_id, expected);
}

/* Stores the events under the agent's lease, but the agent does not hear of it. */
static void write_unheard(const struct claimed_agent *claimed, struct event_list *events)
{
    CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;
    struct db *db = claimed->fixture->context.db;
    struct error err = ERROR_INIT;

    check(conversation_store_load_any(db, &claimed->agent.lease.conversation_id, &now, &err), &err);
    check(conversation_store_append(db, &claimed->agent.lease, &now, events, &err), &err);
}

static void own_write_whose_answer_was_lost_is_not_repeated(void **state)
{
    CLEANUP(event_list_done) struct event_list first = EVENT_LIST_INIT;
    CLEANUP(event_list_done) struct event_list second = EVENT_LIST_INIT;
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    (void)event_add_environment_message(&first, "one");
    write_unheard(&claimed, &first);
    check(event_writer_append_once(&claimed.agent, &first, NULL, &err), &err);
    assert_true(history_has_event(&claimed.agent.history, &first.items[0].id));
    (void)event_add_environment_message(&second, "two");
    check(event_writer_append_once(&claimed.agent, &second, NULL, &err), &err);
    assert_written(&claimed, BEGINNING "Message(environment) Message(environment)");
    claimed_agent_end(&claimed);
}

static void write_of_another_is_read_before_the_next_attempt(void **state)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;
    int64_t seq_before = 0;

    begin(&claimed, state);
    seq_before = claimed.agent.history.last_seq;
    run_say(*state, &claimed.agent.lease.conversation_id, "and this");
    (void)event_add_environment_message(&events, "one");
    assert_int_equal(event_writer_append_once(&claimed.agent, &events, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_true(history_has_user_message_after(&claimed.agent.history, seq_before));
    assert_written(&claimed, BEGINNING "Message(user) S(last_user_message_id)");
    check(event_writer_append_once(&claimed.agent, &events, NULL, &err), &err);
    assert_written(&claimed,
                   BEGINNING "Message(user) S(last_user_message_id) Message(environment)");
    claimed_agent_end(&claimed);
}

static void message_since_the_question_stops_what_it_overtakes(void **state)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    claimed.agent.asked_seq = claimed.agent.history.last_seq;
    run_say(*state, &claimed.agent.lease.conversation_id, "and this");
    (void)event_add_environment_message(&events, "one");
    assert_int_equal(event_writer_append_unless_spoken(&claimed.agent, &events, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_written(&claimed, BEGINNING "Message(user) S(last_user_message_id)");
    check(event_writer_append(&claimed.agent, &events, NULL, &err), &err);
    assert_written(&claimed,
                   BEGINNING "Message(user) S(last_user_message_id) Message(environment)");
    claimed_agent_end(&claimed);
}

static void expired_lease_that_no_worker_took_is_renewed(void **state)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct claimed_agent claimed;
    const struct uuid *id = &claimed.agent.lease.conversation_id;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    run_expire_lease(id);
    run_control_renew(&claimed.control, 0);
    (void)event_add_environment_message(&events, "one");
    check(event_writer_append_once(&claimed.agent, &events, NULL, &err), &err);
    assert_written(&claimed, BEGINNING "Message(environment)");
    assert_row(*state, id, "running/wanted/leased");
    assert_true(run_control_has_lease(&claimed.control));
    claimed_agent_end(&claimed);
}

static void give_to_another_worker(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    const struct uuid owner = uuid_random();

    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_owner = '%s', lease_fence = lease_fence + 1"
                   " WHERE id = '%s'",
                   owner.text, id->text);
    test_sql(sql.text);
}

static void lease_of_another_worker_ends_the_writes(void **state)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    give_to_another_worker(&claimed.agent.lease.conversation_id);
    (void)event_add_environment_message(&events, "one");
    assert_int_equal(event_writer_append(&claimed.agent, &events, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(run_control_stop(&claimed.control), STOP_LOST);
    assert_written(&claimed, "SystemPrompt Message(user) S(last_user_message_id) S(running)");
    claimed_agent_end(&claimed);
}

/* The guard may also have failed because a job has added its cost. */
static void refused_answer_is_planned_again_on_the_row_as_it_is(void **state)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write change = {.stats = "{}"};
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    run_expire_lease(&claimed.agent.lease.conversation_id);
    (void)event_add_environment_message(&events, "one");
    assert_int_equal(event_writer_append(&claimed.agent, &events, &change, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_true(claimed.agent.has_foreign_stats);
    check(event_writer_refresh_row(&claimed.agent, &err), &err);
    assert_false(claimed.agent.has_foreign_stats);
    check(event_writer_append(&claimed.agent, &events, &change, &err), &err);
    assert_written(&claimed, BEGINNING "Message(environment)");
    claimed_agent_end(&claimed);
}

/* What a client changed is announced by an event; of what runs change themselves nothing is read.
 */
static void changes_by_others_are_noted(void **state)
{
    static const struct {
        const char *key;
        bool is_row_stale;
        bool has_foreign_stats;
    } cases[] = {
        {"execution_status", false, false},
        {"last_user_message_id", false, false},
        {"goal", false, false},
        {"tags", false, false},
        {"stats", false, true},
        {"confirmation_policy", true, false},
        {"secret_registry", true, false},
    };
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
        json_auto_t *value = json_object();

        event_add_state(&events, cases[i].key, value);
        write_unheard(&claimed, &events);
        check(event_writer_load(&claimed.agent, &err), &err);
        assert_int_equal(claimed.agent.is_row_stale, cases[i].is_row_stale);
        assert_int_equal(claimed.agent.has_foreign_stats, cases[i].has_foreign_stats);
        check(event_writer_refresh_row(&claimed.agent, &err), &err);
        assert_false(claimed.agent.is_row_stale);
    }
    claimed_agent_end(&claimed);
}

/* The request is for the model's next call. */
static void request_to_read_the_workspace_leaves_an_answer_alone(void **state)
{
    CLEANUP(event_list_done) struct event_list asked = EVENT_LIST_INIT;
    CLEANUP(event_list_done) struct event_list answer = EVENT_LIST_INIT;
    json_auto_t *value = knowledge_request_event_value(true);
    const struct conversation_write change = {.stats = "{}"};
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    event_add_state(&asked, "agent_state", value);
    write_unheard(&claimed, &asked);
    (void)event_add_agent_message(&answer, "an answer", NULL, "r");
    check(event_writer_append(&claimed.agent, &answer, &change, &err), &err);
    assert_true(claimed.agent.has_new_request);
    assert_false(claimed.agent.is_row_stale);
    assert_written(&claimed, BEGINNING "S(agent_state) Message(agent)");
    claimed_agent_end(&claimed);
}

/* A client may change the conversation between the claim and the loading of its log. */
static void changes_since_the_claim_are_noted(void **state)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *value = json_object();
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    assert_false(claimed.agent.is_row_stale);
    event_add_state(&events, "confirmation_policy", value);
    write_unheard(&claimed, &events);
    history_done(&claimed.agent.history);
    claimed.agent.history = (struct history)HISTORY_INIT;
    claimed.agent.is_tidy = false;
    check(event_writer_load(&claimed.agent, &err), &err);
    assert_true(claimed.agent.is_row_stale);
    claimed_agent_end(&claimed);
}

#define SAYS "{\"turns\": [{\"steps\": [{\"text\": \"hello\"}]}]}"

static void change_row(const struct uuid *id, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", columns, id->text);
    test_sql(sql.text);
}

/* Its user stepped back to the first message. */
static void branch_that_was_left_is_not_read(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    struct uuid id = run_new_conversation(fixture, SAYS, "{}");
    struct claimed_agent claimed;
    json_auto_t *event = NULL;
    struct error err = ERROR_INIT;

    run_last_event(fixture, &id, "MessageEvent", &message);
    check(json_parse(message.text, message.len, &event, &err), &err);
    run_to_end(fixture, &id);
    check(branch_store_navigate(fixture->context.db, &id, json_text_or(event, "id", NULL), &err),
          &err);
    run_again(fixture, &id);
    claimed_agent_begin(&claimed, fixture, &id);
    assert_false(history_has_answer(&claimed.agent.history));
    claimed_agent_end(&claimed);
}

/* They belong to the conversation that the copy was made of. */
static void open_calls_of_the_source_of_a_copy_are_not_read(void **state)
{
    static const struct {
        const char *fork;
        size_t n_pending;
    } rows[] = {{"{\"n_events\": 1}", 1}, {"{\"n_events\": 1000}", 0}};
    struct run_fixture *fixture = *state;
    struct claimed_agent claimed;
    struct uuid id = UUID_INIT;

    claimed_agent_begin_pending(&claimed, fixture, CALLS(COMMAND("x")));
    id = claimed.agent.lease.conversation_id;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(strbuf_done) struct strbuf change = STRBUF_INIT;
        CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;

        agent_done(&claimed.agent);
        run_control_done(&claimed.control);
        strbuf_appendf(&change, "spec = jsonb_set(spec::jsonb, '{forked_from}', '%s')::text",
                       rows[i].fork);
        change_row(&id, change.text);
        run_expire_lease(&id);
        claimed_agent_begin(&claimed, fixture, &id);
        history_find_pending(&claimed.agent.history, &pending);
        assert_int_equal(pending.n, rows[i].n_pending);
    }
    claimed_agent_end(&claimed);
}

/* A client, or another worker, has settled it. */
static void call_has_one_result(void **state)
{
    CLEANUP(event_list_done) struct event_list others = EVENT_LIST_INIT;
    CLEANUP(event_list_done) struct event_list own = EVENT_LIST_INIT;
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf last = STRBUF_INIT;
    struct claimed_agent claimed;
    struct call_ref ref;
    struct error err = ERROR_INIT;

    claimed_agent_begin_pending(&claimed, *state, CALLS(COMMAND("x")));
    history_find_pending(&claimed.agent.history, &pending);
    assert_int_equal(pending.n, 1);
    ref = call_ref_of(&claimed.agent.history.items[pending.items[0]]);
    event_add_agent_error(&others, &ref, "of another");
    event_add_agent_error(&own, &ref, "of this one");
    write_unheard(&claimed, &others);
    assert_int_equal(event_writer_append(&claimed.agent, &own, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    run_last_event(*state, &claimed.agent.lease.conversation_id, "AgentErrorEvent", &last);
    assert_non_null(strstr(last.text, "of another"));
    claimed_agent_end(&claimed);
}

static void end_of_a_run_with_a_goal_asks_for_its_judge(void **state)
{
    static const char SQL_JUDGES[] = "SELECT count(*) FROM jobs WHERE kind = 'goal'";
    struct run_fixture *fixture = *state;
    struct uuid without = run_new_conversation(fixture, SAYS, "{}");
    struct uuid with = UUID_INIT;

    run_to_end(fixture, &without);
    assert_int_equal(test_sql_count(SQL_JUDGES), 0);
    with = run_new_conversation(fixture, SAYS, "{}");
    change_row(&with, "spec = jsonb_set(spec::jsonb, '{goal}', '{\"active\": true, \"status\":"
                      " \"running\", \"iteration\": 1, \"max_iterations\": 3, \"objective\":"
                      " \"green tests\", \"verdict\": null}')::text");
    run_to_end(fixture, &with);
    assert_row(fixture, &with, "finished/-/-");
    assert_int_equal(test_sql_count(SQL_JUDGES), 1);
    test_sql("DELETE FROM jobs WHERE kind = 'goal'");
}

int event_writer_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_write_whose_answer_was_lost_is_not_repeated),
        cmocka_unit_test(write_of_another_is_read_before_the_next_attempt),
        cmocka_unit_test(message_since_the_question_stops_what_it_overtakes),
        cmocka_unit_test(expired_lease_that_no_worker_took_is_renewed),
        cmocka_unit_test(lease_of_another_worker_ends_the_writes),
        cmocka_unit_test(refused_answer_is_planned_again_on_the_row_as_it_is),
        cmocka_unit_test(changes_by_others_are_noted),
        cmocka_unit_test(request_to_read_the_workspace_leaves_an_answer_alone),
        cmocka_unit_test(changes_since_the_claim_are_noted),
        cmocka_unit_test(branch_that_was_left_is_not_read),
        cmocka_unit_test(open_calls_of_the_source_of_a_copy_are_not_read),
        cmocka_unit_test(call_has_one_result),
        cmocka_unit_test(end_of_a_run_with_a_goal_asks_for_its_judge),
    };

    return cmocka_run_group_tests_name("worker/event_writer", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
