/*
 * Non-blocking PostgreSQL for a process with one thread and an event loop: statements are pipelined
 * on one connection, and answers arrive in the order of the questions.
 *
 * Ownership: db_pipe_free() drops pending questions without calling their owners.
 * Threading: one thread. Nothing here blocks.
 * Errors: an answer carries ERROR_UNAVAILABLE while PostgreSQL is out of reach; a read-only
 * question is sent once more when the connection turns out to be broken.
 */
#ifndef DEFT_STORE_DB_DB_PIPE_H
#define DEFT_STORE_DB_DB_PIPE_H

#include "base/attr.h"

struct db_options;
struct db_pipe;
struct db_ticket;
struct error;

/* Connects lazily and reconnects by itself: succeeds while PostgreSQL is down. */
int db_pipe_open(const struct db_options *options, struct db_pipe **pipe_out,
                 struct error *err) NONNULL MUST_CHECK;
void db_pipe_free(struct db_pipe *pipe);
/* Readable when db_pipe_pump() has something to do; constant for the pipe's lifetime. */
int db_pipe_fd(const struct db_pipe *pipe) NONNULL MUST_CHECK;
/* Sends and receives what it can without blocking, and delivers the answers. */
void db_pipe_pump(struct db_pipe *pipe) NONNULL;

/* Withdraws a question whose owner is gone: its answer is dropped. */
void db_ticket_forget(struct db_ticket **ticket) NONNULL;

#endif
