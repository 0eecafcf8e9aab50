#include "store/db/db.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/db_query.h"

enum { PREPARED_MAX = 128, TAKE_TIMEOUT_MS = 10000, STATEMENT_TIMEOUT_MS = 15000 };

/*
 * libpq's buffers grow to the largest message seen and never shrink: a connection that carried a
 * larger one is closed instead of kept.
 */
enum { MESSAGE_KEPT_BYTES = 256 * 1024 };

struct db_conn {
    PGconn *pg;
    struct crash_points *crash;         /* the pool's */
    const char *prepared[PREPARED_MAX]; /* addresses of statement texts; the index is the name */
    size_t n_prepared;
    bool has_grown; /* by a message above MESSAGE_KEPT_BYTES */
    struct db_conn *next_idle;
};

/* A thread that waits for a connection; on its stack. */
struct waiter {
    struct condition served;
    struct db_conn *conn; /* NULL: may open one */
    bool is_served;
    struct waiter *next;
};

struct db {
    char *url;
    char *application;
    int64_t statement_timeout_ms;
    int64_t take_timeout_ms;
    size_t max_connections;
    struct crash_points *crash; /* NULL: none */
    struct hints *hints;        /* NULL: none */
    struct lock lock;           /* guards all below; never held over I/O */
    struct db_conn *idle;
    size_t n_open; /* idle, taken, and about to be opened */
    struct waiter *first;
    struct waiter **last;
};

/* Common parameters of all connections; both forms of libpq's connect take them. */
typedef PGconn *connect_function(const char *const *keys, const char *const *values, int expand);

static PGconn *connect_with(connect_function *connect, const char *url, const char *application,
                            int64_t statement_timeout_ms)
{
    char timeout[192];
    const char *const keys[] = {
        "dbname",  "fallback_application_name", "connect_timeout",  "client_encoding",
        "options", "keepalives_idle",           "tcp_user_timeout", NULL};
    const char *values[] = {url, application, "5", "UTF8", timeout, "5", "10000", NULL};

    /*
     * A plan for each call's values costs more than the call: the partitions are planned again. A
     * generic plan does not know how small a LIMIT is, and would start parallel workers for a page
     * of 20.
     */
    (void)snprintf(timeout, sizeof(timeout),
                   "-c statement_timeout=%lld -c TimeZone=UTC -c plan_cache_mode=force_generic_plan"
                   " -c max_parallel_workers_per_gather=0",
                   (long long)statement_timeout_ms);
    return connect(keys, values, 1);
}

static int set_unreachable(PGconn *conn, struct error *err)
{
    error_set(err, ERROR_UNAVAILABLE, "PostgreSQL: %.180s",
              conn != NULL ? PQerrorMessage(conn) : "out of memory");
    PQfinish(conn);
    return -1;
}

int db_connect(const char *url, const char *application, int64_t statement_timeout_ms,
               PGconn **conn_out, struct error *err)
{
    PGconn *conn = connect_with(PQconnectdbParams, url, application, statement_timeout_ms);

    if (conn == NULL || PQstatus(conn) != CONNECTION_OK)
        return set_unreachable(conn, err);
    *conn_out = conn;
    return 0;
}

int db_connect_start(const char *url, const char *application, int64_t statement_timeout_ms,
                     PGconn **conn_out, struct error *err)
{
    PGconn *conn = connect_with(PQconnectStartParams, url, application, statement_timeout_ms);

    if (conn == NULL || PQstatus(conn) == CONNECTION_BAD)
        return set_unreachable(conn, err);
    *conn_out = conn;
    return 0;
}

static void conn_free(struct db_conn *conn)
{
    if (conn == NULL)
        return;
    PQfinish(conn->pg);
    mem_free(conn);
}

static void free_list(struct db_conn *first)
{
    while (first != NULL) {
        struct db_conn *conn = first;

        first = conn->next_idle;
        conn_free(conn);
    }
}

