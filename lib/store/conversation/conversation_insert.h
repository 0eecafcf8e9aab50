/*
 * Inserts the rows of a new conversation; shared by the store modules that create one.
 */
#ifndef DEFT_STORE_CONVERSATION_CONVERSATION_INSERT_H
#define DEFT_STORE_CONVERSATION_CONVERSATION_INSERT_H

#include <stdbool.h>

#include "base/attr.h"

struct conversation;
struct new_conversation;
struct conversation_write;
struct db_tx;
struct error;

/*
 * Inserts the row and reads its times; *is_new_out = false, with nothing written, when the id is
 * taken. events: those inserted later in the same transaction; NULL: the caller writes others.
 */
int conversation_insert_row(struct db_tx *tx, const struct new_conversation *inserted,
                            bool *is_new_out, struct error *err) NONNULL MUST_CHECK;

/* As above, with its first events and its first job. */
int conversation_insert_whole(struct db_tx *tx, const struct new_conversation *inserted,
                              bool *is_new_out, struct error *err) NONNULL MUST_CHECK;

#endif
