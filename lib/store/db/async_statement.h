/*
 * How store modules send statements without blocking; only lib/store includes this.
 */
#ifndef DEFT_STORE_DB_ASYNC_STATEMENT_H
#define DEFT_STORE_DB_ASYNC_STATEMENT_H

#include <libpq-fe.h>

#include "base/attr.h"
#include "store/db/db_query.h"

struct db_async;
struct async_query;

/* rows is NULL when err is set; borrowed for the call. */
typedef void async_done(void *owner, const PGresult *rows, const struct error *err);

enum async_effect {
    ASYNC_READS,  /* may be sent twice */
    ASYNC_WRITES, /* never sent twice: after a broken connection the outcome is unknown */
};

struct async_statement {
    const char *sql; /* static, as for db_query() */
    struct db_params params;
    enum async_effect effect;
    async_done *done; /* NULL: the answer is ignored */
    void *owner;
    struct async_query **pending; /* set while pending, cleared just before done(); may be NULL */
};

/*
 * Sends a statement (parameters are copied) in its own transaction. done() is never called from
 * inside this call.
 */
void db_async_send(struct db_async *async, const struct async_statement *statement) NONNULL;

/*
 * Sends a hint of each kind (bit set of 1U << HINT_…) with that id, for a write on this connection
 * that was answered; lost when PostgreSQL is out of reach. See db_hint.h.
 */
void async_hint(struct db_async *async, unsigned kinds, const char *id) NONNULL;

/* Events of a connection other than answers. */
struct db_async_listener {
    const char *const *listens; /* static statements to send on each new connection, NULL at end */
    void (*connected)(void *owner);
    void (*notified)(void *owner, const PGnotify *notify);
    void *owner;
};

/* Replaces the listener, which is copied; holds for connections made from now on. */
void db_async_listen(struct db_async *async, const struct db_async_listener *listener) NONNULL;

#endif
