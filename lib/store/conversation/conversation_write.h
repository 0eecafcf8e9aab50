/*
 * The parts of conversation_store_write() that non-blocking writes and the creation of
 * conversations share; only lib/store includes this.
 * Decision: docs/decisions/0003-one-statement-writes.md
 */
#ifndef DEFT_STORE_CONVERSATION_CONVERSATION_WRITE_H
#define DEFT_STORE_CONVERSATION_CONVERSATION_WRITE_H

#include "base/attr.h"

struct conversation;
struct conversation_write;
struct db_async;
struct async_statement;
struct db_tx;
struct error;
struct event_list;

/*
 * The hints that a write calls for when it is committed (bit set of 1U << HINT_…): readers of the
 * conversation see new events, another snapshot or the end of a run; workers find a run, a job, or
 * a parent that waited for this run to end.
 */
unsigned conversation_write_hints(const struct conversation *conversation,
                                  const struct event_list *events,
                                  const struct conversation_write *write)
    __attribute__((nonnull(1, 3))) MUST_CHECK;

/*
 * Sends the write of events and row without blocking, guarded by seq alone (GUARD_NONE). The caller
 * sets done, owner and pending of the statement.
 * Errors here: ERROR_TOO_LARGE, with nothing sent; in the answer: as conversation_store_write().
 */
int conversation_write_ask(struct db_async *async, const struct conversation *conversation,
                           struct event_list *events, const struct conversation_write *write,
                           struct async_statement *statement, struct error *err) NONNULL MUST_CHECK;

/*
 * conversation_store_write() within a transaction, guarded by seq and by `guard`, which is not
 * GUARD_NO_LEASE; the caller's copy is unchanged until the commit.
 */
int conversation_write_in(struct db_tx *tx, struct conversation *conversation,
                          struct event_list *events, const struct conversation_write *write,
                          struct error *err) NONNULL MUST_CHECK;

/* Applies a successful write to the caller's copy of the conversation. */
void conversation_move_row(struct conversation *conversation,
                           const struct conversation_write *write) NONNULL;

#endif
