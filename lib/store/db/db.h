/*
 * PostgreSQL for the rest of deft: a handle that store functions borrow connections from.
 *
 * Ownership: db_free() closes everything.
 * Threading: all threads of a process share a struct db; each store call takes a connection for its
 * own duration and waits, up to a deadline, when all are in use.
 * Errors: ERROR_UNAVAILABLE when PostgreSQL is out of reach; the next call reconnects.
 */
#ifndef DEFT_STORE_DB_DB_H
#define DEFT_STORE_DB_DB_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct crash_points;
struct db;
struct error;
struct hints;

struct db_options {
    const char *url;              /* conninfo or URI of libpq */
    const char *application;      /* application_name, such as deft-worker */
    size_t n_connections;         /* maximum open at a time */
    int64_t statement_timeout_ms; /* 0: 15 s */
    int64_t take_timeout_ms;      /* how long a call waits for a free connection; 0: 10 s */
    struct crash_points *crash;   /* borrowed; NULL: none */
    struct hints *hints; /* queue for the hints of store functions; borrowed; NULL: no hints */
};

/* Connects lazily: succeeds while PostgreSQL is down. */
int db_open(const struct db_options *options, struct db **db_out,
            struct error *err) NONNULL MUST_CHECK;
void db_free(struct db *db);
void db_freep(struct db **db) NONNULL;
/* One round trip; for readiness. */
int db_ping(struct db *db, struct error *err) NONNULL MUST_CHECK;

#endif
