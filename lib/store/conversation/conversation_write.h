/*
 * What conversation_store_write() shares with the writes through a pipe and with the making of a
 * conversation; only lib/store includes this.
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
 * Asks for the write of events and row, guarded by seq alone (GUARD_NONE). The question brings
 * done, owner and ticket. Errors here: ERROR_TOO_LARGE, and nothing is asked; in the answer: as
 * conversation_store_write().
 */
int conversation_write_ask(struct db_pipe *pipe, const struct conversation *conversation,
                           struct event_list *events, const struct conversation_write *write,
                           struct db_question *question, struct error *err) NONNULL MUST_CHECK;

/*
 * As conversation_store_write() as a part of a transaction, guarded by seq and by `guard`, which is
 * not GUARD_NO_LEASE; the caller's copy stays as it is until the commit.
 */
int conversation_write_in(struct db_tx *tx, struct conversation *conversation,
                          struct event_list *events, const struct conversation_write *write,
                          struct error *err) NONNULL MUST_CHECK;

/* What the caller's copy of the conversation must know after the write is in. */
void conversation_move_row(struct conversation *conversation,
                           const struct conversation_write *write) NONNULL;

#endif
