/*
 * Conversations as clients read them: the cached text always equals the text made from the row and
 * the log, after a write of any kind.
 */
#include "store/conversation/info_store.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <jansson.h>
#include <libpq-fe.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/task_store.h"
#include "store/db/db.h"
#include "store/db/db_query.h"
#include "store/store_fixture.h"
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
    CLEANUP(conversation_done) struct conversation branched = store_create(fixture);
    CLEANUP(claim_done) struct claim claim = {.conversation = CONVERSATION_INIT};
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *spec = spec_with("autotitle");
    const struct conversation_write plain = {.guard = GUARD_NONE};
    const struct conversation_write titled = {.title = "A \"title\"\n of \\ Größe"};
    const struct conversation_write respec = {.spec = spec};
    const struct conversation_write run = {.status = "running", .want_run = true};
    const struct conversation_write stats = {.stats = "{\"usage_to_metrics\":{\"agent\":{}}}"};
    struct conversation_write step = {.guard = GUARD_LEASE, .lease = &claim.lease};
    struct conversation_write end = {
        .guard = GUARD_LEASE, .lease = &claim.lease, .status = "finished", .end_run = true};
    struct error err = ERROR_INIT;

    /* Branches and later numbers of another conversation change nothing. */
    for (int i = 0; i < 20; i++)
        write_as(fixture, &branched, &plain, add_message);
    assert_done(branch_store_navigate(fixture->db, &branched.id, NULL, &err), &err);
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
    add_status(&events);
    assert_done(conversation_store_write(fixture->db, &claim.conversation, &events, &end, &err),
                &err);
    assert_true(row_is(&client.id, "is_leaf_known AND leaf_event_id IN (SELECT e.id FROM events e"
                                   " WHERE e.conversation_id = conversations.id)"));
    assert_told_true(fixture, &client.id);
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
    const struct task_work work = {
        .lease = &second.lease, .child = &child, .events = &events, .write = &write};
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
    assert_done(task_store_begin(fixture->db, &work, stop, &err), &err);
    assert_done(task_store_suspend(fixture->db, &second.lease, &child.id, 1, &err), &err);
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

/* A reader in a thread of its own. */
struct reader {
    const struct store_fixture *fixture;
    struct uuid id;
    _Atomic(bool) is_done;
};

static void *read_it(void *argument)
{
    struct reader *reader = argument;
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;
    struct error err = ERROR_INIT;

    assert_done(info_store_load_many(reader->fixture->db, &reader->fixture->scope, &reader->id, 1,
                                     &list, &err),
                &err);
    assert_int_equal(list.n, 1);
    atomic_store(&reader->is_done, true);
    return NULL;
}

