#include "store/conversation/task_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

/*
 * Both rows in id order, as a stop request locks them before it reads what the run waits for. Also
 * whether the row has the new state already: then this repeats a commit whose answer was lost.
 */
static const char SQL_HOLD[] =
    "WITH held AS (SELECT id, stop_requested, lease_owner, lease_fence, lease_expires_at,"
    "  agent_state FROM conversations WHERE id IN ($1::uuid, $4::uuid)"
    "  ORDER BY id FOR NO KEY UPDATE)"
    " SELECT coalesce(stop_requested, ''), coalesce(agent_state = $5::text, false) FROM held"
    " WHERE id = $1::uuid AND lease_owner = $2::uuid AND lease_fence = $3::bigint"
    " AND lease_expires_at > now()";

/*
 * The sub-agent gets its parent's place in the queue, maybe once more: an outage of its model in an
 * earlier run with that wanted_at does not count for this run.
 */
static const char SQL_BEGIN[] =
    "WITH p AS (UPDATE conversations SET claim_count = 0, updated_at = now(),"
    "  agent_state = coalesce($3, agent_state) WHERE id = $1::uuid RETURNING id, wanted_at),"
    " waits AS (INSERT INTO task_waits (conversation_id, child_id) SELECT p.id, $2::uuid FROM p"
    "  ON CONFLICT (conversation_id, child_id) DO UPDATE SET has_ended = false),"
    " past AS (UPDATE model_outages m SET wanted_at = '-infinity' FROM p"
    "  WHERE m.conversation_id = $2::uuid)"
    " UPDATE conversations k SET wanted_at = p.wanted_at FROM p"
    " WHERE k.id = $2::uuid AND k.wanted_at > p.wanted_at";

/* Rows of sub-agents that have ended stay until their result is stored, but wake nobody. */
static const char SQL_SUSPEND[] =
    "WITH p AS (UPDATE conversations SET lease_owner = NULL, lease_expires_at = NULL,"
    "  claim_count = 0, is_suspended = true, updated_at = now() WHERE id = $1::uuid"
    "  AND lease_owner = $2::uuid AND lease_fence = $3::bigint AND lease_expires_at > now()"
    "  RETURNING id),"
    " over AS (UPDATE task_waits t SET has_ended = true FROM p WHERE t.conversation_id = p.id"
    "  AND t.child_id <> ALL ($4::uuid[])),"
    " waits AS (INSERT INTO task_waits (conversation_id, child_id)"
    "  SELECT p.id, k.id FROM p, unnest($4::uuid[]) AS k (id)"
    "  ON CONFLICT (conversation_id, child_id) DO UPDATE SET has_ended = false)"
    " SELECT 1 FROM p";

static const char SQL_IS_WAITED_FOR[] =
    "SELECT 1 FROM task_waits WHERE conversation_id = $1::uuid AND child_id = $2::uuid";

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

/* A run that gives work, under its row's lock. */
struct hold {
    char *agent_state; /* the new one, as text; NULL: unchanged */
    char stop[STOP_WORD_BYTES];
    bool is_given; /* by an earlier attempt */
};

static void hold_done(struct hold *hold)
{
    mem_free(hold->agent_state);
}

static int lock_both(struct db_tx *tx, const struct task_work *work, struct hold *hold,
                     struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    const struct lease *lease = work->lease;
    struct db_int fence = db_int(lease->fence);
    const char *stop = NULL;

    if (db_tx_query(tx, SQL_HOLD,
                    DB_PARAMS(lease->conversation_id.text, lease->owner.text, fence.text,
                              work->child->id.text, hold->agent_state),
                    &rows, err) < 0)
        return -1;
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_STALE, "the lease of %s is lost", lease->conversation_id.text);
    hold->is_given = db_bool(rows, 0, 1);
    stop = PQgetvalue(rows, 0, 0);
    memcpy(hold->stop, stop, strnlen(stop, STOP_WORD_BYTES - 1));
    if (hold->is_given || hold->stop[0] == '\0')
        return 0;
    return error_set(err, ERROR_CANCELLED, "the run was asked to stop (%s)", hold->stop);
}

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

typedef int give_work(struct db_tx *tx, const struct task_work *work, struct error *err);

static int try_give(struct db_tx *tx, const struct task_work *work, give_work *give,
                    struct hold *hold, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (lock_both(tx, work, hold, err) < 0)
        return -1;
    if (hold->is_given)
        return 0;
    if (give(tx, work, err) < 0)
        return -1;
    return db_tx_query(
        tx, SQL_BEGIN,
        DB_PARAMS(work->lease->conversation_id.text, work->child->id.text, hold->agent_state),
        &rows, err);
}

static int begin_wait(struct db *db, const struct task_work *work, give_work *give,
                      char stop_out[STOP_WORD_BYTES], struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(hold_done) struct hold hold = {.agent_state = db_json_text(work->agent_state)};
    const struct uuid *id = &work->lease->conversation_id;
    int rc = db_tx_begin(db, &tx, err);

    if (rc == 0 && try_give(&tx, work, give, &hold, err) < 0) {
        memcpy(stop_out, hold.stop, STOP_WORD_BYTES);
        return error_wrap(err, "giving work of %s to a sub-agent", id->text);
    }
    if (rc == 0)
        rc = db_tx_commit(&tx, err);
    if (db_hint_is_due(rc, err)) {
        db_hint(db, 1U << HINT_EVENTS, id->text);
        db_hint(db, 1U << HINT_EVENTS | 1U << HINT_WORK, work->child->id.text);
    }
    return rc < 0 ? error_wrap(err, "giving work of %s to a sub-agent", id->text) : 0;
}

int task_store_begin(struct db *db, const struct task_work *work, char stop_out[STOP_WORD_BYTES],
                     struct error *err)
{
    return begin_wait(db, work, insert_child, stop_out, err);
}

int task_store_go_on(struct db *db, const struct task_work *work, char stop_out[STOP_WORD_BYTES],
                     struct error *err)
{
    return begin_wait(db, work, write_child, stop_out, err);
}

int task_store_suspend(struct db *db, const struct lease *lease, const struct uuid *child_ids,
                       size_t n, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    struct db_int fence = db_int(lease->fence);
    int rc = 0;

    db_array_begin(&ids);
    for (size_t i = 0; i < n; i++)
        db_array_add(&ids, child_ids[i].text);
    db_array_end(&ids);
    rc = db_query(db, SQL_SUSPEND,
                  DB_PARAMS(lease->conversation_id.text, lease->owner.text, fence.text, ids.text),
                  &rows, err);
    /* One may have ended before the commit: then its hint came too early. */
    if (db_hint_is_due(rc, err) && (rc < 0 || PQntuples(rows) > 0))
        db_hint(db, 1U << HINT_EVENTS | 1U << HINT_WORK, lease->conversation_id.text);
    if (rc < 0)
        return error_wrap(err, "suspending %s", lease->conversation_id.text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_STALE, "the lease of %s is lost", lease->conversation_id.text);
    return 0;
}

int task_store_is_waited_for(struct db *db, const struct uuid *id, const struct uuid *child_id,
                             bool *is_waited_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_IS_WAITED_FOR, DB_PARAMS(id->text, child_id->text), &rows, err) < 0)
        return error_wrap(err, "reading what %s waits for", id->text);
    *is_waited_out = PQntuples(rows) > 0;
    return 0;
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
