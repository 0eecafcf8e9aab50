/*
 * The store's guarantees for credentials: a link is valid once, a session until its end, a key
 * until it is revoked.
 */
#include "store/user/user_store.h"

#include <pthread.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/db.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { DAY_S = 86400, LONG_AGO_S = -1 };

/* Stands for a token's hash. */
static struct uuid new_hash(void)
{
    return uuid_random();
}

static struct uuid add_link(const struct store_fixture *fixture, int64_t valid_s)
{
    struct uuid hash = new_hash();
    struct error err = ERROR_INIT;

    assert_done(user_store_add_link(fixture->db, &fixture->user_id, hash.text, valid_s, &err),
                &err);
    return hash;
}

static void user_is_made_once_whatever_the_case(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf lower = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf upper = STRBUF_INIT;
    CLEANUP(user_done) struct user first = USER_INIT;
    CLEANUP(user_done) struct user second = USER_INIT;
    CLEANUP(user_done) struct user loaded = USER_INIT;
    struct uuid unique = new_hash();
    struct error err = ERROR_INIT;

    strbuf_appendf(&lower, "ada-%s@test.invalid", unique.text);
    strbuf_appendf(&upper, "ADA-%s@TEST.invalid", unique.text);
    assert_done(user_store_ensure(fixture->db, lower.text, &first, &err), &err);
    assert_done(user_store_ensure(fixture->db, upper.text, &second, &err), &err);
    assert_string_equal(second.id.text, first.id.text);
    assert_string_equal(second.email, lower.text);
    assert_done(user_store_get(fixture->db, &first.id, &loaded, &err), &err);
    assert_true(text_starts_with(loaded.name, "ada-"));
}

