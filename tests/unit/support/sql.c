#include "support/sql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <libpq-fe.h>

#include "support/pg.h"

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
    PGconn *conn = PQconnectdb(test_database_url());

    PQclear(run(conn, sql));
    PQfinish(conn);
}

int64_t test_sql_count(const char *sql)
{
    PGconn *conn = PQconnectdb(test_database_url());
    PGresult *rows = run(conn, sql);
    int64_t value = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);

    PQclear(rows);
    PQfinish(conn);
    return value;
}
