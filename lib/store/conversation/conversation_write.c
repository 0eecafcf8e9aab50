/*
 * The only way to write: events and row in one statement, guarded by seq, and by the lease.
 */
#include <assert.h>
#include <string.h>

#include <jansson.h>
#include <libpq-fe.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/conversation_insert.h"
#include "store/conversation/conversation_row.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/conversation_write.h"
#include "store/conversation/event_insert.h"
#include "store/db/async_statement.h"
#include "store/db/db_hint.h"
#include "store/db/db_query.h"

/*
 * One event under a lease. The row is not locked against other writers: the primary key decides who
 * writes a number, and only a writer that has read n writes n + 1. KEY SHARE is only for deletes: a
 * delete waits for an append in progress, and a later append sees that the row is gone. Without it
 * an event could be stored after its conversation was deleted.
 */
static const char SQL_APPEND_ONE[] =
    "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, result_of, fence, body)"
    " SELECT c.id, $4::bigint, $5::uuid, $6, $7, $8, $9::uuid, c.lease_fence, $10"
    " FROM conversations c WHERE c.id = $1::uuid AND c.lease_owner = $2::uuid"
    "  AND c.lease_fence = $3::bigint AND c.lease_expires_at > now()"
    " FOR KEY SHARE OF c RETURNING 1";

#define EVENTS_FROM_ARRAYS                                                                         \
    "unnest($5::uuid[], $6::text[], $7::text[], $8::text[], $9::uuid[], $10::text[])"              \
    " WITH ORDINALITY AS e (id, kind, source, timestamp, result_of, body, n)"

static const char SQL_APPEND_MANY[] =
    "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, result_of, fence, body)"
    " SELECT c.id, $4::bigint + e.n - 1, e.id, e.kind, e.source, e.timestamp, e.result_of,"
    "  c.lease_fence, e.body"
    " FROM conversations c, " EVENTS_FROM_ARRAYS
    " WHERE c.id = $1::uuid AND c.lease_owner = $2::uuid AND c.lease_fence = $3::bigint"
    "  AND c.lease_expires_at > now()"
    " FOR KEY SHARE OF c RETURNING 1";

/*
 * The row's leaf is valid while no worker has the conversation: appends leave the row alone, and a
 * claim makes the leaf unknown. $31 is the newest leaf among these events. If a run ends without
 * one, the leaf is looked up; it stays unknown where the log was continued from an earlier event,
 * and when no event is written, since only its number would detect a concurrent append.
 */
#define IS_UNLEASED "c.lease_owner IS NULL"
#define CAN_FIND_LEAF                                                                              \
    "$13::boolean AND cardinality($5::uuid[]) > 0"                                                 \
    " AND NOT EXISTS (SELECT FROM branches b WHERE b.conversation_id = $1::uuid)"
#define LEAF_AFTER                                                                                 \
    "CASE WHEN $31::uuid IS NOT NULL THEN $31::uuid"                                               \
    " WHEN " IS_UNLEASED " THEN c.leaf_event_id"                                                   \
    " WHEN " CAN_FIND_LEAF " THEN (SELECT e.id FROM events e WHERE e.conversation_id = $1::uuid"   \
    "  AND e.kind <> 'ConversationStateUpdateEvent' ORDER BY e.seq DESC LIMIT 1) END"
#define IS_LEAF_KNOWN_AFTER                                                                        \
    "CASE WHEN $31::uuid IS NOT NULL THEN $13::boolean OR " IS_UNLEASED " WHEN " IS_UNLEASED       \
    " THEN c.is_leaf_known ELSE " CAN_FIND_LEAF " END"

/*
 * A run that found its conversation finished ends without an event, so that no number detects a
 * message that came meanwhile. The message has changed the status: the run that it wants stays.
 */
#define HAS_NEW_WORK                                                                               \
    "$13::boolean AND $11::text IS NULL AND cardinality($5::uuid[]) = 0"                           \
    " AND c.execution_status <> 'finished'"

/*
 * Events and row together. If the guard fails no row is updated; division by zero then aborts the
 * statement.
 */
