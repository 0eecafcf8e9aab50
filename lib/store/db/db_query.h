/*
 * How store modules talk to PostgreSQL; only lib/store includes this.
 *
 * Statements are prepared once per connection, keyed by the address of their text, so each text is
 * a static array. Values travel as parameters, in text form.
 */
#ifndef DEFT_STORE_DB_DB_QUERY_H
#define DEFT_STORE_DB_DB_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <libpq-fe.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/uuid.h"

struct db;
struct db_conn;
struct hints;
struct strbuf;

struct db_params {
    const char *const *values;
    size_t n;
};

/* DB_PARAMS(a, b): texts, NULL for SQL's null. */
#define DB_PARAMS(...)                                                                             \
    ((struct db_params){                                                                           \
        (const char *const[]){__VA_ARGS__},                                                        \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *),                         \
    })
#define DB_NO_PARAMS ((struct db_params){NULL, 0})

/* A number as a parameter; lives in the enclosing block. */
struct db_int {
    char text[24];
};
struct db_int db_int(int64_t value) MUST_CHECK;
/* A boolean as a parameter. */
const char *db_flag(bool value) MUST_CHECK;
/* The text of JSON as a parameter, NULL for NULL; mem_free() it. */
char *db_json_text(const json_t *json) MUST_CHECK;
/* The id's text, or NULL when it is unset. Borrowed from uuid. */
const char *db_uuid(const struct uuid *uuid) NONNULL MUST_CHECK;

void db_rows_done(PGresult **rows) NONNULL;

/* Runs one statement on a borrowed connection, in its own transaction. */
int db_query(struct db *db, const char *sql, struct db_params params, PGresult **rows_out,
             struct error *err) NONNULL MUST_CHECK;
/*
 * As db_query(), for read-only statements: a connection that turns out to be broken is replaced and
 * the statement sent once more.
 */
int db_read(struct db *db, const char *sql, struct db_params params, PGresult **rows_out,
            struct error *err) NONNULL MUST_CHECK;

/*
 * A transaction of several statements: db_tx_end() rolls back what was not committed. BEGIN is
 * tried twice, as in db_read().
 */
struct db_tx {
    struct db *db;
    struct db_conn *conn;
    bool is_open;
};

/* clang-format off */
#define DB_TX_INIT {NULL, NULL, false}
/* clang-format on */

/* Begins a transaction on a connection of its own, held until db_tx_end(). */
int db_tx_begin(struct db *db, struct db_tx *tx, struct error *err) NONNULL MUST_CHECK;
int db_tx_query(struct db_tx *tx, const char *sql, struct db_params params, PGresult **rows_out,
                struct error *err) NONNULL MUST_CHECK;
/* ERROR_INTERNAL, with nothing committed, when one of its statements failed. */
int db_tx_commit(struct db_tx *tx, struct error *err) NONNULL MUST_CHECK;
void db_tx_end(struct db_tx *tx) NONNULL;

/* The raw connection of a transaction, for LISTEN. Borrowed. */
PGconn *db_tx_connection(struct db_tx *tx) NONNULL MUST_CHECK;

/* The queue of hints of db_options; NULL: none. Borrowed. */
struct hints *db_hints(const struct db *db) NONNULL MUST_CHECK;

/* A new connection outside the pool, for hints and feeds. The caller ends it with PQfinish(). */
int db_connect(const char *url, const char *application, int64_t statement_timeout_ms,
               PGconn **conn_out, struct error *err) NONNULL MUST_CHECK;

/* Non-blocking db_connect(): the caller continues with PQconnectPoll(). */
int db_connect_start(const char *url, const char *application, int64_t statement_timeout_ms,
                     PGconn **conn_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Sets the error that a failed statement means to a caller; returns -1. rows NULL: the connection
 * failed.
 */
int db_set_failure(const PGconn *pg, const PGresult *rows, struct error *err)
    __attribute__((nonnull(1, 3)));

/* Cells. A null cell is NULL, "" or 0. Texts are borrowed from rows. */
const char *db_text(const PGresult *rows, int row, int column) NONNULL MUST_CHECK;
int64_t db_number(const PGresult *rows, int row, int column) NONNULL MUST_CHECK;
bool db_bool(const PGresult *rows, int row, int column) NONNULL MUST_CHECK;
struct uuid db_cell_uuid(const PGresult *rows, int row, int column) NONNULL MUST_CHECK;
/* A copy, or NULL for a null cell. */
char *db_dup(const PGresult *rows, int row, int column) NONNULL MUST_CHECK;

/*
 * JSON or a time that we stored ourselves: if it cannot be read, the fault is ours, hence
 * ERROR_INTERNAL.
 */
int db_json(const PGresult *rows, int row, int column, json_t **json_out,
            struct error *err) NONNULL MUST_CHECK;
int db_read_time(const char *text, int64_t *utc_us_out, struct error *err) NONNULL MUST_CHECK;

/* Array parameters, {"a","b"}: begin, add each, end. */
void db_array_begin(struct strbuf *array) NONNULL;
void db_array_add(struct strbuf *array, const char *text) __attribute__((nonnull(1)));
void db_array_end(struct strbuf *array) NONNULL;

#endif
