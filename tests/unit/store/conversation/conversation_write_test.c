/*
 * Writes of a conversation's row: each member changes what it names and nothing else, and the
 * writer's copy is as the row afterwards.
 */
#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_insert.h"
#include "store/store_fixture.h"
#include "store/user/spending_store.h"
#include "support/pg.h"
#include "support/sql.h"

#define ID "0f8fad5b-d9cb-469f-a165-70867728950e"
#define OTHER_ID "7c9e6679-7425-40de-944b-e07fc1f90ae7"

/* The row before each write. */
#define ROW                                                                                        \
    "execution_status = 'paused', wanted_at = '2020-01-01T00:00:00Z', stop_requested = 'pause',"   \
    " is_suspended = true, claim_count = 4, snapshot_version = 5, stats = '{\"old\": 1}',"         \
    " agent_state = '{\"old\": 2}', spec = '{\"old\": 3}', title = 'old', secrets = 'old',"        \
    " last_user_message_id = '" ID "', spec_info = 'old'"

enum column {
    STATUS,
    WANTED,
    STOP,
    IS_SUSPENDED,
    CLAIM_COUNT,
    SNAPSHOT,
    STATS,
    AGENT_STATE,
    SPEC,
    TITLE,
    SECRETS,
    LAST_USER_MESSAGE,
    SPEC_INFO,
    N_COLUMNS,
};

static const char *const unchanged[N_COLUMNS] = {
    [STATUS] = "execution_status = 'paused'",
    [WANTED] = "wanted_at = '2020-01-01T00:00:00Z'",
    [STOP] = "stop_requested = 'pause'",
    [IS_SUSPENDED] = "is_suspended",
    [CLAIM_COUNT] = "claim_count = 4",
    [SNAPSHOT] = "snapshot_version = 5",
    [STATS] = "stats = '{\"old\": 1}'",
    [AGENT_STATE] = "agent_state = '{\"old\": 2}'",
    [SPEC] = "spec = '{\"old\": 3}'",
    [TITLE] = "title = 'old'",
    [SECRETS] = "secrets = 'old'",
    [LAST_USER_MESSAGE] = "last_user_message_id = '0f8fad5b-d9cb-469f-a165-70867728950e'",
    [SPEC_INFO] = "spec_info = 'old'",
};

static void set_row(const struct uuid *id, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", columns, id->text);
    test_sql(sql.text);
}

static void assert_row(const struct uuid *id, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM conversations WHERE id = '%s' AND %s", id->text,
                   condition);
    if (test_sql_count(sql.text) != 1)
        fail_msg("not so: %s", condition);
}

static struct conversation load(const struct store_fixture *fixture, const struct uuid *id)
{
    struct conversation found = CONVERSATION_INIT;
    struct error err = ERROR_INIT;

    assert_done(conversation_store_load(fixture->db, &fixture->scope, id, &found, &err), &err);
    return found;
}

/* The writer's copy is as if it had been read after its write. */
static void assert_same(const struct conversation *copy, const struct conversation *row)
{
    assert_int_equal(copy->status, row->status);
    assert_int_equal(copy->is_wanted, row->is_wanted);
    assert_int_equal(copy->is_leased, row->is_leased);
    assert_int_equal(copy->snapshot_version, row->snapshot_version);
    assert_string_equal(copy->last_user_message_id.text, row->last_user_message_id.text);
    assert_string_equal(copy->leaf_event_id.text, row->leaf_event_id.text);
    assert_int_equal(copy->last_seq, row->last_seq);
    assert_int_equal(copy->last_timestamp_us, row->last_timestamp_us);
    assert_string_equal(copy->version, row->version);
}

struct expected {
    enum column column;
    const char *condition;
};

static void assert_columns(const struct uuid *id, const struct expected *changed, size_t n)
{
    for (int column = 0; column < N_COLUMNS; column++) {
        const char *condition = unchanged[column];

        for (size_t i = 0; i < n; i++) {
            if ((int)changed[i].column == column && changed[i].condition != NULL)
                condition = changed[i].condition;
        }
        assert_row(id, condition);
    }
    assert_row(id, "updated_at > now() - interval '10 minutes'");
}

