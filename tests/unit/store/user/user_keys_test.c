/*
 * A user's keys of both kinds: how they are listed, and what ends with one that is revoked; the
 * hints that tell servers which callers have ended.
 */
#include "store/user/user_store.h"

#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/hint_fixture.h"
#include "store/runtime/runtime_key_store.h"
#include "store/runtime/runtime_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { DAY_S = 86400, CALLERS = 1U << HINT_CALLERS };

static struct uuid add_user_key(struct db *db, const struct uuid *user_id, const char *name)
{
    struct uuid hash = uuid_random();
    struct uuid owner = UUID_INIT;
    struct uuid key_id = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_done(user_store_add_key(db, user_id, name, hash.text, &err), &err);
    assert_done(user_store_find_key(db, hash.text, &owner, &key_id, &err), &err);
    return key_id;
}

static struct uuid add_runtime_key(struct db *db, const struct uuid *user_id, const char *name)
{
    const struct tenant tenant = {.user_id = *user_id};
    struct tenant found = TENANT_INIT;
    struct uuid hash = uuid_random();
    struct error err = ERROR_INIT;

    assert_done(runtime_key_store_add(db, &tenant, name, hash.text, &err), &err);
    assert_done(runtime_key_store_find(db, hash.text, &found, &err), &err);
    return found.id;
}

static void set_time(const char *table, const struct uuid *id, const char *column, const char *time)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE %s SET %s = '%s' WHERE id = '%s'", table, column, time, id->text);
    test_sql(sql.text);
}

struct shown_key {
    struct uuid id;
    const char *name;
    const char *serves;
    const char *made_at;
    const char *revoked_at;
};

static void assert_key(const struct api_key *key, const struct shown_key *expected)
{
    assert_string_equal(key->id.text, expected->id.text);
    assert_string_equal(key->name, expected->name);
    assert_string_equal(key->serves, expected->serves);
    assert_string_equal(key->made_at, expected->made_at);
    assert_string_equal(key->revoked_at, expected->revoked_at);
}

static void keys_of_both_kinds_are_listed_oldest_first(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(api_key_list_done) struct api_key_list list = API_KEY_LIST_INIT;
    CLEANUP(api_key_list_done) struct api_key_list none = API_KEY_LIST_INIT;
    struct uuid user = test_user(fixture->db);
    struct uuid other = test_user(fixture->db);
    struct uuid last = add_user_key(fixture->db, &user, "last");
    struct uuid middle = add_runtime_key(fixture->db, &user, "middle");
    struct uuid first = add_user_key(fixture->db, &user, "first");
    struct uuid second = add_runtime_key(fixture->db, &user, "second");
    struct error err = ERROR_INIT;

    set_time("api_keys", &first, "created_at", "2026-01-02T03:04:59Z");
    set_time("api_keys", &first, "revoked_at", "2026-02-03 04:05:06+00");
    set_time("runtime_keys", &second, "created_at", "2026-03-04T14:06:00+01");
    set_time("runtime_keys", &second, "revoked_at", "2026-05-06T07:08:00Z");
    set_time("runtime_keys", &middle, "created_at", "2026-03-05T00:00:00Z");
    set_time("api_keys", &last, "created_at", "2026-03-06T00:00:00Z");
    assert_done(user_store_list_keys(fixture->db, &user, &list, &err), &err);
    assert_int_equal(list.n, 4);
    assert_key(&list.items[0], &(struct shown_key){first, "first", "agent", "2026-01-02 03:04",
                                                   "2026-02-03 04:05"});
    assert_key(&list.items[1], &(struct shown_key){second, "second", "runtime", "2026-03-04 13:06",
                                                   "2026-05-06 07:08"});
    assert_key(&list.items[2],
               &(struct shown_key){middle, "middle", "runtime", "2026-03-05 00:00", ""});
    assert_key(&list.items[3], &(struct shown_key){last, "last", "agent", "2026-03-06 00:00", ""});
    assert_done(user_store_list_keys(fixture->db, &other, &none, &err), &err);
    assert_int_equal(none.n, 0);
    api_key_list_done(&list);
    assert_int_equal(list.n, 0);
    assert_null(list.items);
    api_key_list_done(NULL);
}

static void keys_of_one_moment_are_listed_by_id(void **state)
{
    enum { N_KEYS = 6 };
    const struct hint_fixture *fixture = *state;
    CLEANUP(api_key_list_done) struct api_key_list list = API_KEY_LIST_INIT;
    struct uuid user = test_user(fixture->db);
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < N_KEYS; i++) {
        struct uuid id = i % 2 == 0 ? add_user_key(fixture->db, &user, "one")
                                    : add_runtime_key(fixture->db, &user, "other");

        set_time(i % 2 == 0 ? "api_keys" : "runtime_keys", &id, "created_at",
                 "2026-01-02T03:04:59Z");
    }
    assert_done(user_store_list_keys(fixture->db, &user, &list, &err), &err);
    assert_int_equal(list.n, N_KEYS);
    for (size_t i = 1; i < list.n; i++)
        assert_true(strcmp(list.items[i - 1].id.text, list.items[i].id.text) < 0);
}

static void revoked_key_of_a_user_ends_its_callers(void **state)
{
    const struct hint_fixture *fixture = *state;
    struct uuid user = test_user(fixture->db);
    struct uuid revoked = add_user_key(fixture->db, &user, "revoked");
    struct uuid kept = add_user_key(fixture->db, &user, "kept");
    struct error err = ERROR_INIT;

    assert_done(user_store_revoke_key(fixture->db, &user, &revoked, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &revoked), CALLERS);
    assert_int_equal(hint_fixture_heard(fixture, &kept), 0);
    assert_int_equal(user_store_revoke_key(fixture->db, &user, &revoked, &err), -1);
    assert_int_equal(hint_fixture_heard(fixture, &revoked), 0);
}

