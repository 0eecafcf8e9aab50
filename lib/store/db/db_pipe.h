/*
 * PostgreSQL without waiting, for a process with one thread and an event loop: statements go down
 * one connection as a pipeline, and answers come back in the order of asking.
 *
 * Ownership: db_pipe_free() drops what is under way; nobody is told.
 * Threading: one thread. Nothing here blocks.
 * Errors: an answer comes with ERROR_UNAVAILABLE while PostgreSQL is out of reach; what only reads
 * is asked once more when the connection turns out to be broken.
 */
#ifndef DEFT_STORE_DB_DB_PIPE_H
#define DEFT_STORE_DB_DB_PIPE_H

#include "base/attr.h"

struct db_options;
struct db_pipe;
struct db_ticket;
struct error;

/* Connects lazily, and again by itself: succeeds while PostgreSQL is down. */
int db_pipe_open(const struct db_options *options, struct db_pipe **pipe_out,
                 struct error *err) NONNULL MUST_CHECK;
void db_pipe_free(struct db_pipe *pipe);
/* Readable when db_pipe_pump() has something to do; the same for as long as the pipe lives. */
int db_pipe_fd(const struct db_pipe *pipe) NONNULL MUST_CHECK;
/* Sends and receives what it can, and gives out the answers. */
void db_pipe_pump(struct db_pipe *pipe) NONNULL;

/* Takes a question back whose owner is gone: its answer is dropped. */
void db_ticket_forget(struct db_ticket **ticket) NONNULL;

#endif
