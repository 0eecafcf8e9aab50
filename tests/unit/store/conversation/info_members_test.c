/*
 * What lists tell of a conversation: the members of its row, its sandbox, and whether its run waits
 * for a worker.
 */
#include "store/conversation/info_store.h"

#include <string.h>

#include "base/strbuf.h"
#include "store/conversation/conversation_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

#define ID "0f8fad5b-d9cb-469f-a165-70867728950e"

static void set_row(const struct uuid *id, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", columns, id->text);
    test_sql(sql.text);
}

static struct info_list load(const struct store_fixture *fixture, const struct uuid *id)
{
    struct info_list list = INFO_LIST_INIT;
    struct error err = ERROR_INIT;

    assert_done(info_store_load_many(fixture->db, &fixture->scope, id, 1, &list, &err), &err);
    assert_int_equal(list.n, 1);
    return list;
}

static void each_member_of_the_row_is_told(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(conversation_done) struct conversation parent = store_create(fixture);
    CLEANUP(strbuf_done) struct strbuf columns = STRBUF_INIT;
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;
    const struct conversation_texts *texts = NULL;

    strbuf_appendf(&columns,
                   "parent_id = '%s', execution_status = 'paused', title = 'title', stats ="
                   " '{\"s\":1}', agent_state = '{\"a\":1}', last_user_message_id = '" ID "',"
                   " leaf_event_id = '" ID "', is_leaf_known = true, spec_info = '{\"i\":1}',"
                   " created_at = '2026-01-02T03:04:05.000006Z',"
                   " updated_at = '2026-01-02T03:04:06Z'",
                   parent.id.text);
    set_row(&made.id, columns.text);
    list = load(fixture, &made.id);
    texts = &list.items[0].texts;
    assert_string_equal(texts->id.text, made.id.text);
    assert_string_equal(texts->parent_id, parent.id.text);
    assert_string_equal(texts->status, "paused");
    assert_string_equal(texts->title, "title");
    assert_string_equal(texts->stats, "{\"s\":1}");
    assert_string_equal(texts->agent_state, "{\"a\":1}");
    assert_string_equal(texts->last_user_message_id, ID);
    assert_string_equal(texts->leaf_event_id, ID);
    assert_string_equal(texts->spec_info, "{\"i\":1}");
    assert_int_equal(texts->created_at_us, INT64_C(1767323045000006));
    assert_int_equal(texts->updated_at_us, INT64_C(1767323046000000));
    assert_null(texts->children);
    assert_null(list.items[0].sandbox.status);
    assert_null(list.items[0].own_spec_info);
    assert_int_equal(list.n_bytes, 1024 + 3 * strlen("{\"s\":1}"));
    assert_false(uuid_is_set(&list.next_id));
    info_list_done(&list);
    assert_int_equal(list.n, 0);
    assert_null(list.items);
    assert_null(list.rows);
    info_list_done(NULL);
}

static void run_without_a_worker_waits(void **state)
{
    static const struct {
        const char *row;
        bool is_waiting;
    } cases[] = {
        {"wanted_at = NULL", false},
        {"wanted_at = now()", true},
        {"wanted_at = now(), lease_owner = gen_random_uuid(),"
         " lease_expires_at = now() + interval '1 hour'",
         false},
        {"wanted_at = now(), lease_owner = gen_random_uuid(),"
         " lease_expires_at = now() - interval '1 second'",
         true},
        {"wanted_at = NULL, lease_owner = gen_random_uuid(),"
         " lease_expires_at = now() - interval '1 second'",
         false},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(conversation_done) struct conversation made = store_create(fixture);
        CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;

        set_row(&made.id, cases[i].row);
        list = load(fixture, &made.id);
        assert_int_equal(list.items[0].is_waiting, cases[i].is_waiting);
    }
}

static void sandbox_of_the_session_is_told(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
    CLEANUP(runtime_done) struct runtime other = store_add_runtime(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;

    strbuf_appendf(&sql,
                   "UPDATE runtimes SET status = 'error', desired = 'paused', status_detail ="
                   " 'words', session_id = 'session-of-info' WHERE id = '%s'",
                   runtime.id);
    test_sql(sql.text);
    set_row(&made.id, "runtime_session = 'session-of-info'");
    list = load(fixture, &made.id);
    assert_string_equal(list.items[0].sandbox.status, "error");
    assert_string_equal(list.items[0].sandbox.desired, "paused");
    assert_string_equal(list.items[0].sandbox.detail, "words");
}

/* The newest one of the session, and one row for each conversation. */
static void newest_sandbox_of_the_session_is_told(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(runtime_done) struct runtime newer = store_add_runtime(fixture);
    CLEANUP(runtime_done) struct runtime older = store_add_runtime(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(info_list_done) struct info_list list = INFO_LIST_INIT;

    strbuf_appendf(&sql,
                   "UPDATE runtimes SET session_id = 'session-of-two', status = CASE WHEN id = '%s'"
                   " THEN 'running' ELSE 'stopped' END, created_at = now() - CASE WHEN id = '%s'"
                   " THEN interval '1 hour' ELSE interval '2 hours' END WHERE id IN ('%s', '%s')",
                   newer.id, newer.id, newer.id, older.id);
    test_sql(sql.text);
    set_row(&made.id, "runtime_session = 'session-of-two'");
    list = load(fixture, &made.id);
    assert_string_equal(list.items[0].sandbox.status, "running");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_member_of_the_row_is_told),
        cmocka_unit_test(run_without_a_worker_waits),
        cmocka_unit_test(sandbox_of_the_session_is_told),
        cmocka_unit_test(newest_sandbox_of_the_session_is_told),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
