/*
 * The log of secrets that sandboxes read, and the deferred start of a server.
 */
#include "store/user/secret_read_store.h"

#include <stdlib.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "store/store_fixture.h"
#include "store/user/init_store.h"
#include "store/user/user_store.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

/* --- reads --- */

#define TIME "2026-03-04T05:06:07.000008Z"

static void add(const struct uuid *user_id, const char *runtime_id, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "INSERT INTO secret_reads (user_id, runtime_id, name, read_at)"
                   " VALUES ('%s', '%s', '%s', '" TIME "')",
                   user_id->text, runtime_id, name);
    test_sql(sql.text);
}

/* Five reads in two sandboxes, and those of another user. The rows cannot be removed. */
static void add_all(const struct uuid *user_id)
{
    struct uuid other = uuid_random();

    add(user_id, "a", "B");
    add(user_id, "b", "A");
    add(user_id, "a", "A");
    add(user_id, "a", "C");
    add(user_id, "b", "B");
    add(&other, "other", "0");
    add(&other, "other", "A");
    add(&other, "other", "AB");
    add(&other, "other", "D");
}

/* The names of a page, each with a comma; *next_out: the id before which the next begins, or 0. */
static void assert_page(const struct store_fixture *fixture, const struct uuid *user_id,
                        const struct secret_read_query *query, const char *expected,
                        int64_t *next_out)
{
    json_auto_t *page = NULL;
    CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
    struct error err = ERROR_INIT;
    const json_t *item = NULL;
    size_t i = 0;

    assert_done(secret_read_store_list(fixture->db, user_id, query, &page, &err), &err);
    strbuf_append(&names, "");
    json_array_foreach (json_object_get(page, "items"), i, item)
        strbuf_appendf(&names, "%s,", json_text_or(item, "name", ""));
    assert_string_equal(names.text, expected);
    *next_out = 0;
    if (json_text_or(page, "next_page_id", NULL) != NULL)
        *next_out = strtoll(json_text_or(page, "next_page_id", ""), NULL, 10);
}

static void reads_are_listed_latest_first_by_page(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct uuid user_id = uuid_random();
    struct secret_read_query query = {.limit = 2};
    int64_t next = 0;

    assert_page(fixture, &user_id, &query, "", &next);
    assert_int_equal(next, 0);
    add_all(&user_id);
    assert_page(fixture, &user_id, &query, "B,C,", &next);
    assert_int_not_equal(next, 0);
    query.before_id = next;
    assert_page(fixture, &user_id, &query, "A,A,", &next);
    query.before_id = next;
    assert_page(fixture, &user_id, &query, "B,", &next);
    assert_int_equal(next, 0);
    query = (struct secret_read_query){.limit = 5};
    assert_page(fixture, &user_id, &query, "B,C,A,A,B,", &next);
    assert_int_equal(next, 0);
    query = (struct secret_read_query){.runtime_id = "a", .limit = 2};
    assert_page(fixture, &user_id, &query, "C,A,", &next);
    query.before_id = next;
    assert_page(fixture, &user_id, &query, "B,", &next);
    query = (struct secret_read_query){.runtime_id = "missing", .limit = 2};
    assert_page(fixture, &user_id, &query, "", &next);
}

static void read_is_shown_with_its_sandbox_and_time(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct uuid user_id = uuid_random();
    const struct secret_read_query query = {.limit = 1};
    json_auto_t *page = NULL;
    CLEANUP(mem_freep) char *text = NULL;
    struct error err = ERROR_INIT;

    add_all(&user_id);
    assert_done(secret_read_store_list(fixture->db, &user_id, &query, &page, &err), &err);
    text = json_dumps(page, 0);
    assert_json_at(text, "items[0].name", "\"B\"");
    assert_json_at(text, "items[0].sandbox_id", "\"b\"");
    assert_json_at(text, "items[0].read_at", "\"" TIME "\"");
    assert_int_equal(json_int_or(json_array_get(json_object_get(page, "items"), 0), "id", 0),
                     test_sql_count("SELECT max(id) FROM secret_reads WHERE name = 'B'"));
}

static void read_is_recorded_at_its_time(void **state)
{
    const struct store_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    assert_done(secret_read_store_add(fixture->db, &fixture->user_id, "sandbox", "TOKEN", &err),
                &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM secret_reads WHERE name = 'TOKEN'"
                                    " AND runtime_id = 'sandbox'"
                                    " AND read_at > now() - interval '10 minutes'"),
                     1);
}

