/*
 * The parts of conversation_store_write() that writes through a pipe and the creation of
 * conversations share; only lib/store includes this.
 * Decision: docs/decisions/0003-one-statement-writes.md
 */
#ifndef DEFT_STORE_CONVERSATION_CONVERSATION_WRITE_H
#define DEFT_STORE_CONVERSATION_CONVERSATION_WRITE_H

#include "base/attr.h"

struct conversation;
struct conversation_write;
struct db_pipe;
struct db_question;
struct db_tx;
struct error;
struct event_list;

/*
 * Sends the write of events and row through a pipe, guarded by seq alone (GUARD_NONE). The caller
 * sets done, owner and ticket of the question.
 * Errors here: ERROR_TOO_LARGE, with nothing sent; in the answer: as conversation_store_write().
 */
int conversation_write_ask(struct db_pipe *pipe, const struct conversation *conversation,
                           struct event_list *events, const struct conversation_write *write,
                           struct db_question *question, struct error *err) NONNULL MUST_CHECK;

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
