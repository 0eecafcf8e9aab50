#include "store/conversation/task_store.h"

#include <stdbool.h>
#include <stddef.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/conversation_insert.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/conversation_write.h"
#include "store/conversation/event_insert.h"
#include "store/db/db_hint.h"
#include "store/db/db_query.h"

static const char SQL_WAIT[] =
    "WITH p AS (UPDATE conversations SET lease_owner = NULL, lease_expires_at = NULL,"
    "  claim_count = 0, waits_for = $2::uuid, agent_state = coalesce($3, agent_state),"
    "  updated_at = now() WHERE id = $1::uuid RETURNING wanted_at)"
    " UPDATE conversations k SET wanted_at = p.wanted_at FROM p"
    " WHERE k.id = $2::uuid AND k.wanted_at > p.wanted_at";

#define SPOKEN_TO                                                                                  \
    "coalesce((SELECT max(m.seq) FROM events m WHERE m.conversation_id = $1::uuid"                 \
    " AND m.kind = 'MessageEvent' AND m.source = 'user'), 0)"
static const char SQL_WORDS[] =
    "SELECT e.body FROM events e WHERE e.conversation_id = $1::uuid AND e.source = 'agent'"
    " AND (e.kind = 'MessageEvent' OR (e.kind = 'ActionEvent'"
    "  AND e.body::jsonb ->> 'tool_name' = 'finish'))"
    " AND e.seq > " SPOKEN_TO " ORDER BY e.seq DESC LIMIT 1";
static const char SQL_FAILURE[] =
    "SELECT e.body FROM events e WHERE e.conversation_id = $1::uuid"
    " AND e.kind = 'ConversationErrorEvent' AND e.seq > " SPOKEN_TO " ORDER BY e.seq DESC LIMIT 1";

static int insert_child(struct db_tx *tx, const struct task_work *work, struct error *err)
{
    const struct new_conversation inserted = {work->child, work->events, work->write};
    bool is_new = false;

    if (conversation_insert_whole(tx, &inserted, &is_new, err) < 0)
        return -1;
    if (!is_new)
        return error_set(err, ERROR_INVALID, "conversation %s already exists",
                         work->child->id.text);
    return 0;
}

static int write_child(struct db_tx *tx, const struct task_work *work, struct error *err)
{
    return conversation_write_in(tx, work->child, work->events, work->write, err);
}

static int no_work(struct db_tx *tx, const struct task_work *work, struct error *err)
{
    (void)tx;
    (void)work;
    (void)err;
    return 0;
}

typedef int give_work(struct db_tx *tx, const struct task_work *work, struct error *err);

static int wait_for(struct db *db, const struct task_wait *wait, const struct task_work *work,
                    give_work *give, char stop_out[STOP_WORD_BYTES], struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(mem_freep) char *agent_state = db_json_text(wait->agent_state);
    int rc = 0;

    if (db_tx_begin(db, &tx, err) < 0 || run_hold(&tx, wait->lease, stop_out, err) < 0 ||
        give(&tx, work, err) < 0 ||
        db_tx_query(&tx, SQL_WAIT,
                    DB_PARAMS(wait->lease->conversation_id.text, wait->child_id.text, agent_state),
                    &rows, err) < 0)
        return error_wrap(err, "suspending %s for a sub-agent", wait->lease->conversation_id.text);
    rc = db_tx_commit(&tx, err);
    if (db_hint_is_due(rc, err)) {
        db_hint(db, 1U << HINT_EVENTS, wait->lease->conversation_id.text);
        db_hint(db, 1U << HINT_EVENTS | 1U << HINT_WORK, wait->child_id.text);
    }
    return rc < 0
               ? error_wrap(err, "suspending %s for a sub-agent", wait->lease->conversation_id.text)
               : 0;
}

int task_store_begin(struct db *db, const struct task_wait *wait, const struct task_work *work,
                     char stop_out[STOP_WORD_BYTES], struct error *err)
{
    return wait_for(db, wait, work, insert_child, stop_out, err);
}

int task_store_go_on(struct db *db, const struct task_wait *wait, const struct task_work *work,
                     char stop_out[STOP_WORD_BYTES], struct error *err)
{
    return wait_for(db, wait, work, write_child, stop_out, err);
}

int task_store_wait_again(struct db *db, const struct task_wait *wait,
                          char stop_out[STOP_WORD_BYTES], struct error *err)
{
    const struct task_work none = {NULL, NULL, NULL};

    return wait_for(db, wait, &none, no_work, stop_out, err);
}

static int read_one(struct db *db, const char *sql, const struct uuid *id, struct strbuf *out,
                    struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, sql, DB_PARAMS(id->text), &rows, err) < 0)
        return error_wrap(err, "reading the result of %s", id->text);
    if (PQntuples(rows) == 1)
        strbuf_append(out, PQgetvalue(rows, 0, 0));
    return 0;
}

int task_store_read_end(struct db *db, const struct uuid *id, struct strbuf *words_out,
                        struct strbuf *failure_out, struct error *err)
{
    if (read_one(db, SQL_WORDS, id, words_out, err) < 0)
        return -1;
    return read_one(db, SQL_FAILURE, id, failure_out, err);
}