static void add_wait(const struct uuid *id, const struct uuid *child_id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "INSERT INTO task_waits VALUES ('%s', '%s')", id->text, child_id->text);
    test_sql(sql.text);
}

static int count_waits(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM task_waits WHERE conversation_id = '%s'", id->text);
    return (int)test_sql_count(sql.text);
}

static void each_member_changes_what_it_names(void **state)
{
    json_auto_t *object = json_loads("{\"new\": 1}", 0, NULL);
    const struct {
        struct conversation_write write;
        struct expected changed[7];
    } cases[] = {
        {{.guard = GUARD_NONE}, {{STATUS, NULL}}},
        {{.status = "running"}, {{STATUS, "execution_status = 'running'"}}},
        {{.want_run = true}, {{STATUS, NULL}}}, /* it is wanted already */
        {{.end_run = true},
         {{WANTED, "wanted_at IS NULL"},
          {STOP, "stop_requested IS NULL"},
          {IS_SUSPENDED, "NOT is_suspended"},
          {CLAIM_COUNT, "claim_count = 0"}}},
        {{.bump_snapshot = true}, {{SNAPSHOT, "snapshot_version = 6"}}},
        {{.made_progress = true}, {{CLAIM_COUNT, "claim_count = 0"}}},
        {{.stats = "{\"new\": 1}"}, {{STATS, "stats = '{\"new\": 1}'"}}},
        {{.agent_state = object}, {{AGENT_STATE, "agent_state = '{\"new\":1}'"}}},
        {{.spec = object},
         {{SPEC, "spec = '{\"new\":1}'"}, {SPEC_INFO, "spec_info NOT IN ('old', '{\"new\":1}')"}}},
        {{.title = "new"}, {{TITLE, "title = 'new'"}}},
        {{.first_title = "new"}, {{STATUS, NULL}}}, /* it has a title */
        {{.secrets = "new"}, {{SECRETS, "secrets = 'new'"}}},
        {{.last_user_message_id = {OTHER_ID}},
         {{LAST_USER_MESSAGE, "last_user_message_id = '" OTHER_ID "'"}}},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(conversation_done) struct conversation made = store_create(fixture);
        CLEANUP(conversation_done) struct conversation copy = CONVERSATION_INIT;
        CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
        struct error err = ERROR_INIT;

        set_row(&made.id, ROW ", updated_at = now() - interval '1 hour'");
        copy = load(fixture, &made.id);
        event_add_pause(&events);
        assert_done(conversation_store_write(fixture->db, &copy, &events, &cases[i].write, &err),
                    &err);
        assert_columns(&made.id, cases[i].changed, 7);
        row = load(fixture, &made.id);
        assert_same(&copy, &row);
        store_assert_gapless(fixture, &made.id, 1);
    }
}

/* A result ends the waits for its sub-agents; the end of the run ends all. */
static void waits_end_with_their_results_or_with_the_run(void **state)
{
    static const struct {
        bool end_run;
        size_t n_ended;
        int64_t cost_nanos;
        int n_left;
    } cases[] = {
        {false, 0, 0, 3}, {false, 2, 0, 1}, {true, 0, 0, 0}, {false, 1, 7, 2}, {true, 0, 7, 0}};
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(conversation_done) struct conversation made = store_create(fixture);
        CLEANUP(conversation_done) struct conversation other = store_create(fixture);
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
        const struct uuid ids[] = {uuid_random(), uuid_random(), uuid_random()};
        const struct conversation_write write = {.end_run = cases[i].end_run,
                                                 .cost_nanos = cases[i].cost_nanos,
                                                 .ended_waits = ids,
                                                 .n_ended_waits = cases[i].n_ended};
        struct error err = ERROR_INIT;

        for (size_t k = 0; k < 3; k++) {
            add_wait(&made.id, &ids[k]);
            add_wait(&other.id, &ids[k]);
        }
        event_add_pause(&events);
        assert_done(conversation_store_write(fixture->db, &made, &events, &write, &err), &err);
        assert_int_equal(count_waits(&made.id), cases[i].n_left);
        assert_int_equal(count_waits(&other.id), 3);
    }
}