int db_open(const struct db_options *options, struct db **db_out, struct error *err)
{
    struct db *db = NULL;
    PQconninfoOption *parsed = NULL;
    char *why = NULL;

    parsed = PQconninfoParse(options->url, &why);
    if (parsed == NULL) {
        error_set(err, ERROR_INVALID, "database URL: %s", why != NULL ? why : "unreadable");
        PQfreemem(why);
        return -1;
    }
    PQconninfoFree(parsed);
    db = NEW(struct db);
    db->url = mem_dup_text(options->url);
    db->application = mem_dup_text(options->application);
    db->statement_timeout_ms =
        options->statement_timeout_ms > 0 ? options->statement_timeout_ms : STATEMENT_TIMEOUT_MS;
    db->take_timeout_ms = options->take_timeout_ms > 0 ? options->take_timeout_ms : TAKE_TIMEOUT_MS;
    db->crash = options->crash;
    db->hints = options->hints;
    db->max_connections = options->n_connections > 0 ? options->n_connections : 1;
    lock_init(&db->lock);
    db->last = &db->first;
    *db_out = db;
    return 0;
}

void db_free(struct db *db)
{
    if (db == NULL)
        return;
    free_list(db->idle);
    lock_done(&db->lock);
    mem_free(db->url);
    mem_free(db->application);
    mem_free(db);
}

void db_freep(struct db **db)
{
    db_free(*db);
    *db = NULL;
}

static bool take_locked(struct db *db, struct db_conn **conn_out) REQUIRES(db -> lock);
static void wait_locked(struct db *db, struct waiter *waiter) REQUIRES(db -> lock);
static void serve_locked(struct db *db) REQUIRES(db -> lock);

/* An idle connection, or NULL with the right to open one; false: all are in use. */
static bool take_locked(struct db *db, struct db_conn **conn_out)
{
    *conn_out = db->idle;
    if (db->idle != NULL)
        db->idle = db->idle->next_idle;
    else if (db->n_open < db->max_connections)
        db->n_open++;
    else
        return false;
    return true;
}

/* Waits in line, each thread by a condition of its own: one that many share costs more. */
static void wait_locked(struct db *db, struct waiter *waiter)
{
    int64_t deadline_ms = clock_monotonic_ms() + db->take_timeout_ms;
    struct waiter **at = &db->first;

    *db->last = waiter;
    db->last = &waiter->next;
    while (!waiter->is_served && condition_wait_until(&waiter->served, &db->lock, deadline_ms))
        continue;
    if (waiter->is_served)
        return;
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    if (waiter->next == NULL)
        db->last = at;
}

/* Hands what is free to those who wait, in the order in which they came. */
static void serve_locked(struct db *db)
{
    while (db->first != NULL && take_locked(db, &db->first->conn)) {
        struct waiter *waiter = db->first;

        db->first = waiter->next;
        if (db->first == NULL)
            db->last = &db->first;
        waiter->is_served = true;
        condition_wake_one(&waiter->served);
    }
}

/* As take_locked(), but waits for another thread's; -1 when all stay in use until the deadline. */
static int take_slot(struct db *db, struct db_conn **conn_out, struct error *err)
{
    struct waiter waiter = {0};

    lock_take(&db->lock);
    if (take_locked(db, conn_out)) {
        lock_release(&db->lock);
        return 0;
    }
    condition_init(&waiter.served);
    wait_locked(db, &waiter);
    lock_release(&db->lock);
    condition_done(&waiter.served);
    *conn_out = waiter.conn;
    if (!waiter.is_served)
        return error_set(err, ERROR_UNAVAILABLE, "all %zu database connections are busy",
                         db->max_connections);
    return 0;
}

static struct db_conn *take_idle_locked(struct db *db) REQUIRES(db -> lock);

/* Removes all idle connections from the pool; the caller frees them. */
static struct db_conn *take_idle_locked(struct db *db)
{
    struct db_conn *first = TAKE_PTR(db->idle);

    for (const struct db_conn *conn = first; conn != NULL; conn = conn->next_idle)
        db->n_open--;
    return first;
}

/*
 * A server that closed one connection has most likely closed the idle ones, too: they are dropped
 * at once, so that later calls do not each meet a broken one.
 */
static void give_slot(struct db *db, struct db_conn *conn)
{
    bool is_broken = conn != NULL && PQstatus(conn->pg) != CONNECTION_OK;
    bool is_good = conn != NULL && !is_broken && !conn->has_grown &&
                   PQtransactionStatus(conn->pg) == PQTRANS_IDLE;
    struct db_conn *stale = NULL;

    if (!is_good)
        conn_free(conn);
    lock_take(&db->lock);
    if (is_broken)
        stale = take_idle_locked(db);
    if (is_good) {
        conn->next_idle = db->idle;
        db->idle = conn;
    } else {
        db->n_open--;
    }
    serve_locked(db);
    lock_release(&db->lock);
    free_list(stale);
}

