/*
 * New conversations: the row, its first events and its first job in one transaction.
 */
#include <libpq-fe.h>

#include "base/error.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "store/conversation/conversation_insert.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/conversation_write.h"
#include "store/conversation/event_insert.h"
#include "store/db/db_hint.h"
#include "store/db/db_query.h"

static const char SQL_OWNER[] = "SELECT user_id FROM conversations WHERE id = $1::uuid";

static int check_owner(struct db_tx *tx, const struct conversation *conversation, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_tx_query(tx, SQL_OWNER, DB_PARAMS(conversation->id.text), &rows, err) < 0)
        return -1;
    if (PQntuples(rows) == 0 || !text_equal(PQgetvalue(rows, 0, 0), conversation->user_id.text))
        return error_set(err, ERROR_CONFLICT, "Conversation with id %s already exists",
                         conversation->id.text);
    return 0;
}

int conversation_store_create(struct db *db, struct conversation *conversation,
                              struct event_list *events, const struct conversation_write *write,
                              bool *was_there_out, struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    const struct new_conversation inserted = {conversation, events, write};
    bool is_new = false;
    int rc = 0;

    if (db_tx_begin(db, &tx, err) < 0 ||
        conversation_insert_whole(&tx, &inserted, &is_new, err) < 0)
        return error_wrap(err, "creating conversation %s", conversation->id.text);
    if (!is_new) {
        *was_there_out = true;
        return check_owner(&tx, conversation, err);
    }
    rc = db_tx_commit(&tx, err);
    if (db_hint_is_due(rc, err))
        db_hint(db, conversation_write_hints(conversation, events, write), conversation->id.text);
    if (rc < 0)
        return error_wrap(err, "creating conversation %s", conversation->id.text);
    *was_there_out = false;
    conversation_move_log_end(conversation, events);
    conversation_move_row(conversation, write);
    return 0;
}
