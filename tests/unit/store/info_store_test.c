/*
 * Conversations as clients read them: the text that is kept says at any moment what is made anew
 * from the row and the log, whoever wrote last.
 */
#include "store/info_store.h"

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation.h"
#include "model/event.h"
#include "store/branch_store.h"
#include "store/db.h"
#include "store/store_fixture.h"
#include "store/task_store.h"
#include "support/pg.h"
#include "support/sql.h"

/* The only one of the scope with that id, as the list tells it; a new reference. */
static json_t *told(const struct store_fixture *fixture, const struct uuid *id)
{
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    assert_done(info_store_load_many(fixture->db, &fixture->scope, id, 1, &list, &err), &err);
    assert_int_equal(list.n, 1);
    assert_done(conversation_append_info(&list.items[0].texts, &text, &err), &err);
    strbuf_append(&text, ",\"runtime_info\":null}");
    assert_true(text.len <= list.n_bytes);
    assert_done(json_parse(text.text, text.len, &json, &err), &err);
    return json;
}

/* Read twice: what the first reader completes, the second one takes as it is kept. */
static void assert_told_true(const struct store_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *made = NULL;

    assert_done(conversation_store_load_any(fixture->db, id, &conversation, &err), &err);
    made = conversation_info_brief(&conversation);
    for (int i = 0; i < 2; i++) {
        json_auto_t *kept = told(fixture, id);

        assert_int_equal(json_equal(kept, made), 1);
    }
}

static bool row_is(const struct uuid *id, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM conversations WHERE id = '%s' AND (%s)", id->text,
                   condition);
    return test_sql_count(sql.text) == 1;
}

static void set_row(const struct uuid *id, const char *assignments)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", assignments, id->text);
    test_sql(sql.text);
}

static void add_message(struct event_list *events)
{
    event_add_environment_message(events, "said");
}

static void add_status(struct event_list *events)
{
    event_add_status(events, STATUS_RUNNING);
}

static void write_as(const struct store_fixture *fixture, struct conversation *conversation,
                     const struct conversation_write *write, void (*add)(struct event_list *events))
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct error err = ERROR_INIT;

    if (add != NULL)
        add(&events);
    assert_done(conversation_store_write(fixture->db, conversation, &events, write, &err), &err);
    assert_told_true(fixture, &conversation->id);
}

static void append(const struct store_fixture *fixture, struct claim *claim,
                   void (*add)(struct event_list *events))
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct error err = ERROR_INIT;

    add(&events);
    assert_done(
        conversation_store_append(fixture->db, &claim->lease, &claim->conversation, &events, &err),
        &err);
    assert_told_true(fixture, &claim->conversation.id);
}

static json_t *spec_with(const char *name)
{
    struct error err = ERROR_INIT;
    json_t *spec = NULL;
    const char text[] = "{\"agent\":{\"llm\":{\"api_key\":\"**********\"},"
                        "\"agent_context\":{\"skills\":[{\"name\":\"long\"}]}},"
                        "\"max_iterations\":7,\"client_tools\":[{\"name\":\"a \\\"tool\\\"\"}]}";

    assert_done(json_parse(text, sizeof(text) - 1, &spec, &err), &err);
    json_put_text(spec, name, "set");
    return spec;
}

static void all_writers_leave_what_is_true(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation client = store_create(fixture);
    CLEANUP(claim_done) struct claim claim = {.conversation = CONVERSATION_INIT};
    json_auto_t *spec = spec_with("autotitle");
    const struct conversation_write plain = {.guard = GUARD_NONE};
    const struct conversation_write titled = {.title = "A \"title\"\n of \\ Größe"};
    const struct conversation_write respec = {.spec = spec};
    const struct conversation_write run = {.status = "running", .want_run = true};
    const struct conversation_write stats = {.stats = "{\"usage_to_metrics\":{\"agent\":{}}}"};
    struct conversation_write step = {.guard = GUARD_LEASE, .lease = &claim.lease};
    struct conversation_write end = {
        .guard = GUARD_LEASE, .lease = &claim.lease, .status = "finished", .end_run = true};

    assert_told_true(fixture, &client.id);
    assert_true(row_is(&client.id, "is_leaf_known AND spec_info IS NOT NULL"));
    write_as(fixture, &client, &plain, add_message);
    write_as(fixture, &client, &titled, NULL);
    write_as(fixture, &client, &respec, NULL);
    write_as(fixture, &client, &stats, add_status);
    write_as(fixture, &client, &run, add_message);
    assert_true(row_is(&client.id, "is_leaf_known AND spec_info IS NOT NULL"));
    claim = store_claim(fixture, &client);
    assert_told_true(fixture, &client.id);
    append(fixture, &claim, add_message);
    append(fixture, &claim, add_status);
    write_as(fixture, &claim.conversation, &step, add_message);
    append(fixture, &claim, add_message);
    assert_true(row_is(&client.id, "NOT is_leaf_known"));
    write_as(fixture, &claim.conversation, &end, add_status);
    assert_true(row_is(&client.id, "is_leaf_known AND leaf_event_id IS NOT NULL"));
}