#define WRITE_BEGINNING                                                                            \
    "WITH appended AS ("                                                                           \
    "  INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, result_of, fence, "  \
    "body)"                                                                                        \
    "  SELECT $1::uuid, $4::bigint + e.n - 1, e.id, e.kind, e.source, e.timestamp, e.result_of,"   \
    "   $3::bigint, e.body FROM " EVENTS_FROM_ARRAYS "  RETURNING 1"                               \
    "), updated AS ("                                                                              \
    "  UPDATE conversations c SET"                                                                 \
    "   execution_status = coalesce($11, c.execution_status),"                                     \
    "   wanted_at = CASE WHEN " HAS_NEW_WORK " THEN c.wanted_at WHEN $13::boolean THEN NULL"       \
    "    WHEN $12::boolean THEN coalesce(c.wanted_at, now()) ELSE c.wanted_at END,"                \
    "   stop_requested = CASE WHEN $13::boolean THEN NULL ELSE c.stop_requested END,"              \
    "   lease_owner = CASE WHEN $13::boolean THEN NULL ELSE c.lease_owner END,"                    \
    "   lease_expires_at = CASE WHEN $13::boolean THEN NULL ELSE c.lease_expires_at END,"          \
    "   is_suspended = c.is_suspended AND NOT $13::boolean,"                                       \
    "   claim_count = CASE WHEN $13::boolean OR $15::boolean THEN 0 ELSE c.claim_count END,"       \
    "   snapshot_version = c.snapshot_version + $14::int,"                                         \
    "   stats = coalesce($16, c.stats),"                                                           \
    "   agent_state = coalesce($17, c.agent_state),"                                               \
    "   spec = coalesce($18, c.spec),"                                                             \
    "   title = coalesce($19, c.title, $23),"                                                      \
    "   secrets = coalesce($20, c.secrets),"                                                       \
    "   last_user_message_id = coalesce($21::uuid, c.last_user_message_id),"                       \
    "   spec_info = coalesce($30, c.spec_info),"                                                   \
    "   leaf_event_id = " LEAF_AFTER ", is_leaf_known = " IS_LEAF_KNOWN_AFTER ","                  \
    "   updated_at = now()"                                                                        \
    "  WHERE c.id = $1::uuid"                                                                      \
    "   AND ($2::uuid IS NULL OR (c.lease_owner = $2::uuid AND c.lease_fence = $3::bigint"         \
    "    AND c.lease_expires_at > now()))"                                                         \
    "   AND (NOT $22::boolean OR c.lease_expires_at IS NULL OR c.lease_expires_at <= now())"       \
    "   AND ($24::text IS NULL OR c.xmin::text = $24)"                                             \
    "   AND ($32::bigint IS NULL OR hashtextextended(c.stats, 0) = $32)"                           \
    "   AND ($28::bigint IS NULL OR EXISTS (SELECT 1 FROM jobs j"                                  \
    "    WHERE j.id = $28::bigint AND j.lease_owner = $29::uuid))"                                 \
    "   AND (SELECT count(*) FROM appended) >= 0"                                                  \
    "  RETURNING c.xmin, c.user_id,"                                                               \
    "   CASE WHEN $16::text IS NOT NULL THEN hashtextextended(c.stats, 0) END AS stats_hash"       \
    "), queued AS ("                                                                               \
    "  INSERT INTO jobs (kind, conversation_id, payload, key)"                                     \
    "  SELECT $25, $1::uuid, coalesce($26, '{}')::jsonb, coalesce($27::uuid, gen_random_uuid())"   \
    "  FROM updated WHERE $25::text IS NOT NULL"
#define WRITE_END ") SELECT 1 / count(*)::int, min(xmin::text), min(stats_hash) FROM updated"

static const char SQL_WRITE[] = WRITE_BEGINNING WRITE_END;

/* Also ends waits for sub-agents: all of them with the run, else those of the results. */
#define END_WAITS                                                                                  \
    "), over AS (DELETE FROM task_waits t USING updated u WHERE t.conversation_id = $1::uuid"      \
    "  AND ($13::boolean OR t.child_id = ANY ($33::uuid[]))"
static const char SQL_WRITE_AND_END_WAITS[] = WRITE_BEGINNING END_WAITS WRITE_END;

/*
 * Also books what the model call whose stats are written has cost. A statement of its own, since
 * only workers may.
 */
static const char SQL_WRITE_AND_BOOK[] = WRITE_BEGINNING END_WAITS
    "), booked AS ("
    "  INSERT INTO spending AS s (user_id, day, conversation_id, cost_nanos)"
    "  SELECT u.user_id, (now() AT TIME ZONE 'UTC')::date, $1::uuid, $34::bigint FROM updated u"
    "  ON CONFLICT (user_id, day, conversation_id)"
    "   DO UPDATE SET cost_nanos = s.cost_nanos + EXCLUDED.cost_nanos" WRITE_END;

