/*
 * How store modules send questions through a pipe; only lib/store includes this.
 */
#ifndef DEFT_STORE_DB_DB_PIPE_QUERY_H
#define DEFT_STORE_DB_DB_PIPE_QUERY_H

#include <libpq-fe.h>

#include "base/attr.h"
#include "store/db/db_query.h"

struct db_pipe;
struct db_ticket;

/* rows is NULL when err is set; borrowed for the call. */
typedef void db_pipe_done(void *owner, const PGresult *rows, const struct error *err);

enum db_pipe_effect {
    DB_PIPE_READS,  /* may be sent twice */
    DB_PIPE_WRITES, /* never sent twice: after a broken connection the outcome is unknown */
};

struct db_question {
    const char *sql; /* static, as for db_query() */
    struct db_params params;
    enum db_pipe_effect effect;
    db_pipe_done *done; /* NULL: the answer is ignored */
    void *owner;
    struct db_ticket **ticket; /* set while pending, cleared just before done(); may be NULL */
};

/*
 * Sends a question (parameters are copied) in its own transaction. done() is never called from
 * inside this call.
 */
void db_pipe_ask(struct db_pipe *pipe, const struct db_question *question) NONNULL;

/* Events of a pipe other than answers. */
struct db_pipe_listener {
    const char *const *listens; /* static statements to send on each new connection, NULL at end */
    void (*connected)(void *owner);
    void (*notified)(void *owner, const PGnotify *notify);
    void *owner;
};

void db_pipe_listen(struct db_pipe *pipe, const struct db_pipe_listener *listener) NONNULL;

#endif
