/*
 * Non-blocking PostgreSQL for a process with one thread and an event loop: statements are pipelined
 * on one connection, and answers arrive in the order of the statements.
 *
 * Ownership: db_async_free() drops pending queries without calling their owners.
 * Threading: one thread. Nothing here blocks.
 * Errors: an answer carries ERROR_UNAVAILABLE while PostgreSQL is out of reach; a read-only
 * statement is sent once more when the connection turns out to be broken.
 */
#ifndef DEFT_STORE_DB_DB_ASYNC_H
#define DEFT_STORE_DB_DB_ASYNC_H

#include "base/attr.h"

struct db_options;
struct db_async;
struct async_query;
struct error;

/* Connects lazily and reconnects by itself: succeeds while PostgreSQL is down. */
int db_async_open(const struct db_options *options, struct db_async **async_out,
                  struct error *err) NONNULL MUST_CHECK;
void db_async_free(struct db_async *async);
/* Readable when db_async_pump() has something to do; constant for its lifetime. */
int db_async_fd(const struct db_async *async) NONNULL MUST_CHECK;
/* Sends and receives what it can without blocking, and delivers the answers. */
void db_async_pump(struct db_async *async) NONNULL;

/*
 * The connection that sends the hints of what store functions wrote on this one; it must outlive
 * it. Without one no hints are sent.
 */
void db_async_set_hints(struct db_async *async, struct db_async *hints) NONNULL;

/* Withdraws a query whose owner no longer exists: its answer is dropped. */
void async_query_cancel(struct async_query **query) NONNULL;

#endif