static void locked_row_is_left_to_the_next_reader(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    struct reader reader = {.fixture = fixture, .id = made.id};
    struct test_tx *tx = NULL;
    pthread_t thread = 0;
    int64_t n_waiting = 0;

    set_row(&made.id, "spec_info = NULL, leaf_event_id = NULL, is_leaf_known = false");
    tx = test_tx_begin();
    test_tx_sql(tx, "SELECT 1 FROM conversations FOR UPDATE");
    pthread_create(&thread, NULL, read_it, &reader);
    while (!atomic_load(&reader.is_done) && n_waiting == 0)
        n_waiting = test_sql_count("SELECT count(*) FROM pg_stat_activity WHERE"
                                   " wait_event_type = 'Lock' AND datname = current_database()");
    test_tx_commit(tx);
    pthread_join(thread, NULL);
    assert_int_equal(n_waiting, 0);
    assert_true(row_is(&made.id, "spec_info IS NULL AND NOT is_leaf_known"));
    assert_told_true(fixture, &made.id);
    assert_true(row_is(&made.id, "spec_info IS NOT NULL AND is_leaf_known"));
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

/* --- lists --- */

enum { N_LISTED = 7 };

/* A user of the test's own with conversations, in the order in which they were made. */
struct listed {
    struct store_fixture fixture;
    struct uuid ids[N_LISTED];
};

/* updated_at goes against created_at; two of each are equal. */
static struct listed make_listed(const struct store_fixture *fixture)
{
    struct listed listed = {.fixture = *fixture};

    listed.fixture.user_id = test_user(fixture->db);
    listed.fixture.scope = (struct conversation_scope){.user_id = listed.fixture.user_id};
    for (int i = 0; i < N_LISTED; i++) {
        CLEANUP(conversation_done) struct conversation made = store_create(&listed.fixture);
        CLEANUP(strbuf_done) struct strbuf times = STRBUF_INIT;

        strbuf_appendf(&times,
                       "created_at = '2026-01-01'::timestamptz + interval '%d s',"
                       " updated_at = '2026-02-01'::timestamptz - interval '%d s'",
                       i == 3 ? 2 : i, i == 3 ? 2 : i);
        set_row(&made.id, times.text);
        listed.ids[i] = made.id;
    }
    return listed;
}

static struct uuid next_of(const struct listed *listed, const struct conversation_filter *filter,
                           size_t n_expected, struct uuid *ids_out)
{
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;
    struct error err = ERROR_INIT;

    assert_done(info_store_search(listed->fixture.db, filter, &list, &err), &err);
    assert_int_equal(list.n, n_expected);
    for (size_t i = 0; i < list.n; i++)
        ids_out[i] = list.items[i].texts.id;
    return list.next_id;
}

/* All of them, a page after the other. */
static void walk(const struct listed *listed, bool by_updated, bool ascending, int64_t limit,
                 struct uuid ids[N_LISTED])
{
    struct conversation_filter filter = {.scope = listed->fixture.scope,
                                         .by_updated = by_updated,
                                         .ascending = ascending,
                                         .limit = limit};
    size_t n = 0;

    while (n < N_LISTED) {
        size_t n_page = N_LISTED - n < (size_t)limit ? N_LISTED - n : (size_t)limit;

        filter.from_id = next_of(listed, &filter, n_page, ids + n);
        n += n_page;
        assert_int_equal(uuid_is_set(&filter.from_id), n < N_LISTED);
    }
}

/* The position of i in a list of that order; the equal pair is ordered by the id. */
static size_t place_of(const struct listed *listed, size_t i, bool by_updated, bool ascending)
{
    bool is_forward = by_updated != ascending;
    bool is_swapped = (strcmp(listed->ids[2].text, listed->ids[3].text) < 0) != ascending;
    size_t at = is_forward ? i : N_LISTED - 1 - i;

    if ((i == 2 || i == 3) && is_forward == is_swapped)
        at = is_forward ? 5 - i : N_LISTED - 1 - (5 - i);
    return at;
}

static void pages_of_each_order_and_size_show_all_once(void **state)
{
    struct listed listed = make_listed(*state);

    for (int order = 0; order < 4; order++) {
        bool by_updated = order / 2 == 1;
        bool ascending = order % 2 == 1;

        for (int64_t limit = 1; limit <= N_LISTED + 1; limit++) {
            struct uuid ids[N_LISTED];

            walk(&listed, by_updated, ascending, limit, ids);
            for (size_t i = 0; i < N_LISTED; i++)
                assert_string_equal(ids[place_of(&listed, i, by_updated, ascending)].text,
                                    listed.ids[i].text);
        }
    }
}

static void page_of_another_users_conversation_is_the_first(void **state)
{
    struct listed listed = make_listed(*state);
    struct listed strangers = make_listed(*state);
    struct conversation_filter filter = {.scope = listed.fixture.scope, .limit = N_LISTED};
    struct uuid ids[N_LISTED];

    filter.from_id = strangers.ids[1];
    (void)next_of(&listed, &filter, N_LISTED, ids);
    assert_string_equal(ids[0].text, listed.ids[N_LISTED - 1].text);
    filter.from_id = listed.ids[1];
    (void)next_of(&listed, &filter, 2, ids);
    assert_string_equal(ids[0].text, listed.ids[1].text);
}

static void filters_of_lists_leave_out_the_others(void **state)
{
    struct listed listed = make_listed(*state);
    struct conversation_filter filter = {.scope = listed.fixture.scope, .limit = N_LISTED};
    struct uuid ids[N_LISTED];
    int64_t n = 0;
    struct error err = ERROR_INIT;

    set_row(&listed.ids[1], "execution_status = 'finished'");
    set_row(&listed.ids[4], "execution_status = 'finished', runtime_session = 'c-own'");
    filter.status = "finished";
    (void)next_of(&listed, &filter, 2, ids);
    assert_string_equal(ids[0].text, listed.ids[4].text);
    assert_string_equal(ids[1].text, listed.ids[1].text);
    filter.scope.runtime_session = "c-own";
    (void)next_of(&listed, &filter, 1, ids);
    assert_string_equal(ids[0].text, listed.ids[4].text);
    assert_done(conversation_store_count(listed.fixture.db, &filter, &n, &err), &err);
    assert_int_equal(n, 1);
    filter.status = NULL;
    (void)next_of(&listed, &filter, 1, ids);
    filter.scope.runtime_session = "";
    (void)next_of(&listed, &filter, 0, ids);
    filter.scope = (struct conversation_scope){.user_id = test_user(listed.fixture.db)};
    (void)next_of(&listed, &filter, 0, ids);
}

static size_t n_loaded(const struct listed *listed, const struct conversation_scope *scope)
{
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;
    struct error err = ERROR_INIT;

    assert_done(info_store_load_many(listed->fixture.db, scope, listed->ids, N_LISTED, &list, &err),
                &err);
    return list.n;
}

static void ids_of_others_are_not_loaded(void **state)
{
    struct listed listed = make_listed(*state);
    struct conversation_scope scope = listed.fixture.scope;

    set_row(&listed.ids[4], "runtime_session = 'c-own'");
    assert_int_equal(n_loaded(&listed, &scope), N_LISTED);
    scope.runtime_session = "c-own";
    assert_int_equal(n_loaded(&listed, &scope), 1);
    scope.runtime_session = "";
    assert_int_equal(n_loaded(&listed, &scope), 0);
    scope = (struct conversation_scope){.user_id = test_user(listed.fixture.db)};
    assert_int_equal(n_loaded(&listed, &scope), 0);
}

/* --- what is kept --- */

static void writer_of_a_specification_keeps_its_text(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(event_list_done) struct event_list none = EVENT_LIST_INIT;
    json_auto_t *spec = spec_with("autotitle");
    const struct conversation_write respec = {.spec = spec};
    struct error err = ERROR_INIT;

    assert_told_true(fixture, &made.id);
    assert_done(conversation_store_write(fixture->db, &made, &none, &respec, &err), &err);
    assert_true(row_is(&made.id, "spec_info::json ->> 'max_iterations' = '7'"));
}

static void run_that_ends_on_a_branch_tells_the_branchs_leaf(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(claim_done) struct claim claim = {.conversation = CONVERSATION_INIT};
    const struct conversation_write plain = {.guard = GUARD_NONE};
    const struct conversation_write run = {.status = "running", .want_run = true};
    const struct conversation_write end = {
        .guard = GUARD_LEASE, .lease = &claim.lease, .status = "finished", .end_run = true};
    struct error err = ERROR_INIT;
    struct uuid first = UUID_INIT;
    struct uuid id = made.id;

    write_as(fixture, &made, &plain, add_message);
    first = made.leaf_event_id;
    write_as(fixture, &made, &plain, add_message);
    assert_done(branch_store_navigate(fixture->db, &made.id, first.text, &err), &err);
    conversation_done(&made);
    assert_done(conversation_store_load_any(fixture->db, &id, &made, &err), &err);
    write_as(fixture, &made, &run, add_status);
    claim = store_claim(fixture, &made);
    write_as(fixture, &claim.conversation, &end, add_status);
}

static void children_are_told_in_the_order_of_their_making(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation parent = store_create(fixture);
    CLEANUP(conversation_done) struct conversation one = store_create(fixture);
    CLEANUP(conversation_done) struct conversation two = store_create(fixture);
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf is_child = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&is_child, "parent_id = '%s', created_at = '2026-01-02'", parent.id.text);
    set_row(&one.id, is_child.text);
    strbuf_reset(&is_child);
    strbuf_appendf(&is_child, "parent_id = '%s', created_at = '2026-01-01'", parent.id.text);
    set_row(&two.id, is_child.text);
    strbuf_appendf(&expected, "%s,%s", two.id.text, one.id.text);
    assert_done(info_store_load_many(fixture->db, &fixture->scope, &parent.id, 1, &list, &err),
                &err);
    assert_string_equal(list.items[0].texts.children, expected.text);
}