static const char SQL_LOCK_ROW[] =
    "SELECT 1 FROM conversations WHERE id = $1::uuid FOR NO KEY UPDATE";

unsigned conversation_write_hints(const struct conversation *conversation,
                                  const struct event_list *events,
                                  const struct conversation_write *write)
{
    unsigned kinds = 0;

    if ((events != NULL && events->n > 0) || write->bump_snapshot || write->end_run)
        kinds |= 1U << HINT_EVENTS;
    /* A run that waits for its model's server goes on when something was added. */
    if (events != NULL && events->n > 0 && conversation->is_wanted && !conversation->is_leased &&
        !write->end_run)
        kinds |= 1U << HINT_WORK;
    if (write->want_run || write->job.kind != NULL ||
        (write->end_run && conversation->is_sub_agent))
        kinds |= 1U << HINT_WORK;
    return kinds;
}

static int append_one(struct db *db, const struct lease *lease,
                      const struct conversation *conversation, struct event_list *events,
                      PGresult **rows_out, struct error *err)
{
    struct event *event = &events->items[0];
    struct db_int fence = db_int(lease->fence);
    struct db_int seq = db_int(conversation->last_seq + 1);
    char timestamp[CLOCK_TEXT_BYTES];

    event_list_stamp(events, conversation);
    if (event_write_checked(event, err) < 0)
        return -1;
    clock_format_naive(event->timestamp_us, timestamp);
    return db_query(db, SQL_APPEND_ONE,
                    DB_PARAMS(lease->conversation_id.text, lease->owner.text, fence.text, seq.text,
                              event->id.text, event->kind, event->source, timestamp,
                              db_uuid(&event->result_of), event->text),
                    rows_out, err);
}

static int append_many(struct db *db, const struct lease *lease,
                       const struct conversation *conversation, struct event_list *events,
                       PGresult **rows_out, struct error *err)
{
    CLEANUP(event_insert_done) struct event_insert arrays = EVENT_INSERT_INIT;
    struct db_int fence = db_int(lease->fence);
    struct db_int seq = db_int(conversation->last_seq + 1);

    if (event_insert_fill(&arrays, conversation, events, err) < 0)
        return -1;
    return db_query(db, SQL_APPEND_MANY,
                    DB_PARAMS(lease->conversation_id.text, lease->owner.text, fence.text, seq.text,
                              arrays.id.text, arrays.kind.text, arrays.source.text,
                              arrays.timestamp.text, arrays.result_of.text, arrays.body.text),
                    rows_out, err);
}

int conversation_store_append(struct db *db, const struct lease *lease,
                              struct conversation *conversation, struct event_list *events,
                              struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    int rc = 0;

    if (events->n == 0)
        return 0;
    rc = events->n == 1 ? append_one(db, lease, conversation, events, &rows, err)
                        : append_many(db, lease, conversation, events, &rows, err);
    if (db_hint_is_due(rc, err) && (rc < 0 || PQntuples(rows) > 0))
        db_hint(db, 1U << HINT_EVENTS, conversation->id.text);
    if (rc < 0)
        return error_wrap(err, "appending to %s", conversation->id.text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_STALE, "the lease of %s is lost", conversation->id.text);
    conversation_move_log_end(conversation, events);
    return 0;
}

/*
 * The row version that a write of the specification or the secrets replaces: they are read, changed
 * and written back whole, so a concurrent change would be lost. NULL: any version; also for a
 * worker, whose heartbeats change the row's version.
 */
static const char *replaced_version(const struct conversation *conversation,
                                    const struct conversation_write *write)
{
    bool replaces = write->guard != GUARD_LEASE && (write->spec != NULL || write->secrets != NULL);

    return replaces && conversation->version[0] != '\0' ? conversation->version : NULL;
}

/* The statements' parameters, of which not all have the last ones, and the texts that some of them
 * borrow. */
struct write_params {
    char *agent_state;
    char *spec;
    char *spec_info;
    char *payload;
    struct strbuf ended_waits;
    struct db_int fence;
    struct db_int seq;
    struct db_int job_id;
    struct db_int stats_hash;
    struct db_int cost;
    const char *values[34];
};

/* clang-format off */
#define WRITE_PARAMS_INIT {.ended_waits = STRBUF_INIT}
/* clang-format on */

static void write_params_done(struct write_params *params)
{
    mem_free(params->agent_state);
    mem_free(params->spec);
    mem_free(params->spec_info);
    mem_free(params->payload);
    strbuf_done(&params->ended_waits);
}