static void give_to(const struct runtime *runtime, const struct uuid *tenant_id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE runtimes SET tenant_id = '%s', updated_at = now() - interval '1 hour'"
                   " WHERE id = '%s'",
                   tenant_id->text, runtime->id);
    test_sql(sql.text);
}

static bool is_deleted(const struct runtime *runtime)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM runtimes WHERE id = '%s' AND desired = 'deleted'"
                   " AND updated_at > now() - interval '10 minutes'",
                   runtime->id);
    return test_sql_count(sql.text) == 1;
}

/* A hint's id of a sandbox. */
static struct uuid as_id(const struct runtime *runtime)
{
    struct uuid id = UUID_INIT;

    memcpy(id.text, runtime->id, strlen(runtime->id) + 1);
    return id;
}

static void revoked_key_of_the_runtime_api_deletes_its_sandboxes(void **state)
{
    const struct hint_fixture *fixture = *state;
    struct uuid user = test_user(fixture->db);
    struct uuid stranger = test_user(fixture->db);
    struct uuid revoked = add_runtime_key(fixture->db, &user, "revoked");
    struct uuid kept = add_runtime_key(fixture->db, &user, "kept");
    CLEANUP(runtime_done) struct runtime its = store_add_runtime(fixture->plain);
    CLEANUP(runtime_done) struct runtime others = store_add_runtime(fixture->plain);
    CLEANUP(runtime_done) struct runtime nobodys = store_add_runtime(fixture->plain);
    struct uuid its_id = as_id(&its);
    struct uuid others_id = as_id(&others);
    struct error err = ERROR_INIT;

    give_to(&its, &revoked);
    give_to(&others, &kept);
    assert_int_equal(user_store_revoke_key(fixture->db, &stranger, &revoked, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_false(is_deleted(&its));
    assert_done(user_store_revoke_key(fixture->db, &user, &revoked, &err), &err);
    assert_true(is_deleted(&its));
    assert_false(is_deleted(&others));
    assert_false(is_deleted(&nobodys));
    assert_int_equal(hint_fixture_heard(fixture, &its_id), CALLERS);
    assert_int_equal(hint_fixture_heard(fixture, &others_id), 0);
    assert_int_equal(user_store_revoke_key(fixture->db, &user, &revoked, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

/* The runtime service removes its sandboxes and images at once, not when it looks next. */
static void revoked_key_of_the_runtime_api_wakes_the_runtime_service(void **state)
{
    const struct hint_fixture *fixture = *state;
    struct uuid user = test_user(fixture->db);
    struct uuid revoked = add_runtime_key(fixture->db, &user, "revoked");
    struct error err = ERROR_INIT;

    assert_done(user_store_revoke_key(fixture->db, &user, &revoked, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &revoked), RUNTIME);
}

static struct uuid session_id_of(const struct uuid *token_hash)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct uuid id = uuid_random();

    strbuf_appendf(&sql, "UPDATE sessions SET id = '%s' WHERE token_hash = '%s'", id.text,
                   token_hash->text);
    test_sql(sql.text);
    return id;
}

static void session_that_ends_ends_its_callers(void **state)
{
    const struct hint_fixture *fixture = *state;
    struct uuid user = test_user(fixture->db);
    struct uuid link = uuid_random();
    struct uuid session = uuid_random();
    struct uuid id = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_done(user_store_add_link(fixture->db, &user, link.text, DAY_S, &err), &err);
    assert_done(user_store_use_link(fixture->db, link.text, session.text, DAY_S, &err), &err);
    id = session_id_of(&session);
    assert_done(user_store_end_session(fixture->db, session.text, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &id), CALLERS);
    assert_done(user_store_end_session(fixture->db, session.text, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &id), 0);
}

static void owner_of_a_link_is_found_until_it_is_used_or_over(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(user_done) struct user owner = USER_INIT;
    CLEANUP(user_done) struct user none = USER_INIT;
    CLEANUP(user_done) struct user expected = USER_INIT;
    struct uuid user = test_user(fixture->db);
    struct uuid link = uuid_random();
    struct uuid late = uuid_random();
    struct uuid session = uuid_random();
    struct error err = ERROR_INIT;

    assert_done(user_store_get(fixture->db, &user, &expected, &err), &err);
    assert_done(user_store_add_link(fixture->db, &user, link.text, DAY_S, &err), &err);
    assert_done(user_store_add_link(fixture->db, &user, late.text, -1, &err), &err);
    assert_done(user_store_find_link(fixture->db, link.text, &owner, &err), &err);
    assert_string_equal(owner.id.text, user.text);
    assert_string_equal(owner.email, expected.email);
    assert_string_equal(owner.name, expected.name);
    assert_int_equal(user_store_find_link(fixture->db, late.text, &none, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_done(user_store_use_link(fixture->db, link.text, session.text, DAY_S, &err), &err);
    assert_int_equal(user_store_find_link(fixture->db, link.text, &none, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_both_kinds_are_listed_oldest_first),
        cmocka_unit_test(keys_of_one_moment_are_listed_by_id),
        cmocka_unit_test(revoked_key_of_a_user_ends_its_callers),
        cmocka_unit_test(revoked_key_of_the_runtime_api_deletes_its_sandboxes),
        cmocka_unit_test(revoked_key_of_the_runtime_api_wakes_the_runtime_service),
        cmocka_unit_test(session_that_ends_ends_its_callers),
        cmocka_unit_test(owner_of_a_link_is_found_until_it_is_used_or_over),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, hint_fixture_set_up, hint_fixture_tear_down);
}