static int take_connection(struct db *db, struct db_conn **conn_out, struct error *err)
{
    struct db_conn *conn = NULL;
    PGconn *pg = NULL;

    if (take_slot(db, &conn, err) < 0)
        return -1;
    if (conn != NULL) {
        *conn_out = conn;
        return 0;
    }
    if (db_connect(db->url, db->application, db->statement_timeout_ms, &pg, err) < 0) {
        give_slot(db, NULL);
        return -1;
    }
    conn = NEW(struct db_conn);
    conn->pg = pg;
    conn->crash = db->crash;
    *conn_out = conn;
    return 0;
}

struct sqlstate {
    const char *prefix;
    enum error_code code;
};

/* Error codes by SQLSTATE, or its class. PostgreSQL manual, appendix A. */
static const struct sqlstate sqlstates[] = {
    {"23505", ERROR_CONFLICT},  /* unique_violation */
    {"23503", ERROR_CONFLICT},  /* foreign_key_violation */
    {"40001", ERROR_CONFLICT},  /* serialization_failure */
    {"40P01", ERROR_CONFLICT},  /* deadlock_detected */
    {"55P03", ERROR_CONFLICT},  /* lock_not_available */
    {"22012", ERROR_STALE},     /* division_by_zero: how our statements refuse a stale writer */
    {"57014", ERROR_TIMEOUT},   /* query_canceled */
    {"08", ERROR_UNAVAILABLE},  /* connection exceptions */
    {"53", ERROR_UNAVAILABLE},  /* out of connections, memory, disk */
    {"57P", ERROR_UNAVAILABLE}, /* shutdown, crash, cannot connect now */
    {"58", ERROR_UNAVAILABLE},  /* I/O error */
    {"22021", ERROR_INVALID},   /* character not in repertoire */
};

int db_set_failure(const PGconn *pg, const PGresult *rows, struct error *err)
{
    const char *state = rows != NULL ? PQresultErrorField(rows, PG_DIAG_SQLSTATE) : NULL;
    const char *primary = rows != NULL ? PQresultErrorField(rows, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    enum error_code code = state == NULL ? ERROR_UNAVAILABLE : ERROR_INTERNAL;

    for (size_t i = 0; state != NULL && i < ARRAY_SIZE(sqlstates); i++) {
        if (text_starts_with(state, sqlstates[i].prefix)) {
            code = sqlstates[i].code;
            break;
        }
    }
    return error_set(err, code, "PostgreSQL %s: %.160s", state != NULL ? state : "connection",
                     primary != NULL ? primary : PQerrorMessage(pg));
}

static int prepare(struct db_conn *conn, const char *sql, char name[16], struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    size_t i = 0;

    while (i < conn->n_prepared && conn->prepared[i] != sql)
        i++;
    assert(i < PREPARED_MAX);
    (void)snprintf(name, 16, "s%zu", i);
    if (i < conn->n_prepared)
        return 0;
    rows = PQprepare(conn->pg, name, sql, 0, NULL);
    if (PQresultStatus(rows) != PGRES_COMMAND_OK)
        return db_set_failure(conn->pg, rows, err);
    conn->prepared[conn->n_prepared++] = sql;
    return 0;
}

/* As PQexecPrepared(), with a crash point between sending and receiving. */
static PGresult *execute(struct db_conn *conn, const char *name, struct db_params params)
{
    PGresult *rows = NULL;

    if (PQsendQueryPrepared(conn->pg, name, (int)params.n, params.values, NULL, NULL, 0) == 0)
        return NULL;
    crash_sent(conn->crash);
    for (PGresult *next = PQgetResult(conn->pg); next != NULL; next = PQgetResult(conn->pg)) {
        PQclear(rows);
        rows = next;
    }
    return rows;
}

static size_t request_bytes(struct db_params params)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < params.n; i++)
        n_bytes += params.values[i] != NULL ? strlen(params.values[i]) : 0;
    return n_bytes;
}

