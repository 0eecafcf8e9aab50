/*
 * Guarantees of a pool of connections: it survives their loss, and reports when none is available.
 */
#include "store/db/db.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "store/db/db_query.h"
#include "store/db/notify_wait.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { CONNECTIONS = 4 };

/* Opens as many connections as may be: all are taken at once. */
static void open_all(struct db *db)
{
    struct db_tx transactions[CONNECTIONS] = {DB_TX_INIT};
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < CONNECTIONS; i++)
        assert_done(db_tx_begin(db, &transactions[i], &err), &err);
    for (size_t i = 0; i < CONNECTIONS; i++)
        db_tx_end(&transactions[i]);
}

static void end_all_connections(void)
{
    assert_int_equal(test_sql_count("SELECT count(pg_terminate_backend(pid, 10000))"
                                    " FROM pg_stat_activity WHERE application_name = 'deft-test'"
                                    " AND datname = current_database()"),
                     CONNECTIONS);
}

static void reads_go_on_when_all_connections_break(void **state)
{
    CLEANUP(db_freep) struct db *db = test_db_open(CONNECTIONS);
    struct error err = ERROR_INIT;

    (void)state;
    open_all(db);
    end_all_connections();
    assert_done(db_ping(db, &err), &err);
    assert_done(db_ping(db, &err), &err);
}

static void transactions_begin_when_all_connections_break(void **state)
{
    CLEANUP(db_freep) struct db *db = test_db_open(CONNECTIONS);

    (void)state;
    open_all(db);
    end_all_connections();
    open_all(db);
}