static void message_to_a_running_conversation_is_told(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation client = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &client);
    const struct conversation_write plain = {.guard = GUARD_NONE};
    const struct conversation_write end = {
        .guard = GUARD_LEASE, .lease = &claim.lease, .status = "finished", .end_run = true};
    struct error err = ERROR_INIT;

    write_as(fixture, &client, &plain, add_message);
    conversation_done(&claim.conversation);
    assert_done(conversation_store_load_any(fixture->db, &client.id, &claim.conversation, &err),
                &err);
    append(fixture, &claim, add_message);
    /* Without an event its number guards nothing: another's may come in the middle. */
    write_as(fixture, &claim.conversation, &end, NULL);
    write_as(fixture, &claim.conversation, &plain, add_message);
    assert_true(row_is(&client.id, "is_leaf_known"));
}

static void run_that_is_handed_over_or_waits_is_told(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(conversation_done) struct conversation child = store_new_conversation(fixture);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(claim_done) struct claim first = store_claim(fixture, &made);
    CLEANUP(claim_done) struct claim second = {.conversation = CONVERSATION_INIT};
    const struct conversation_write write = {.status = "running", .want_run = true};
    const struct task_work work = {&child, &events, &write};
    const struct task_wait wait = {.lease = &second.lease, .child_id = child.id};
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    append(fixture, &first, add_message);
    assert_done(conversation_store_hand_over(fixture->db, &first.lease, &err), &err);
    assert_told_true(fixture, &made.id);
    /* An append that was under way may still come in: nothing is kept. */
    assert_true(row_is(&made.id, "NOT is_leaf_known"));
    second = store_claim(fixture, &made);
    append(fixture, &second, add_message);
    child.parent_id = made.id;
    child.is_sub_agent = true;
    add_message(&events);
    assert_done(task_store_begin(fixture->db, &wait, &work, stop, &err), &err);
    assert_told_true(fixture, &made.id);
    assert_told_true(fixture, &child.id);
}

static void copies_and_branches_are_told(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation source = store_create(fixture);
    CLEANUP(conversation_done) struct conversation copy = store_new_conversation(fixture);
    const struct conversation_write plain = {.guard = GUARD_NONE};
    const struct fork fork = {.source_id = source.id};
    struct error err = ERROR_INIT;
    struct uuid first = UUID_INIT;

    write_as(fixture, &source, &plain, add_message);
    first = source.leaf_event_id;
    write_as(fixture, &source, &plain, add_message);
    assert_done(branch_store_fork(fixture->db, &fork, &copy, &err), &err);
    assert_told_true(fixture, &copy.id);
    assert_true(row_is(&copy.id, "is_leaf_known"));
    assert_done(branch_store_navigate(fixture->db, &source.id, first.text, &err), &err);
    assert_told_true(fixture, &source.id);
    write_as(fixture, &source, &plain, add_status);
    write_as(fixture, &source, &plain, add_message);
    assert_done(branch_store_navigate(fixture->db, &source.id, NULL, &err), &err);
    assert_told_true(fixture, &source.id);
}

static void rows_from_before_are_completed_by_their_reader(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    const struct conversation_write plain = {.guard = GUARD_NONE};

    write_as(fixture, &made, &plain, add_message);
    set_row(&made.id, "spec_info = NULL, leaf_event_id = NULL, is_leaf_known = false");
    assert_told_true(fixture, &made.id);
    assert_true(row_is(&made.id, "is_leaf_known AND spec_info IS NOT NULL"));
}

static void text_of_another_specification_is_forgotten(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);

    set_row(&made.id, "spec = '{\"max_iterations\": 3}'");
    assert_true(row_is(&made.id, "spec_info IS NULL"));
    assert_told_true(fixture, &made.id);
    assert_true(row_is(&made.id, "spec_info::json ->> 'max_iterations' = '3'"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_writers_leave_what_is_true),
        cmocka_unit_test(message_to_a_running_conversation_is_told),
        cmocka_unit_test(run_that_is_handed_over_or_waits_is_told),
        cmocka_unit_test(copies_and_branches_are_told),
        cmocka_unit_test(rows_from_before_are_completed_by_their_reader),
        cmocka_unit_test(text_of_another_specification_is_forgotten),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