static void run_and_title_are_set_where_there_is_none(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list none = EVENT_LIST_INIT;
    const struct conversation_write write = {.want_run = true, .first_title = "first"};
    struct error err = ERROR_INIT;

    assert_done(conversation_store_write(fixture->db, &made, &none, &write, &err), &err);
    assert_row(&made.id, "title = 'first' AND wanted_at > now() - interval '10 minutes'");
    row = load(fixture, &made.id);
    assert_same(&made, &row);
    assert_string_equal(row.title, "first");
    store_assert_gapless(fixture, &made.id, 0);
}

static void job_of_a_write_is_queued_with_it(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(event_list_done) struct event_list none = EVENT_LIST_INIT;
    json_auto_t *payload = json_loads("{\"a\": 1}", 0, NULL);
    struct conversation_write write = {.job = {.kind = "ask", .payload = payload}};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    write.job.key = uuid_random();
    assert_done(conversation_store_write(fixture->db, &made, &none, &write, &err), &err);
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM jobs WHERE conversation_id = '%s' AND kind = 'ask'"
                   " AND payload = '{\"a\": 1}' AND key = '%s'",
                   made.id.text, write.job.key.text);
    assert_int_equal(test_sql_count(sql.text), 1);
    write.job = (struct job_request){.kind = "title"};
    assert_done(conversation_store_write(fixture->db, &made, &none, &write, &err), &err);
    strbuf_reset(&sql);
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM jobs WHERE conversation_id = '%s' AND kind = 'title'"
                   " AND payload = '{}' AND key IS NOT NULL",
                   made.id.text);
    assert_int_equal(test_sql_count(sql.text), 1);
}

/* A run that ends gives the lease back, whatever else is written. */
static void end_of_a_run_frees_the_lease(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write goes_on = {
        .guard = GUARD_LEASE, .lease = &claim.lease, .made_progress = true};
    const struct conversation_write ends = {
        .guard = GUARD_LEASE, .lease = &claim.lease, .status = "finished", .end_run = true};
    struct error err = ERROR_INIT;

    event_add_pause(&events);
    assert_done(conversation_store_write(fixture->db, &claim.conversation, &events, &goes_on, &err),
                &err);
    assert_row(&made.id, "lease_owner IS NOT NULL AND lease_expires_at > now()");
    event_list_done(&events);
    events = (struct event_list)EVENT_LIST_INIT;
    event_add_pause(&events);
    assert_done(conversation_store_write(fixture->db, &claim.conversation, &events, &ends, &err),
                &err);
    assert_row(&made.id, "lease_owner IS NULL AND lease_expires_at IS NULL");
    row = load(fixture, &made.id);
    assert_same(&claim.conversation, &row);
    assert_int_equal(row.status, STATUS_FINISHED);
}

/* What the store functions say of a user's spending, with limits that are never reached. */
static struct spending spending_of(const struct store_fixture *fixture)
{
    const struct budget_limits limits = {1000000, 1000000};
    struct spending spending = {.user_nanos = 0};
    struct error err = ERROR_INIT;

    assert_done(spending_store_read(fixture->db, &fixture->user_id, &limits, &spending, &err),
                &err);
    return spending;
}

