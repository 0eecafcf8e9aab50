/*
 * Which sandboxes are a user's own, and which of them are too many.
 */
#include "store/runtime/sandbox_store.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

static void set_row(const struct runtime *runtime, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE runtimes SET %s WHERE id = '%s'", columns, runtime->id);
    test_sql(sql.text);
}

/* A user of the test's own. */
static struct store_fixture user_of(const struct store_fixture *fixture)
{
    return (struct store_fixture){.db = fixture->db, .user_id = test_user(fixture->db)};
}

static enum error_code get(const struct store_fixture *fixture, const struct uuid *user_id,
                           const char *id)
{
    CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    return sandbox_store_get(fixture->db, user_id, id, &found, &err) < 0 ? err.code : ERROR_NONE;
}

static size_t count_all(const struct store_fixture *own)
{
    CLEANUP(runtime_list_done) struct runtime_list list = {.items = NULL};
    const struct sandbox_cursor start = {.created_at_us = 0};
    struct error err = ERROR_INIT;

    assert_done(sandbox_store_search(own->db, &own->user_id, &start, 10, &list, &err), &err);
    return list.n;
}

/* A sandbox that a tenant of the Runtime API starts is the tenant's, although its key has a user.
 */
static void strangers_tenants_and_deleted_ones_are_not_the_users(void **state)
{
    struct store_fixture own = user_of(*state);
    struct store_fixture other = user_of(*state);
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(&own);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    assert_int_equal(get(*state, &own.user_id, runtime.id), ERROR_NONE);
    assert_int_equal(get(*state, &other.user_id, runtime.id), ERROR_NOT_FOUND);
    assert_int_equal(count_all(&own), 1);
    assert_int_equal(count_all(&other), 0);
    set_row(&runtime, "desired = 'deleted'");
    assert_int_equal(get(*state, &own.user_id, runtime.id), ERROR_NOT_FOUND);
    assert_int_equal(count_all(&own), 0);
    strbuf_appendf(&sql,
                   "WITH tenant AS (INSERT INTO runtime_keys (user_id, name, key_hash)"
                   " VALUES ('%s', 'one', '%s') RETURNING id)"
                   " UPDATE runtimes SET desired = 'running', tenant_id = tenant.id FROM tenant"
                   " WHERE runtimes.id = '%s'",
                   own.user_id.text, runtime.id, runtime.id);
    test_sql(sql.text);
    assert_int_equal(get(*state, &own.user_id, runtime.id), ERROR_NOT_FOUND);
    assert_int_equal(count_all(&own), 0);
}

/* A sandbox that the user requested, the oldest first. */
static struct runtime add_requested(const struct store_fixture *own, int age_s)
{
    struct runtime runtime = store_add_runtime(own);
    CLEANUP(strbuf_done) struct strbuf columns = STRBUF_INIT;

    strbuf_appendf(&columns,
                   "session_id = '" SANDBOX_SESSION_PREFIX "%s',"
                   " created_at = now() - interval '%d seconds'",
                   runtime.id, age_s);
    set_row(&runtime, columns.text);
    return runtime;
}

/* The ids of those that are too many, "," after each. */
static void list_surplus(const struct store_fixture *own, int64_t most, const char *except_id,
                         struct strbuf *ids)
{
    CLEANUP(runtime_list_done) struct runtime_list list = {.items = NULL};
    struct error err = ERROR_INIT;

    assert_done(sandbox_store_list_surplus(own->db, &own->user_id, most, except_id, &list, &err),
                &err);
    strbuf_reset(ids);
    strbuf_append(ids, "");
    for (size_t i = 0; i < list.n; i++)
        strbuf_appendf(ids, "%s,", list.items[i].id);
}

static void oldest_are_too_many_but_not_the_one_that_is_asked_for(void **state)
{
    struct store_fixture own = user_of(*state);
    CLEANUP(runtime_done) struct runtime first = add_requested(&own, 30);
    CLEANUP(runtime_done) struct runtime second = add_requested(&own, 20);
    CLEANUP(runtime_done) struct runtime third = add_requested(&own, 10);
    CLEANUP(runtime_done) struct runtime shared = store_add_runtime(&own);
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

    list_surplus(&own, 3, "", &ids);
    assert_string_equal(ids.text, "");
    strbuf_appendf(&expected, "%s,", first.id);
    list_surplus(&own, 2, "", &ids);
    assert_string_equal(ids.text, expected.text);
    /* It does not count, and is not paused to make room for itself. */
    list_surplus(&own, 2, first.id, &ids);
    assert_string_equal(ids.text, "");
    list_surplus(&own, 1, first.id, &ids);
    strbuf_reset(&expected);
    strbuf_appendf(&expected, "%s,", second.id);
    assert_string_equal(ids.text, expected.text);
    set_row(&second, "desired = 'paused'");
    list_surplus(&own, 1, "", &ids);
    strbuf_reset(&expected);
    strbuf_appendf(&expected, "%s,", first.id);
    assert_string_equal(ids.text, expected.text);
}