/* Size of the largest row: libpq reads rows one by one. */
static size_t largest_row_bytes(const PGresult *rows)
{
    size_t most = 0;

    for (int row = 0; row < PQntuples(rows); row++) {
        size_t n_bytes = 0;

        for (int column = 0; column < PQnfields(rows); column++)
            n_bytes += (size_t)PQgetlength(rows, row, column);
        most = n_bytes > most ? n_bytes : most;
    }
    return most;
}

static bool grows_buffers(struct db_params params, const PGresult *rows)
{
    if (request_bytes(params) > MESSAGE_KEPT_BYTES)
        return true;
    return PQresultMemorySize(rows) > MESSAGE_KEPT_BYTES &&
           largest_row_bytes(rows) > MESSAGE_KEPT_BYTES;
}

static int run_prepared(struct db_conn *conn, const char *sql, struct db_params params,
                        PGresult **rows_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    char name[16] = "";

    if (prepare(conn, sql, name, err) < 0)
        return -1;
    rows = execute(conn, name, params);
    conn->has_grown = conn->has_grown || grows_buffers(params, rows);
    if (PQresultStatus(rows) != PGRES_TUPLES_OK && PQresultStatus(rows) != PGRES_COMMAND_OK)
        return db_set_failure(conn->pg, rows, err);
    PQclear(*rows_out);
    *rows_out = TAKE_PTR(rows);
    return 0;
}

int db_query(struct db *db, const char *sql, struct db_params params, PGresult **rows_out,
             struct error *err)
{
    struct db_conn *conn = NULL;
    int rc = 0;

    if (take_connection(db, &conn, err) < 0)
        return -1;
    rc = run_prepared(conn, sql, params, rows_out, err);
    give_slot(db, conn);
    return rc;
}

int db_read(struct db *db, const char *sql, struct db_params params, PGresult **rows_out,
            struct error *err)
{
    if (db_query(db, sql, params, rows_out, err) == 0)
        return 0;
    if (err->code != ERROR_UNAVAILABLE)
        return -1;
    return db_query(db, sql, params, rows_out, err);
}

struct hints *db_hints(const struct db *db)
{
    return db->hints;
}

int db_ping(struct db *db, struct error *err)
{
    static const char SQL_PING[] = "SELECT 1";
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    return db_read(db, SQL_PING, DB_NO_PARAMS, &rows, err);
}

static int begin_once(struct db *db, struct db_tx *tx, struct error *err)
{
    static const char SQL_BEGIN[] = "BEGIN";
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (take_connection(db, &tx->conn, err) < 0)
        return -1;
    tx->db = db;
    if (run_prepared(tx->conn, SQL_BEGIN, DB_NO_PARAMS, &rows, err) < 0) {
        give_slot(db, TAKE_PTR(tx->conn));
        return -1;
    }
    tx->is_open = true;
    return 0;
}

int db_tx_begin(struct db *db, struct db_tx *tx, struct error *err)
{
    if (begin_once(db, tx, err) == 0)
        return 0;
    if (err->code != ERROR_UNAVAILABLE)
        return -1;
    return begin_once(db, tx, err);
}

int db_tx_query(struct db_tx *tx, const char *sql, struct db_params params, PGresult **rows_out,
                struct error *err)
{
    return run_prepared(tx->conn, sql, params, rows_out, err);
}

int db_tx_commit(struct db_tx *tx, struct error *err)
{
    static const char SQL_COMMIT[] = "COMMIT";
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (run_prepared(tx->conn, SQL_COMMIT, DB_NO_PARAMS, &rows, err) < 0)
        return -1;
    tx->is_open = false;
    /* After a failed statement PostgreSQL treats COMMIT as ROLLBACK, and reports success. */
    if (!text_equal(PQcmdStatus(rows), SQL_COMMIT))
        return error_set(err, ERROR_INTERNAL, "a failed transaction cannot be committed");
    return 0;
}

void db_tx_end(struct db_tx *tx)
{
    static const char SQL_ROLLBACK[] = "ROLLBACK";
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error err = ERROR_INIT;

    if (tx->conn == NULL)
        return;
    if (tx->is_open)
        error_ignore(run_prepared(tx->conn, SQL_ROLLBACK, DB_NO_PARAMS, &rows, &err),
                     "a connection that cannot roll back is closed by give_slot()");
    tx->is_open = false;
    give_slot(tx->db, TAKE_PTR(tx->conn));
}

PGconn *db_tx_connection(struct db_tx *tx)
{
    return tx->conn->pg;
}