static void one_write_at_most_fails_when_all_connections_break(void **state)
{
    static const char SQL_WRITE[] = "CREATE TEMPORARY TABLE IF NOT EXISTS tried ()";
    CLEANUP(db_freep) struct db *db = test_db_open(CONNECTIONS);
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    open_all(db);
    end_all_connections();
    assert_int_equal(db_query(db, SQL_WRITE, DB_NO_PARAMS, &rows, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_done(db_query(db, SQL_WRITE, DB_NO_PARAMS, &rows, &err), &err);
}

static void what_is_not_committed_is_undone(void **state)
{
    static const char SQL_ADD[] = "INSERT INTO users (email) VALUES ($1)";
    static const char SQL_COUNT[] = "SELECT count(*) FROM users WHERE email = $1";
    CLEANUP(db_freep) struct db *db = test_db_open(CONNECTIONS);
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_tx tx = DB_TX_INIT;
    struct uuid email = uuid_random();
    struct error err = ERROR_INIT;

    (void)state;
    assert_done(db_tx_begin(db, &tx, &err), &err);
    assert_done(db_tx_query(&tx, SQL_ADD, DB_PARAMS(email.text), &rows, &err), &err);
    db_tx_end(&tx);
    assert_done(db_read(db, SQL_COUNT, DB_PARAMS(email.text), &rows, &err), &err);
    assert_int_equal(db_number(rows, 0, 0), 0);
    assert_done(db_tx_begin(db, &tx, &err), &err);
    assert_done(db_tx_query(&tx, SQL_ADD, DB_PARAMS(email.text), &rows, &err), &err);
    assert_done(db_tx_commit(&tx, &err), &err);
    db_tx_end(&tx);
    assert_done(db_read(db, SQL_COUNT, DB_PARAMS(email.text), &rows, &err), &err);
    assert_int_equal(db_number(rows, 0, 0), 1);
}

static void transaction_that_has_failed_is_not_committed(void **state)
{
    static const char SQL_FAIL[] = "SELECT 1 / 0";
    CLEANUP(db_freep) struct db *db = test_db_open(1);
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_tx tx = DB_TX_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_done(db_tx_begin(db, &tx, &err), &err);
    assert_int_equal(db_tx_query(&tx, SQL_FAIL, DB_NO_PARAMS, &rows, &err), -1);
    assert_int_equal(db_tx_commit(&tx, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    db_tx_end(&tx);
    assert_done(db_ping(db, &err), &err);
}

static const char SQL_ECHO[] = "SELECT pg_backend_pid(), $1::text, repeat('x', $2::int)";

/* Which server process answered; the pool has one connection. */
static int64_t answered_by(struct db *db, size_t request_bytes, size_t answer_bytes)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct db_int n = db_int((int64_t)answer_bytes);
    struct error err = ERROR_INIT;

    while (text.len < request_bytes)
        strbuf_append_char(&text, 'x');
    assert_done(db_query(db, SQL_ECHO, DB_PARAMS(text.text, n.text), &rows, &err), &err);
    return db_number(rows, 0, 0);
}

/* libpq's buffers stay as large as what went through them. */
static void connection_that_carried_something_large_is_not_kept(void **state)
{
    CLEANUP(db_freep) struct db *db = test_db_open(1);
    int64_t first = answered_by(db, 1, 1);
    int64_t second = 0;

    (void)state;
    assert_int_equal(answered_by(db, 100000, 1), first);
    assert_int_equal(answered_by(db, 600000, 1), first);
    second = answered_by(db, 1, 600000);
    assert_int_not_equal(second, first);
    assert_int_not_equal(answered_by(db, 1, 1), second);
}

static void unreadable_address_is_invalid_and_a_dead_one_unavailable(void **state)
{
    struct db_options unreadable = {
        .url = "no such=option here", .application = "deft-test", .n_connections = 1};
    struct db_options dead = {
        .url = "host=/nonexistent", .application = "deft-test", .n_connections = 1};
    CLEANUP(db_freep) struct db *db = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(db_open(&unreadable, &db, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_done(db_open(&dead, &db, &err), &err);
    assert_int_equal(db_ping(db, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.message, "/nonexistent"));
}

/* What the next statement did would be part of that transaction, and lost with it. */
static void connection_that_is_left_in_a_transaction_is_not_kept(void **state)
{
    static const char SQL_BEGIN[] = "BEGIN";
    CLEANUP(db_freep) struct db *db = test_db_open(1);
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    int64_t first = answered_by(db, 1, 1);
    struct error err = ERROR_INIT;

    (void)state;
    assert_done(db_query(db, SQL_BEGIN, DB_NO_PARAMS, &rows, &err), &err);
    assert_int_not_equal(answered_by(db, 1, 1), first);
}

/* --- errors --- */

static const char SQL_RAISE[] = "SELECT raise_state($1)";

/* A function that fails with a state, and counts its calls: a sequence is not rolled back. */
static void make_raise(void)
{
    test_sql("CREATE SEQUENCE IF NOT EXISTS raised");
    test_sql("CREATE OR REPLACE FUNCTION raise_state(state text) RETURNS int LANGUAGE plpgsql AS"
             " 'BEGIN PERFORM nextval(''raised'');"
             " RAISE EXCEPTION USING ERRCODE = state, MESSAGE = ''words of the server''; END'");
    test_sql("SELECT setval('raised', 1)");
}

static void state_of_a_failure_decides_its_code(void **state)
{
    static const struct {
        const char *state;
        enum error_code code;
    } cases[] = {
        {"23505", ERROR_CONFLICT},    {"23503", ERROR_CONFLICT},    {"40001", ERROR_CONFLICT},
        {"40P01", ERROR_CONFLICT},    {"55P03", ERROR_CONFLICT},    {"22012", ERROR_STALE},
        {"57014", ERROR_TIMEOUT},     {"08000", ERROR_UNAVAILABLE}, {"08006", ERROR_UNAVAILABLE},
        {"53300", ERROR_UNAVAILABLE}, {"53100", ERROR_UNAVAILABLE}, {"57P01", ERROR_UNAVAILABLE},
        {"57P03", ERROR_UNAVAILABLE}, {"58030", ERROR_UNAVAILABLE}, {"22021", ERROR_INVALID},
        {"22000", ERROR_INTERNAL},    {"23514", ERROR_INTERNAL},    {"57000", ERROR_INTERNAL},
        {"40002", ERROR_INTERNAL},    {"P0001", ERROR_INTERNAL},    {"42P01", ERROR_INTERNAL},
    };
    CLEANUP(db_freep) struct db *db = test_db_open(1);

    (void)state;
    make_raise();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(db_rows_done) PGresult *rows = NULL;
        CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(db_query(db, SQL_RAISE, DB_PARAMS(cases[i].state), &rows, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        strbuf_appendf(&words, "PostgreSQL %s: words of the server", cases[i].state);
        assert_string_equal(err.message, words.text);
        assert_null(rows);
    }
}

static void only_a_read_is_repeated_and_only_when_the_server_is_out_of_reach(void **state)
{
    static const struct {
        const char *state;
        bool is_read;
        int64_t n_calls;
    } cases[] = {
        {"53300", true, 2},
        {"53300", false, 1},
        {"23505", true, 1},
        {"23505", false, 1},
    };
    CLEANUP(db_freep) struct db *db = test_db_open(1);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(db_rows_done) PGresult *rows = NULL;
        struct db_params params = DB_PARAMS(cases[i].state);
        struct error err = ERROR_INIT;

        make_raise();
        assert_int_equal(cases[i].is_read ? db_read(db, SQL_RAISE, params, &rows, &err)
                                          : db_query(db, SQL_RAISE, params, &rows, &err),
                         -1);
        assert_int_equal(test_sql_count("SELECT last_value - 1 FROM raised"), cases[i].n_calls);
    }
}

/* --- the pool --- */

static void statements_are_prepared_once(void **state)
{
    static const char SQL_ONE[] = "SELECT 1";
    static const char SQL_OTHER[] = "SELECT 2";
    static const char SQL_COUNT[] = "SELECT count(*) FROM pg_prepared_statements";
    CLEANUP(db_freep) struct db *db = test_db_open(1);
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_done(db_query(db, SQL_ONE, DB_NO_PARAMS, &rows, &err), &err);
        assert_int_equal(db_number(rows, 0, 0), 1);
        assert_done(db_query(db, SQL_OTHER, DB_NO_PARAMS, &rows, &err), &err);
        assert_int_equal(db_number(rows, 0, 0), 2);
        assert_done(db_query(db, SQL_COUNT, DB_NO_PARAMS, &rows, &err), &err);
        assert_int_equal(db_number(rows, 0, 0), 3);
    }
}

static void assert_setting(struct db *db, const char *name, const char *expected)
{
    static const char SQL_SETTING[] = "SELECT current_setting($1)";
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error err = ERROR_INIT;

    assert_done(db_query(db, SQL_SETTING, DB_PARAMS(name), &rows, &err), &err);
    assert_string_equal(db_text(rows, 0, 0), expected);
}

static void connections_have_the_settings_that_statements_rely_on(void **state)
{
    struct db_options options = {.url = test_database_url(), .application = "deft-settings"};
    CLEANUP(db_freep) struct db *db = NULL;
    CLEANUP(db_freep) struct db *limited = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_done(db_open(&options, &db, &err), &err);
    assert_setting(db, "application_name", "deft-settings");
    assert_setting(db, "client_encoding", "UTF8");
    assert_setting(db, "TimeZone", "UTC");
    assert_setting(db, "plan_cache_mode", "force_generic_plan");
    assert_setting(db, "max_parallel_workers_per_gather", "0");
    assert_setting(db, "statement_timeout", "15s");
    assert_null(db_hints(db));
    options.statement_timeout_ms = 1234;
    assert_done(db_open(&options, &limited, &err), &err);
    assert_setting(limited, "statement_timeout", "1234ms");
}

static void many_small_rows_do_not_cost_a_connection(void **state)
{
    static const char SQL_ROWS[] = "SELECT repeat('x', 1000) FROM generate_series(1, 2000)";
    CLEANUP(db_freep) struct db *db = test_db_open(1);
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    int64_t first = answered_by(db, 1, 1);
    struct error err = ERROR_INIT;

    (void)state;
    assert_done(db_query(db, SQL_ROWS, DB_NO_PARAMS, &rows, &err), &err);
    assert_int_equal(PQntuples(rows), 2000);
    assert_int_equal(answered_by(db, 1, 1), first);
}

/* One that waits for the only connection. */
struct waiter {
    struct db *db;
    pthread_t thread;
    int rc;
    struct error err;
};

static void *ping(void *argument)
{
    struct waiter *waiter = argument;

    waiter->rc = db_ping(waiter->db, &waiter->err);
    return NULL;
}

static void join(struct waiter *waiters, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pthread_join(waiters[i].thread, NULL), 0);
}

static void start(struct waiter *waiters, size_t n, struct db *db, void *(*act)(void *))
{
    for (size_t i = 0; i < n; i++) {
        waiters[i] = (struct waiter){.db = db, .rc = -1, .err = ERROR_INIT};
        assert_int_equal(pthread_create(&waiters[i].thread, NULL, act, &waiters[i]), 0);
    }
}

static void connection_that_is_given_back_goes_to_one_that_waits(void **state)
{
    CLEANUP(db_freep) struct db *db = test_db_open(1);
    struct waiter waiters[3];
    struct db_tx tx = DB_TX_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_done(db_tx_begin(db, &tx, &err), &err);
    start(waiters, 3, db, ping);
    db_tx_end(&tx);
    assert_null(tx.conn);
    db_tx_end(&tx);
    join(waiters, 3);
    for (size_t i = 0; i < 3; i++)
        assert_done(waiters[i].rc, &waiters[i].err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM pg_stat_activity WHERE application_name"
                                    " = 'deft-test' AND datname = current_database()"),
                     1);
}

enum { THREADS = 8, ROUNDS = 50 };

static void *ping_often(void *argument)
{
    struct waiter *waiter = argument;

    waiter->rc = 0;
    for (int i = 0; i < ROUNDS && waiter->rc == 0; i++)
        waiter->rc = db_ping(waiter->db, &waiter->err);
    return NULL;
}

/* Of three threads one waits now and then, of eight six always do. */
static void many_threads_share_two_connections(void **state)
{
    CLEANUP(db_freep) struct db *db = test_db_open(2);
    struct waiter waiters[THREADS];

    (void)state;
    for (size_t n = 3; n <= THREADS; n += 5) {
        start(waiters, n, db, ping_often);
        join(waiters, n);
        for (size_t i = 0; i < n; i++)
            assert_done(waiters[i].rc, &waiters[i].err);
    }
    assert_int_equal(test_sql_count("SELECT count(*) FROM pg_stat_activity WHERE application_name"
                                    " = 'deft-test' AND datname = current_database()"),
                     2);
}

/* Those that have given up are not handed a connection: it would never come back. */
static void threads_that_wait_too_long_give_up(void **state)
{
    const struct db_options options = {.url = test_database_url(),
                                       .application = "deft-test",
                                       .n_connections = 1,
                                       .take_timeout_ms = 50};
    CLEANUP(db_freep) struct db *db = NULL;
    struct waiter waiters[3];
    struct error err = ERROR_INIT;

    (void)state;
    assert_done(db_open(&options, &db, &err), &err);
    for (int round = 0; round < 2; round++) {
        struct db_tx tx = DB_TX_INIT;

        assert_done(db_tx_begin(db, &tx, &err), &err);
        start(waiters, 3, db, ping);
        join(waiters, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(waiters[i].rc, -1);
            assert_int_equal(waiters[i].err.code, ERROR_UNAVAILABLE);
            assert_non_null(strstr(waiters[i].err.message, "all 1 database connections are busy"));
        }
        db_tx_end(&tx);
        assert_done(db_ping(db, &err), &err);
    }
}

/* Notifications end a wait, and are taken with it: those of one turn do not end the next one. */
static void notifications_end_a_wait(void **state)
{
    struct db *db = test_db_open(1);
    struct notify_wait wait = {.tx = {.conn = NULL}};
    struct error err = ERROR_INIT;

    (void)state;
    assert_done(notify_wait_begin(db, &wait, &err), &err);
    test_sql("SELECT pg_notify('deft_events', 'a'), pg_notify('deft_events', 'b')");
    assert_done(notify_wait_sleep(&wait, clock_monotonic_ms() + 60000, &err), &err);
    assert_int_equal(notify_wait_sleep(&wait, clock_monotonic_ms(), &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    notify_wait_end(&wait);
    assert_done(db_ping(db, &err), &err);
    db_free(db);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_go_on_when_all_connections_break),
        cmocka_unit_test(transactions_begin_when_all_connections_break),
        cmocka_unit_test(one_write_at_most_fails_when_all_connections_break),
        cmocka_unit_test(what_is_not_committed_is_undone),
        cmocka_unit_test(transaction_that_has_failed_is_not_committed),
        cmocka_unit_test(connection_that_carried_something_large_is_not_kept),
        cmocka_unit_test(unreadable_address_is_invalid_and_a_dead_one_unavailable),
        cmocka_unit_test(connection_that_is_left_in_a_transaction_is_not_kept),
        cmocka_unit_test(state_of_a_failure_decides_its_code),
        cmocka_unit_test(only_a_read_is_repeated_and_only_when_the_server_is_out_of_reach),
        cmocka_unit_test(statements_are_prepared_once),
        cmocka_unit_test(connections_have_the_settings_that_statements_rely_on),
        cmocka_unit_test(many_small_rows_do_not_cost_a_connection),
        cmocka_unit_test(many_threads_share_two_connections),
        cmocka_unit_test(threads_that_wait_too_long_give_up),
        cmocka_unit_test(notifications_end_a_wait),
        cmocka_unit_test(connection_that_is_given_back_goes_to_one_that_waits),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