static void fill_ended_waits(struct strbuf *array, const struct conversation_write *write)
{
    db_array_begin(array);
    for (size_t i = 0; i < write->n_ended_waits; i++)
        db_array_add(array, write->ended_waits[i].text);
    db_array_end(array);
}

static void fill_params(struct write_params *params, const struct conversation *conversation,
                        const struct event_insert *arrays, const struct conversation_write *write)
{
    bool has_lease = write->guard == GUARD_LEASE;
    bool has_job = write->guard == GUARD_JOB;
    /* Stats are written back whole: concurrent additions must not be lost. */
    bool replaces_stats = write->stats != NULL && conversation->has_stats_hash;

    params->agent_state = db_json_text(write->agent_state);
    params->spec = db_json_text(write->spec);
    params->spec_info = write->spec != NULL ? conversation_spec_info(write->spec) : NULL;
    params->payload = db_json_text(write->job.payload);
    params->fence = db_int(has_lease ? write->lease->fence : 0);
    params->seq = db_int(conversation->last_seq + 1);
    params->job_id = db_int(write->hold.id);
    params->stats_hash = db_int(conversation->stats_hash);
    params->cost = db_int(write->cost_nanos);
    fill_ended_waits(&params->ended_waits, write);
    memcpy(params->values,
           DB_PARAMS(conversation->id.text, has_lease ? write->lease->owner.text : NULL,
                     has_lease ? params->fence.text : NULL, params->seq.text, arrays->id.text,
                     arrays->kind.text, arrays->source.text, arrays->timestamp.text,
                     arrays->result_of.text, arrays->body.text, write->status,
                     db_flag(write->want_run), db_flag(write->end_run),
                     write->bump_snapshot ? "1" : "0", db_flag(write->made_progress), write->stats,
                     params->agent_state, params->spec, write->title, write->secrets,
                     db_uuid(&write->last_user_message_id), db_flag(write->guard == GUARD_NO_LEASE),
                     write->first_title, replaced_version(conversation, write), write->job.kind,
                     params->payload, db_uuid(&write->job.key),
                     has_job ? params->job_id.text : NULL, has_job ? write->hold.owner.text : NULL,
                     params->spec_info, db_uuid(&arrays->leaf),
                     replaces_stats ? params->stats_hash.text : NULL, params->ended_waits.text,
                     params->cost.text)
               .values,
           sizeof(params->values));
}

/* How much a write does in addition to events and row. */
enum write_extent { WRITE_ALONE, WRITE_ENDS_WAITS, WRITE_BOOKS, WRITE_N_EXTENTS };

static enum write_extent extent_of(const struct conversation_write *write)
{
    if (write->cost_nanos > 0)
        return WRITE_BOOKS;
    return write->end_run || write->n_ended_waits > 0 ? WRITE_ENDS_WAITS : WRITE_ALONE;
}

static const char *statement_of(const struct conversation_write *write)
{
    static const char *const statements[WRITE_N_EXTENTS] = {SQL_WRITE, SQL_WRITE_AND_END_WAITS,
                                                            SQL_WRITE_AND_BOOK};

    return statements[extent_of(write)];
}

/* Each extent has one parameter more than the one before. */
static struct db_params values_of(const struct write_params *params,
                                  const struct conversation_write *write)
{
    size_t n = ARRAY_SIZE(params->values) - (WRITE_BOOKS - extent_of(write));

    return (struct db_params){params->values, n};
}

static int send_write(struct db_tx *tx, struct db *db, struct conversation *conversation,
                      const struct event_insert *arrays, const struct conversation_write *write,
                      struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(write_params_done) struct write_params params = WRITE_PARAMS_INIT;
    struct db_params values = values_of(&params, write);
    const char *sql = statement_of(write);
    int rc = 0;

    fill_params(&params, conversation, arrays, write);
    rc = tx->conn != NULL ? db_tx_query(tx, sql, values, &rows, err)
                          : db_query(db, sql, values, &rows, err);
    if (rc < 0)
        return -1;
    conversation_row_set_version(conversation, db_text(rows, 0, 1));
    if (write->stats != NULL)
        conversation->stats_hash = db_number(rows, 0, 2);
    return 0;
}