/* Booked with the stats; kept when the conversation is deleted. */
static void cost_of_a_call_is_booked_with_its_write(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    const struct spending before = spending_of(fixture);
    struct lease lost = claim.lease;
    struct conversation_write write = {
        .guard = GUARD_LEASE, .lease = &claim.lease, .stats = "{}", .cost_nanos = 1500000000};
    struct spending after = {.user_nanos = 0};
    struct error err = ERROR_INIT;

    for (int i = 0; i < 2; i++) {
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;

        event_add_pause(&events);
        assert_done(
            conversation_store_write(fixture->db, &claim.conversation, &events, &write, &err),
            &err);
    }
    lost.fence++;
    write.lease = &lost;
    {
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;

        event_add_pause(&events);
        assert_int_equal(
            conversation_store_write(fixture->db, &claim.conversation, &events, &write, &err), -1);
    }
    set_row(&made.id, "wanted_at = NULL, lease_owner = NULL, lease_expires_at = NULL");
    test_sql("DELETE FROM conversations WHERE wanted_at IS NULL");
    after = spending_of(fixture);
    assert_int_equal(after.user_nanos - before.user_nanos, 3000000000);
    assert_int_equal(after.day_nanos - before.day_nanos, 3000000000);
    assert_true(after.user_limit_nanos == INT64_C(10000) * 1000000000);
}

/* A message that came after the run had found its conversation finished wants another run. */
static void run_that_ends_without_a_word_keeps_what_was_requested_since(void **state)
{
    static const struct {
        const char *row_status;
        const char *status;
        bool has_event;
        bool is_wanted;
    } cases[] = {
        {"running", NULL, false, true},   {"idle", NULL, false, true},
        {"finished", NULL, false, false}, {"running", "finished", false, false},
        {"running", NULL, true, false},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
        CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
        CLEANUP(strbuf_done) struct strbuf columns = STRBUF_INIT;
        const struct conversation_write ends = {.guard = GUARD_LEASE,
                                                .lease = &claim.lease,
                                                .status = cases[i].status,
                                                .end_run = true};
        struct error err = ERROR_INIT;

        strbuf_appendf(&columns, "execution_status = '%s'", cases[i].row_status);
        set_row(&made.id, columns.text);
        if (cases[i].has_event)
            event_add_pause(&events);
        assert_done(
            conversation_store_write(fixture->db, &claim.conversation, &events, &ends, &err), &err);
        assert_row(&made.id, cases[i].is_wanted ? "wanted_at IS NOT NULL" : "wanted_at IS NULL");
        assert_row(&made.id, "lease_owner IS NULL AND lease_expires_at IS NULL");
        set_row(&made.id, "wanted_at = NULL");
    }
}

static void new_conversation_is_stored_with_all_that_is_given(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation parent = store_create(fixture);
    CLEANUP(conversation_done) struct conversation made = store_new_conversation(fixture);
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.status = "running",
                                             .want_run = true,
                                             .stats = "{\"s\": 1}",
                                             .first_title = "first",
                                             .last_user_message_id = {OTHER_ID},
                                             .job = {.kind = "title"}};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;
    bool was_there = true;

    made.parent_id = parent.id;
    made.runtime_kind = RUNTIME_DOCKER;
    made.is_sub_agent = true;
    made.secrets = mem_dup_text("sealed");
    made.agent_state = json_loads("{\"a\": 1}", 0, NULL);
    json_put_text(made.spec, "member", "m");
    event_add_pause(&events);
    event_add_status(&events, STATUS_RUNNING);
    assert_done(conversation_store_create(fixture->db, &made, &events, &write, &was_there, &err),
                &err);
    assert_false(was_there);
    row = load(fixture, &made.id);
    assert_string_equal(row.user_id.text, fixture->user_id.text);
    assert_string_equal(row.parent_id.text, parent.id.text);
    assert_int_equal(row.runtime_kind, RUNTIME_DOCKER);
    assert_string_equal(row.runtime_session, "u-test");
    assert_string_equal(row.title, "first");
    assert_string_equal(row.secrets, "sealed");
    assert_true(row.is_sub_agent);
    assert_true(row.is_wanted);
    assert_int_equal(json_int_or(row.stats, "s", 0), 1);
    assert_int_equal(json_int_or(row.agent_state, "a", 0), 1);
    assert_string_equal(json_text_or(row.spec, "member", ""), "m");
    assert_string_equal(row.last_user_message_id.text, OTHER_ID);
    assert_int_equal(row.created_at_us, made.created_at_us);
    assert_int_equal(row.updated_at_us, row.created_at_us);
    assert_int_equal(row.last_seq, 2);
    assert_int_equal(made.last_seq, row.last_seq);
    assert_int_equal(made.last_timestamp_us, row.last_timestamp_us);
    assert_string_equal(row.leaf_event_id.text, events.items[0].id.text);
    assert_int_equal(made.status, STATUS_RUNNING);
    assert_row(&made.id, "is_leaf_known AND spec_info IS NOT NULL");
    strbuf_appendf(&sql, "SELECT count(*) FROM jobs WHERE conversation_id = '%s'", made.id.text);
    assert_int_equal(test_sql_count(sql.text), 1);
}

