#include "support/sql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <libpq-fe.h>

#include "base/clock.h"
#include "base/mem.h"
#include "support/pg.h"

enum { PATIENCE_MS = 60000 };

/* A failed test may leave locks: those after it fail, too, instead of waiting without end. */
static PGconn *open_connection(void)
{
    static const char *const names[] = {"dbname", "options", NULL};
    const char *const values[] = {test_database_url(), "-c lock_timeout=60000", NULL};

    return PQconnectdbParams(names, values, 1);
}

static PGresult *run(PGconn *conn, const char *sql)
{
    PGresult *rows = NULL;

    if (PQstatus(conn) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(conn));
    rows = PQexec(conn, sql);
    if (PQresultStatus(rows) != PGRES_COMMAND_OK && PQresultStatus(rows) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    return rows;
}

void test_sql(const char *sql)
{
    PGconn *conn = open_connection();

    PQclear(run(conn, sql));
    PQfinish(conn);
}

int64_t test_sql_count(const char *sql)
{
    PGconn *conn = open_connection();
    PGresult *rows = run(conn, sql);
    int64_t value = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);

    PQclear(rows);
    PQfinish(conn);
    return value;
}

struct test_tx {
    PGconn *conn;
};

struct test_tx *test_tx_begin(void)
{
    struct test_tx *tx = NEW(struct test_tx);

    tx->conn = open_connection();
    test_tx_sql(tx, "BEGIN");
    return tx;
}

void test_tx_sql(struct test_tx *tx, const char *sql)
{
    PQclear(run(tx->conn, sql));
}

void test_tx_commit(struct test_tx *tx)
{
    test_tx_sql(tx, "COMMIT");
    PQfinish(tx->conn);
    mem_free(tx);
}

void test_wait_blocked(void)
{
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;

    while (test_sql_count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                          " AND datname = current_database()") == 0) {
        if (clock_monotonic_ms() > deadline_ms)
            fail_msg("nothing waits for a lock");
    }
}