int conversation_write_in(struct db_tx *tx, struct conversation *conversation,
                          struct event_list *events, const struct conversation_write *write,
                          struct error *err)
{
    CLEANUP(event_insert_done) struct event_insert arrays = EVENT_INSERT_INIT;
    CLEANUP(write_params_done) struct write_params params = WRITE_PARAMS_INIT;
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    assert(write->guard != GUARD_NO_LEASE);
    if (event_insert_fill(&arrays, conversation, events, err) < 0)
        return -1;
    fill_params(&params, conversation, &arrays, write);
    return db_tx_query(tx, statement_of(write), values_of(&params, write), &rows, err);
}

int conversation_write_ask(struct db_async *async, const struct conversation *conversation,
                           struct event_list *events, const struct conversation_write *write,
                           struct async_statement *statement, struct error *err)
{
    CLEANUP(event_insert_done) struct event_insert arrays = EVENT_INSERT_INIT;
    CLEANUP(write_params_done) struct write_params params = WRITE_PARAMS_INIT;

    assert(write->guard == GUARD_NONE);
    if (event_insert_fill(&arrays, conversation, events, err) < 0)
        return -1;
    fill_params(&params, conversation, &arrays, write);
    statement->sql = statement_of(write);
    statement->params = values_of(&params, write);
    statement->effect = ASYNC_WRITES;
    db_async_send(async, statement);
    return 0;
}

/*
 * Without a lease the row is locked first: claims (SKIP LOCKED) pass it by, so no worker can start
 * between our check and our commit.
 */
static int write_locked(struct db *db, struct conversation *conversation,
                        const struct event_insert *arrays, const struct conversation_write *write,
                        struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_tx_begin(db, &tx, err) < 0 ||
        db_tx_query(&tx, SQL_LOCK_ROW, DB_PARAMS(conversation->id.text), &rows, err) < 0 ||
        send_write(&tx, db, conversation, arrays, write, err) < 0)
        return -1;
    return db_tx_commit(&tx, err);
}

/* The write comes first: a repeat of a write whose answer was lost is refused by its number. */
static int write_with_child(struct db *db, struct conversation *conversation,
                            const struct event_insert *arrays,
                            const struct conversation_write *write, struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    bool is_new = false;

    if (db_tx_begin(db, &tx, err) < 0 ||
        send_write(&tx, db, conversation, arrays, write, err) < 0 ||
        conversation_insert_whole(&tx, write->child, &is_new, err) < 0)
        return -1;
    if (!is_new)
        return error_set(err, ERROR_INVALID, "conversation %s already exists",
                         write->child->conversation->id.text);
    return db_tx_commit(&tx, err);
}

void conversation_move_row(struct conversation *conversation,
                           const struct conversation_write *write)
{
    enum execution_status status = conversation->status;

    if (write->status != NULL && status_from_string(write->status, &status))
        conversation->status = status;
    if (write->want_run)
        conversation->is_wanted = true;
    if (write->end_run) {
        conversation->is_wanted = false;
        conversation->is_leased = false;
    }
    if (write->bump_snapshot)
        conversation->snapshot_version++;
    if (uuid_is_set(&write->last_user_message_id))
        conversation->last_user_message_id = write->last_user_message_id;
}

static void hint_write(struct db *db, const struct conversation *conversation,
                       const struct event_list *events, const struct conversation_write *write)
{
    const struct new_conversation *child = write->child;

    db_hint(db, conversation_write_hints(conversation, events, write), conversation->id.text);
    if (child != NULL)
        db_hint(db, conversation_write_hints(child->conversation, child->events, child->write),
                child->conversation->id.text);
}

int conversation_store_write(struct db *db, struct conversation *conversation,
                             struct event_list *events, const struct conversation_write *write,
                             struct error *err)
{
    CLEANUP(event_insert_done) struct event_insert arrays = EVENT_INSERT_INIT;
    struct db_tx no_tx = DB_TX_INIT;
    int rc = 0;

    if (event_insert_fill(&arrays, conversation, events, err) < 0)
        return -1;
    if (write->guard == GUARD_NO_LEASE)
        rc = write_locked(db, conversation, &arrays, write, err);
    else if (write->child != NULL)
        rc = write_with_child(db, conversation, &arrays, write, err);
    else
        rc = send_write(&no_tx, db, conversation, &arrays, write, err);
    if (db_hint_is_due(rc, err))
        hint_write(db, conversation, events, write);
    if (rc < 0)
        return error_wrap(err, "writing to %s", conversation->id.text);
    conversation_move_log_end(conversation, events);
    conversation_move_row(conversation, write);
    return 0;
}