static void latest_read_of_each_secret_is_listed_by_name(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct uuid user_id = uuid_random();
    json_auto_t *none = NULL;
    json_auto_t *all = NULL;
    json_auto_t *two = NULL;
    CLEANUP(mem_freep) char *text = NULL;
    struct error err = ERROR_INIT;

    assert_done(secret_read_store_latest(fixture->db, &user_id, 9, &none, &err), &err);
    assert_int_equal(json_array_size(json_object_get(none, "items")), 0);
    add_all(&user_id);
    assert_done(secret_read_store_latest(fixture->db, &user_id, 9, &all, &err), &err);
    text = json_dumps(all, 0);
#define READ(name, sandbox)                                                                        \
    "{\"name\": \"" name "\", \"sandbox_id\": \"" sandbox "\", \"read_at\": \"" TIME "\"}"
    assert_json_at(text, "items", "[" READ("A", "a") "," READ("B", "b") "," READ("C", "a") "]");
    assert_done(secret_read_store_latest(fixture->db, &user_id, 2, &two, &err), &err);
    mem_free(text);
    text = json_dumps(two, 0);
    assert_json_at(text, "items", "[" READ("A", "a") "," READ("B", "b") "]");
}

/* --- the deferred start --- */

static int forget_start(void **state)
{
    (void)state;
    test_sql("DELETE FROM server_init");
    return 0;
}

static void deferred_start_happens_once(void **state)
{
    static const char *const hashes[] = {"init-1", "init-2"};
    const struct store_fixture *fixture = *state;
    struct init_plan plan = {.user_id = &fixture->user_id,
                             .key_hashes = hashes,
                             .n_keys = 2,
                             .n_run_slots = 7,
                             .settings = "sealed"};
    CLEANUP(mem_freep) char *settings = NULL;
    struct error err = ERROR_INIT;
    bool has_begun = true;

    assert_done(init_store_has_begun(fixture->db, &has_begun, &err), &err);
    assert_false(has_begun);
    assert_done(init_store_load(fixture->db, &settings, &err), &err);
    assert_null(settings);
    assert_done(init_store_begin(fixture->db, &plan, &err), &err);
    assert_done(init_store_has_begun(fixture->db, &has_begun, &err), &err);
    assert_true(has_begun);
    assert_done(init_store_load(fixture->db, &settings, &err), &err);
    assert_string_equal(settings, "sealed");
    assert_int_equal(test_sql_count("SELECT count(*) FROM api_keys WHERE name = 'init'"
                                    " AND key_hash IN ('init-1', 'init-2')"),
                     2);
    assert_int_equal(test_sql_count("SELECT count(*) FROM users WHERE run_slots = 7"), 1);
    plan.settings = "again";
    plan.n_run_slots = 8;
    assert_int_equal(init_store_begin(fixture->db, &plan, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(test_sql_count("SELECT count(*) FROM users WHERE run_slots = 8"), 0);
}

/* A key of the configuration may be one that its user has made before. */
static void deferred_start_leaves_a_key_that_is_there(void **state)
{
    static const char *const hashes[] = {"there", "init-3"};
    const struct store_fixture *fixture = *state;
    const struct init_plan plan = {
        .user_id = &fixture->user_id, .key_hashes = hashes, .n_keys = 2, .settings = "sealed"};
    struct error err = ERROR_INIT;

    assert_done(user_store_add_key(fixture->db, &fixture->user_id, "laptop", "there", &err), &err);
    assert_done(init_store_begin(fixture->db, &plan, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM api_keys WHERE key_hash = 'there'"
                                    " AND name = 'laptop'"),
                     1);
    assert_int_equal(test_sql_count("SELECT count(*) FROM api_keys WHERE key_hash = 'init-3'"), 1);
}

static void deferred_start_without_a_number_keeps_the_users(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct init_plan plan = {.user_id = &fixture->user_id, .settings = "sealed"};
    struct error err = ERROR_INIT;

    test_sql("UPDATE users SET run_slots = 5");
    assert_done(init_store_begin(fixture->db, &plan, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM users WHERE run_slots <> 5"), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_are_listed_latest_first_by_page),
        cmocka_unit_test(read_is_shown_with_its_sandbox_and_time),
        cmocka_unit_test(read_is_recorded_at_its_time),
        cmocka_unit_test(latest_read_of_each_secret_is_listed_by_name),
        cmocka_unit_test_setup(deferred_start_happens_once, forget_start),
        cmocka_unit_test_setup(deferred_start_leaves_a_key_that_is_there, forget_start),
        cmocka_unit_test_setup(deferred_start_without_a_number_keeps_the_users, forget_start),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