static void newest_sandbox_of_the_session_is_told(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;
    static const char *const rows[][2] = {{"stopped", "2 h"}, {"running", "0 h"}, {"error", "1 h"}};
    struct error err = ERROR_INIT;

    set_row(&made.id, "runtime_session = 'c-' || id");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

        strbuf_appendf(&sql,
                       "INSERT INTO runtimes (id, session_id, owner_id, status, desired, image,"
                       " spec, session_key, session_key_hash, created_at) VALUES"
                       " (left(md5(random()::text), 16), 'c-%s', '%s', '%s', 'running', 'i', '{}',"
                       " 'sealed', md5(random()::text), now() - interval '%s')",
                       made.id.text, fixture->user_id.text, rows[i][0], rows[i][1]);
        test_sql(sql.text);
    }
    assert_done(info_store_load_many(fixture->db, &fixture->scope, &made.id, 1, &list, &err), &err);
    assert_string_equal(list.items[0].sandbox.status, "running");
}

/* Once the reader has the row, and looks for the leaf, the row changes: its text is not for it. */
static void text_that_was_made_of_an_older_row_is_not_kept(void **state)
{
    static const char SQL_HOLD[] = "LOCK TABLE branches IN ACCESS EXCLUSIVE MODE";
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    struct reader reader = {.fixture = fixture, .id = made.id};
    CLEANUP(db_tx_end) struct db_tx held = DB_TX_INIT;
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error err = ERROR_INIT;
    pthread_t thread = 0;

    set_row(&made.id, "spec_info = NULL, leaf_event_id = NULL, is_leaf_known = false");
    assert_done(db_tx_begin(fixture->db, &held, &err), &err);
    assert_done(db_tx_query(&held, SQL_HOLD, DB_NO_PARAMS, &rows, &err), &err);
    pthread_create(&thread, NULL, read_it, &reader);
    while (test_sql_count("SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database"
                          " WHERE NOT granted AND relation = 'branches'::regclass"
                          " AND d.datname = current_database()") == 0)
        sched_yield();
    set_row(&made.id, "spec = '{\"max_iterations\": 5}'");
    db_tx_end(&held);
    pthread_join(thread, NULL);
    assert_true(row_is(&made.id, "spec_info IS NULL"));
    assert_told_true(fixture, &made.id);
    assert_true(row_is(&made.id, "spec_info::json ->> 'max_iterations' = '5'"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_writers_leave_what_is_true),
        cmocka_unit_test(message_to_a_running_conversation_is_told),
        cmocka_unit_test(run_that_is_handed_over_or_waits_is_told),
        cmocka_unit_test(copies_and_branches_are_told),
        cmocka_unit_test(rows_from_before_are_completed_by_their_reader),
        cmocka_unit_test(locked_row_is_left_to_the_next_reader),
        cmocka_unit_test(text_of_another_specification_is_forgotten),
        cmocka_unit_test(pages_of_each_order_and_size_show_all_once),
        cmocka_unit_test(page_of_another_users_conversation_is_the_first),
        cmocka_unit_test(filters_of_lists_leave_out_the_others),
        cmocka_unit_test(ids_of_others_are_not_loaded),
        cmocka_unit_test(writer_of_a_specification_keeps_its_text),
        cmocka_unit_test(run_that_ends_on_a_branch_tells_the_branchs_leaf),
        cmocka_unit_test(children_are_told_in_the_order_of_their_making),
        cmocka_unit_test(newest_sandbox_of_the_session_is_told),
        cmocka_unit_test(text_that_was_made_of_an_older_row_is_not_kept),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
