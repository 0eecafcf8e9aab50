/*
 * The queue of a connection's queries: those sent and not yet answered, then those not sent. Only
 * db_async.c includes this.
 *
 * Ownership: a queue owns its queries; a finished query is freed.
 */
#ifndef DEFT_STORE_DB_ASYNC_QUERY_H
#define DEFT_STORE_DB_ASYNC_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include <libpq-fe.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "store/db/async_statement.h"

struct error;

enum { ASYNC_MAX_VALUES = 32 };

struct async_query {
    struct async_query *next;
    struct async_query **slot; /* where its owner holds it; NULL without an owner */
    struct async_statement statement;
    struct strbuf values; /* the parameters, each with its NUL */
    size_t starts[ASYNC_MAX_VALUES];
    bool is_null[ASYNC_MAX_VALUES];
    bool was_asked; /* already sent on a connection that broke */
    bool prepares;  /* first use of its statement on this connection */
    PGresult *rows; /* the latest result other than a sync */
};

struct async_queue {
    struct async_query *first;  /* in the order of sending */
    struct async_query *last;   /* NULL when first is */
    struct async_query *unsent; /* the first not yet sent */
};

/* Copies the statement's parameters. */
struct async_query *async_query_new(const struct async_statement *statement) NONNULL MUST_CHECK;
/* Ends a query: calls its owner's done() unless it was cancelled. rows NULL: it failed. */
void async_query_finish(struct async_query *query, const PGresult *rows, const struct error *err)
    __attribute__((nonnull(1)));

/* Appends a query that is not yet sent. */
void async_queue_add(struct async_queue *queue, struct async_query *query) NONNULL;
/* Removes the oldest query; there must be one. */
struct async_query *async_queue_take_first(struct async_queue *queue) NONNULL MUST_CHECK;
/* Prepends the other queue, which is empty afterwards. */
void async_queue_prepend(struct async_queue *queue, struct async_queue *front) NONNULL;
/* Fails all queries; owners may send again, and then join the same queue. */
void async_queue_fail(struct async_queue *queue, const struct error *why) NONNULL;
/*
 * After a lost connection: queries that were not sent, or may be sent again, stay; the rest fail.
 */
void async_queue_requeue(struct async_queue *queue, const struct error *why) NONNULL;
/* Frees all without calling their owners. */
void async_queue_drop(struct async_queue *queue) NONNULL;

#endif