static void sandbox_with_a_run_is_counted_but_not_listed(void **state)
{
    struct store_fixture own = user_of(*state);
    CLEANUP(runtime_done) struct runtime first = add_requested(&own, 30);
    CLEANUP(runtime_done) struct runtime second = add_requested(&own, 20);
    CLEANUP(conversation_done) struct conversation run = store_create_wanted(&own);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET runtime_session = '" SANDBOX_SESSION_PREFIX
                   "%s' WHERE id = '%s'",
                   first.id, run.id.text);
    test_sql(sql.text);
    strbuf_appendf(&expected, "%s,", second.id);
    list_surplus(&own, 1, "", &ids);
    assert_string_equal(ids.text, expected.text);
}

static void only_those_that_run_or_may_wake_are_too_many(void **state)
{
    static const struct {
        const char *status;
        bool counts;
    } cases[] = {{"starting", true},
                 {"running", true},
                 {"paused", true},
                 {"stopped", false},
                 {"error", false}};
    struct store_fixture own = user_of(*state);
    struct store_fixture other = user_of(*state);
    CLEANUP(runtime_done) struct runtime first = add_requested(&own, 30);
    CLEANUP(runtime_done) struct runtime second = add_requested(&own, 20);
    CLEANUP(runtime_done) struct runtime others = add_requested(&other, 40);
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

    strbuf_appendf(&expected, "%s,", first.id);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf columns = STRBUF_INIT;

        strbuf_appendf(&columns, "status = '%s'", cases[i].status);
        set_row(&first, columns.text);
        list_surplus(&own, 1, "", &ids);
        assert_string_equal(ids.text, cases[i].counts ? expected.text : "");
    }
}

/* Fails the test unless the page that begins there is of these sandboxes, in that order. */
static void assert_page(const struct store_fixture *own, const struct sandbox_cursor *from,
                        int64_t limit, const struct runtime *const *expected, size_t n)
{
    CLEANUP(runtime_list_done) struct runtime_list list = {.items = NULL};
    struct error err = ERROR_INIT;

    assert_done(sandbox_store_search(own->db, &own->user_id, from, limit, &list, &err), &err);
    assert_int_equal(list.n, n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(list.items[i].id, expected[i]->id);
}

/* Those of one moment are ordered by their id. */
static void page_begins_at_its_cursor_and_has_one_more_than_its_limit(void **state)
{
    struct store_fixture own = user_of(*state);
    CLEANUP(runtime_done) struct runtime oldest = add_requested(&own, 40);
    CLEANUP(runtime_done) struct runtime one = add_requested(&own, 30);
    CLEANUP(runtime_done) struct runtime other = add_requested(&own, 30);
    CLEANUP(runtime_done) struct runtime newest = add_requested(&own, 10);
    const bool is_first = strcmp(one.id, other.id) > 0;
    const struct runtime *const all[] = {&newest, is_first ? &one : &other,
                                         is_first ? &other : &one, &oldest};
    struct sandbox_cursor from = {.created_at_us = 0};

    set_row(&one, "created_at = '2024-01-01T00:00:01.000001Z'");
    set_row(&other, "created_at = '2024-01-01T00:00:01.000001Z'");
    set_row(&oldest, "created_at = '2024-01-01T00:00:01Z'");
    assert_page(&own, &from, 10, all, 4);
    assert_page(&own, &from, 2, all, 3);
    from.created_at_us = 1704067201000001LL;
    memcpy(from.id, all[1]->id, sizeof(from.id));
    assert_page(&own, &from, 10, &all[1], 3);
    memcpy(from.id, all[2]->id, sizeof(from.id));
    assert_page(&own, &from, 10, &all[2], 2);
    from.created_at_us--;
    memcpy(from.id, oldest.id, sizeof(from.id));
    assert_page(&own, &from, 0, &all[3], 1);
}

static void only_the_users_own_of_several_are_read(void **state)
{
    struct store_fixture own = user_of(*state);
    struct store_fixture other = user_of(*state);
    CLEANUP(runtime_done) struct runtime first = add_requested(&own, 30);
    CLEANUP(runtime_done) struct runtime second = add_requested(&own, 20);
    CLEANUP(runtime_done) struct runtime third = add_requested(&own, 10);
    CLEANUP(runtime_done) struct runtime others = add_requested(&other, 10);
    CLEANUP(runtime_list_done) struct runtime_list list = {.items = NULL};
    const char *const ids[] = {first.id, others.id, second.id, "missing"};
    struct error err = ERROR_INIT;

    assert_done(sandbox_store_get_many(own.db, &own.user_id, ids, ARRAY_SIZE(ids), &list, &err),
                &err);
    assert_int_equal(list.n, 2);
    for (size_t i = 0; i < list.n; i++)
        assert_string_not_equal(list.items[i].id, third.id);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_tenants_and_deleted_ones_are_not_the_users),
        cmocka_unit_test(oldest_are_too_many_but_not_the_one_that_is_asked_for),
        cmocka_unit_test(sandbox_with_a_run_is_counted_but_not_listed),
        cmocka_unit_test(only_those_that_run_or_may_wake_are_too_many),
        cmocka_unit_test(page_begins_at_its_cursor_and_has_one_more_than_its_limit),
        cmocka_unit_test(only_the_users_own_of_several_are_read),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
