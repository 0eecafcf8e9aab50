/*
 * Guarantees of a pool of connections: it survives their loss, and reports when none is available.
 */
#include "store/db/db.h"

#include "base/strbuf.h"
#include "store/db/db_query.h"
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
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