static void unknown_user_is_not_found(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(user_done) struct user user = USER_INIT;
    struct uuid nobody = uuid_random();
    struct error err = ERROR_INIT;

    assert_int_equal(user_store_get(fixture->db, &nobody, &user, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void link_opens_one_session(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid link = add_link(fixture, DAY_S);
    struct uuid session = new_hash();
    struct uuid second = new_hash();
    struct uuid found = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_done(user_store_use_link(fixture->db, link.text, session.text, DAY_S, &err), &err);
    assert_done(user_store_find_session(fixture->db, session.text, &found, &err), &err);
    assert_string_equal(found.text, fixture->user_id.text);
    assert_int_equal(user_store_use_link(fixture->db, link.text, second.text, DAY_S, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_int_equal(user_store_find_session(fixture->db, second.text, &found, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

static void expired_and_unknown_links_open_nothing(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid expired = add_link(fixture, LONG_AGO_S);
    struct uuid unknown = new_hash();
    struct uuid session = new_hash();
    struct error err = ERROR_INIT;

    assert_int_equal(user_store_use_link(fixture->db, expired.text, session.text, DAY_S, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_int_equal(user_store_use_link(fixture->db, unknown.text, session.text, DAY_S, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

/* One of two browsers that open the same link at once. */
struct browser {
    struct db *db;
    const char *link;
    struct uuid session;
    int rc;
};

static void *open_link(void *context)
{
    struct browser *browser = context;
    struct error err = ERROR_INIT;

    browser->rc =
        user_store_use_link(browser->db, browser->link, browser->session.text, DAY_S, &err);
    return NULL;
}

static void of_two_browsers_at_once_one_gets_in(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid link = add_link(fixture, DAY_S);
    struct browser browsers[2] = {
        {.db = fixture->db, .link = link.text, .session = new_hash()},
        {.db = fixture->db, .link = link.text, .session = new_hash()},
    };
    pthread_t threads[2] = {0};

    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_link, &browsers[i]), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(browsers[0].rc + browsers[1].rc, -1);
}

static void session_ends_by_time_or_by_sign_out(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid first_link = add_link(fixture, DAY_S);
    struct uuid second_link = add_link(fixture, DAY_S);
    struct uuid over = new_hash();
    struct uuid left = new_hash();
    struct uuid found = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_done(user_store_use_link(fixture->db, first_link.text, over.text, LONG_AGO_S, &err),
                &err);
    assert_int_equal(user_store_find_session(fixture->db, over.text, &found, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_done(user_store_use_link(fixture->db, second_link.text, left.text, DAY_S, &err), &err);
    assert_done(user_store_end_session(fixture->db, left.text, &err), &err);
    assert_done(user_store_end_session(fixture->db, left.text, &err), &err);
    assert_int_equal(user_store_find_session(fixture->db, left.text, &found, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

static void key_finds_its_user_until_it_is_revoked(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf revoke = STRBUF_INIT;
    struct uuid hash = new_hash();
    struct uuid user_id = UUID_INIT;
    struct uuid key_id = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_done(user_store_add_key(fixture->db, &fixture->user_id, "laptop", hash.text, &err),
                &err);
    assert_done(user_store_find_key(fixture->db, hash.text, &user_id, &key_id, &err), &err);
    assert_string_equal(user_id.text, fixture->user_id.text);
    assert_true(uuid_is_set(&key_id));
    assert_int_equal(user_store_add_key(fixture->db, &fixture->user_id, "other", hash.text, &err),
                     -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    strbuf_appendf(&revoke, "UPDATE api_keys SET revoked_at = now() WHERE key_hash = '%s'",
                   hash.text);
    test_sql(revoke.text);
    assert_int_equal(user_store_find_key(fixture->db, hash.text, &user_id, &key_id, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

static int64_t count_over(const char *table)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM %s WHERE expires_at <= now()", table);
    return test_sql_count(sql.text);
}

static void what_is_over_goes_when_something_new_comes(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid first = add_link(fixture, DAY_S);
    struct uuid second = add_link(fixture, DAY_S);
    struct uuid over = new_hash();
    struct uuid session = new_hash();
    struct uuid found = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_done(user_store_use_link(fixture->db, first.text, over.text, LONG_AGO_S, &err), &err);
    (void)add_link(fixture, LONG_AGO_S);
    assert_true(count_over("sessions") > 0);
    assert_true(count_over("sign_in_links") > 0);
    assert_done(user_store_use_link(fixture->db, second.text, session.text, DAY_S, &err), &err);
    (void)add_link(fixture, DAY_S);
    assert_int_equal(count_over("sessions"), 0);
    assert_int_equal(count_over("sign_in_links"), 0);
    assert_done(user_store_find_session(fixture->db, session.text, &found, &err), &err);
}

/* A sign-in after a year without any does not remove a year's rows. */
static void what_is_over_goes_a_hundred_at_a_time(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    int64_t n_before = 0;

    strbuf_appendf(&sql,
                   "INSERT INTO sign_in_links (token_hash, user_id, expires_at)"
                   " SELECT 'over ' || n, '%s', now() - n * interval '1 minute'"
                   " FROM generate_series(1, 150) n",
                   fixture->user_id.text);
    test_sql(sql.text);
    n_before = count_over("sign_in_links");
    (void)add_link(fixture, DAY_S);
    assert_int_equal(count_over("sign_in_links"), n_before - 100);
    assert_int_equal(test_sql_count("SELECT count(*) FROM sign_in_links"
                                    " WHERE token_hash IN ('over 150', 'over 1')"),
                     1);
    (void)add_link(fixture, DAY_S);
    assert_int_equal(count_over("sign_in_links"), 0);
}

static void key_is_revoked_by_its_user_alone_and_once(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid stranger = test_user(fixture->db);
    struct uuid hash = new_hash();
    struct uuid user_id = UUID_INIT;
    struct uuid key_id = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_done(user_store_add_key(fixture->db, &fixture->user_id, "phone", hash.text, &err), &err);
    assert_done(user_store_find_key(fixture->db, hash.text, &user_id, &key_id, &err), &err);
    assert_int_equal(user_store_revoke_key(fixture->db, &stranger, &key_id, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_done(user_store_find_key(fixture->db, hash.text, &user_id, &key_id, &err), &err);
    assert_done(user_store_revoke_key(fixture->db, &fixture->user_id, &key_id, &err), &err);
    assert_int_equal(user_store_find_key(fixture->db, hash.text, &user_id, &key_id, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_int_equal(user_store_revoke_key(fixture->db, &fixture->user_id, &key_id, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_is_made_once_whatever_the_case),
        cmocka_unit_test(unknown_user_is_not_found),
        cmocka_unit_test(link_opens_one_session),
        cmocka_unit_test(expired_and_unknown_links_open_nothing),
        cmocka_unit_test(of_two_browsers_at_once_one_gets_in),
        cmocka_unit_test(session_ends_by_time_or_by_sign_out),
        cmocka_unit_test(what_is_over_goes_when_something_new_comes),
        cmocka_unit_test(what_is_over_goes_a_hundred_at_a_time),
        cmocka_unit_test(key_finds_its_user_until_it_is_revoked),
        cmocka_unit_test(key_is_revoked_by_its_user_alone_and_once),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