static void row_tells_children_branches_and_whether_it_has_begun(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(conversation_done) struct conversation first = store_create(fixture);
    CLEANUP(conversation_done) struct conversation second = store_create(fixture);
    CLEANUP(conversation_done) struct conversation before = load(fixture, &made.id);
    CLEANUP(conversation_done) struct conversation after = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf children = STRBUF_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    assert_null(before.children);
    assert_null(before.title);
    assert_null(before.secrets);
    assert_false(before.is_branched);
    assert_false(before.is_begun);
    assert_false(before.is_sub_agent);
    assert_int_equal(before.runtime_kind, RUNTIME_LOCAL);
    assert_int_equal(before.last_seq, 0);
    assert_int_equal(before.last_timestamp_us, 0);
    strbuf_appendf(&sql,
                   "UPDATE conversations SET parent_id = '%s', created_at ="
                   " CASE WHEN id = '%s' THEN now() ELSE now() + interval '1 hour' END"
                   " WHERE id IN ('%s', '%s')",
                   made.id.text, second.id.text, first.id.text, second.id.text);
    test_sql(sql.text);
    event_add_pause(&events);
    (void)event_add_agent_message(&events, "words", NULL, NULL);
    assert_done(conversation_store_write(fixture->db, &made, &events, &write, &err), &err);
    strbuf_reset(&sql);
    strbuf_appendf(&sql, "INSERT INTO branches VALUES ('%s', 3, 2)", made.id.text);
    test_sql(sql.text);
    after = load(fixture, &made.id);
    strbuf_appendf(&children, "%s,%s", second.id.text, first.id.text);
    assert_string_equal(after.children, children.text);
    assert_true(after.is_branched);
    assert_true(after.is_begun);
    assert_string_equal(after.leaf_event_id.text, events.items[1].id.text);
}

static void event_above_the_limit_is_refused(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf code = STRBUF_INIT;
    struct error err = ERROR_INIT;
    struct event *event = NULL;

    (void)state;
    event_add_conversation_error(&list, "", "");
    event = &list.items[0];
    assert_done(event_write_checked(event, &err), &err);
    for (size_t n = EVENT_MAX_BYTES - event->text_len; n > 0; n--)
        strbuf_append_char(&code, 'x');
    json_put_text(event->json, "code", code.text);
    assert_done(event_write_checked(event, &err), &err);
    assert_int_equal(event->text_len, EVENT_MAX_BYTES);
    strbuf_append_char(&code, 'x');
    json_put_text(event->json, "code", code.text);
    assert_int_equal(event_write_checked(event, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_member_changes_what_it_names),
        cmocka_unit_test(waits_end_with_their_results_or_with_the_run),
        cmocka_unit_test(run_and_title_are_set_where_there_is_none),
        cmocka_unit_test(job_of_a_write_is_queued_with_it),
        cmocka_unit_test(event_above_the_limit_is_refused),
        cmocka_unit_test(end_of_a_run_frees_the_lease),
        cmocka_unit_test(cost_of_a_call_is_booked_with_its_write),
        cmocka_unit_test(run_that_ends_without_a_word_keeps_what_was_requested_since),
        cmocka_unit_test(new_conversation_is_stored_with_all_that_is_given),
        cmocka_unit_test(row_tells_children_branches_and_whether_it_has_begun),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
