/*
 * The store's guarantees for credentials: a link is valid once, a session until its end, a key
 * until it is revoked.
 */
#include "store/user/user_store.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "store/conversation/async_store.h"
#include "store/db/db.h"
#include "store/db/db_async.h"
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
    assert_string_equal(loaded.email, lower.text);
    assert_true(text_starts_with(loaded.name, "ada-"));
    assert_null(strchr(loaded.name, '@'));
    user_done(&loaded);
    assert_null(loaded.email);
    assert_null(loaded.name);
    user_done(NULL);
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

static void sign_in_does_not_wait_for_rows_that_another_removes(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid first = add_link(fixture, DAY_S);
    struct uuid second = add_link(fixture, DAY_S);
    struct uuid over = new_hash();
    struct uuid session = new_hash();
    struct test_tx *tx = NULL;
    struct error err = ERROR_INIT;

    assert_done(user_store_use_link(fixture->db, first.text, over.text, LONG_AGO_S, &err), &err);
    (void)add_link(fixture, LONG_AGO_S);
    tx = test_tx_begin();
    test_tx_sql(tx, "DELETE FROM sign_in_links WHERE expires_at <= now()");
    test_tx_sql(tx, "DELETE FROM sessions WHERE expires_at <= now()");
    (void)add_link(fixture, DAY_S);
    assert_done(user_store_use_link(fixture->db, second.text, session.text, DAY_S, &err), &err);
    test_tx_commit(tx);
    assert_int_equal(count_over("sessions"), 0);
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

/* A look-up by a process that never blocks. */
struct look_up {
    struct caller_query caller;
    struct ended_query ended;
    size_t n_ended;
    bool is_over;
    enum error_code code;
};

static void on_over(struct look_up *look_up, const struct error *err)
{
    look_up->is_over = true;
    look_up->code = err != NULL ? err->code : ERROR_NONE;
}

static struct look_up *of_ended(struct ended_query *query)
{
    return (struct look_up *)(void *)((char *)query - offsetof(struct look_up, ended));
}

static void on_caller(struct caller_query *query, const struct error *err)
{
    on_over((struct look_up *)(void *)((char *)query - offsetof(struct look_up, caller)), err);
}

static void on_ended(struct ended_query *query, const char *id)
{
    (void)id;
    of_ended(query)->n_ended++;
}

static void on_ended_over(struct ended_query *query, const struct error *err)
{
    on_over(of_ended(query), err);
}

static void wait_for_look_up(struct db_async *async, const struct look_up *look_up)
{
    while (!look_up->is_over) {
        struct pollfd wait = {.fd = db_async_fd(async), .events = POLLIN};

        (void)poll(&wait, 1, 1000);
        db_async_pump(async);
    }
}

static struct look_up find_caller(struct db_async *async, enum caller_kind kind, const char *hash)
{
    struct look_up look_up = {.caller = {.kind = kind, .done = on_caller}};

    memcpy(look_up.caller.hash, hash, strlen(hash) + 1);
    async_store_find_caller(async, &look_up.caller);
    wait_for_look_up(async, &look_up);
    return look_up;
}

/* How many of one id have ended: 0 or 1. */
static size_t count_ended(struct db_async *async, const char *id)
{
    struct look_up look_up = {
        .ended = {.ids = &id, .n = 1, .ended = on_ended, .done = on_ended_over}};

    async_store_find_ended(async, &look_up.ended);
    wait_for_look_up(async, &look_up);
    assert_int_equal(look_up.code, ERROR_NONE);
    return look_up.n_ended;
}

static struct db_async *open_async(void)
{
    struct db_options options = {.url = test_database_url(), .application = "deft-test"};
    struct db_async *async = NULL;
    struct error err = ERROR_INIT;

    assert_done(db_async_open(&options, &async, &err), &err);
    return async;
}

static void ended_credentials_are_none_for_the_gateway_either(void **state)
{
    const struct store_fixture *fixture = *state;
    struct db_async *async = open_async();
    struct look_up look_up = {.is_over = false};
    struct uuid link = add_link(fixture, DAY_S);
    struct uuid key = new_hash();
    struct uuid session = new_hash();
    struct uuid key_id = UUID_INIT;
    struct uuid session_id = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_done(user_store_add_key(fixture->db, &fixture->user_id, "g", key.text, &err), &err);
    assert_done(user_store_use_link(fixture->db, link.text, session.text, DAY_S, &err), &err);
    look_up = find_caller(async, CALLER_USER_KEY, key.text);
    assert_int_equal(look_up.code, ERROR_NONE);
    assert_string_equal(look_up.caller.user_id.text, fixture->user_id.text);
    key_id = look_up.caller.key_id;
    /* A key of any form may be a user's. */
    look_up = find_caller(async, CALLER_SANDBOX_KEY, key.text);
    assert_int_equal(look_up.code, ERROR_NONE);
    assert_int_equal(look_up.caller.kind, CALLER_USER_KEY);
    look_up = find_caller(async, CALLER_SESSION, session.text);
    assert_int_equal(look_up.code, ERROR_NONE);
    session_id = look_up.caller.key_id;
    assert_int_equal(count_ended(async, key_id.text) + count_ended(async, session_id.text), 0);

    assert_done(user_store_revoke_key(fixture->db, &fixture->user_id, &key_id, &err), &err);
    test_sql("UPDATE sessions SET expires_at = now() - interval '1 second'");
    assert_int_equal(find_caller(async, CALLER_USER_KEY, key.text).code, ERROR_UNAUTHENTICATED);
    assert_int_equal(find_caller(async, CALLER_SANDBOX_KEY, key.text).code, ERROR_UNAUTHENTICATED);
    assert_int_equal(find_caller(async, CALLER_SESSION, session.text).code, ERROR_UNAUTHENTICATED);
    assert_int_equal(count_ended(async, key_id.text), 1);
    assert_int_equal(count_ended(async, session_id.text), 1);
    db_async_free(async);
}

static void deleted_sandbox_is_no_caller_and_a_stopped_one_may_come_back(void **state)
{
    const struct store_fixture *fixture = *state;
    struct db_async *async = open_async();
    struct look_up look_up = {.is_over = false};
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);

    /* As real ids are: without a dash, which tells them from keys and sessions. */
    test_sql("UPDATE runtimes SET id = 'abcdef0123456789'");
    memcpy(runtime.id, "abcdef0123456789", sizeof(runtime.id));
    look_up = find_caller(async, CALLER_SANDBOX_KEY, runtime.session_key_hash);
    assert_int_equal(look_up.code, ERROR_NONE);
    assert_string_equal(look_up.caller.runtime_id, runtime.id);
    test_sql("UPDATE runtimes SET status = 'stopped'");
    assert_int_equal(find_caller(async, CALLER_SANDBOX_KEY, runtime.session_key_hash).code,
                     ERROR_UNAUTHENTICATED);
    assert_int_equal(count_ended(async, runtime.id), 0);
    test_sql("UPDATE runtimes SET status = 'running', desired = 'deleted'");
    assert_int_equal(find_caller(async, CALLER_SANDBOX_KEY, runtime.session_key_hash).code,
                     ERROR_UNAUTHENTICATED);
    assert_int_equal(count_ended(async, runtime.id), 1);
    db_async_free(async);
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
        cmocka_unit_test(sign_in_does_not_wait_for_rows_that_another_removes),
        cmocka_unit_test(key_finds_its_user_until_it_is_revoked),
        cmocka_unit_test(key_is_revoked_by_its_user_alone_and_once),
        cmocka_unit_test(ended_credentials_are_none_for_the_gateway_either),
        cmocka_unit_test(deleted_sandbox_is_no_caller_and_a_stopped_one_may_come_back),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
