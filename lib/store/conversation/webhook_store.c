#include "store/conversation/webhook_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/webhook.h"
#include "model/limits.h"
#include "store/conversation/event_store.h"
#include "store/conversation/webhook_sql.h"
#include "store/db/db_query.h"

/* Per call; max_batch_bytes is the limit that matters. */
enum { BATCH_MAX_EVENTS = 100 };
/* A lease is renewed each second during a delivery; its worker may stall for a few seconds. */
enum { WEBHOOK_LEASE_MS = 10000 };

static const char SQL_FORGET[] = "DELETE FROM webhooks WHERE scanned_to <= now() - " WEBHOOK_KEPT;

static const char SQL_ENSURE[] = "INSERT INTO webhooks (id) VALUES ($1) ON CONFLICT DO NOTHING";

/*
 * When a cursor at `seq` is due for its events: at once when they fill a buffer ($2) or a batch
 * ($4), after a delay ($3) when there are any, never when there are none.
 */
#define EVENTS_DUE(conversation, seq)                                                              \
    "(SELECT CASE WHEN count(*) >= $2::bigint OR sum(octet_length(e.body)) >= $4::bigint"          \
    "  THEN now() WHEN count(*) > 0 THEN now() + $3::bigint * interval '1 millisecond' END"        \
    " FROM (SELECT f.body FROM events f WHERE f.conversation_id = " conversation                   \
    "  AND f.seq > " seq " ORDER BY f.seq LIMIT $2::bigint) e)"

/* The state of a conversation, other than its events, that is delivered. */
#define FINGERPRINT                                                                                \
    "md5(concat_ws(' ', c.execution_status, c.snapshot_version, md5(coalesce(c.title, '')),"       \
    " md5(c.spec)))"

/*
 * Scans the rows written since the last scan, with a margin of the longest transaction, and all
 * conversations with a run, since an append alone does not touch the row. The fingerprint is
 * computed only for rows written since it was last computed. OFFSET 0 and the second bound are for
 * the planner: with them it scans a range of the index on times instead of the whole table. Cursors
 * are locked in the order of HELD_ORDER.
 */
static const char SQL_LOOK[] =
    "WITH w AS (UPDATE webhooks SET scanned_to = now() FROM (SELECT id, since, scanned_to"
    "   FROM webhooks WHERE id = $1 AND scanned_to <= now() - interval '800 milliseconds'"
    "   FOR UPDATE SKIP LOCKED) AS old WHERE webhooks.id = old.id"
    "  RETURNING old.id, old.since, old.scanned_to),"
    " seen AS (SELECT s.id, s.created_at, s.updated_at FROM w, LATERAL ("
    "   SELECT c.id, c.created_at, c.updated_at FROM conversations c"
    "    WHERE c.updated_at >= w.scanned_to - interval '1 minute'"
    "    AND c.updated_at < 'infinity' OFFSET 0) s"
    "  UNION SELECT c.id, c.created_at, c.updated_at FROM w, conversations c"
    "   WHERE c.wanted_at IS NOT NULL),"
    " looked AS (SELECT w.id AS webhook_id, s.id, s.updated_at, k.webhook_id IS NULL AS is_new,"
    "   coalesce(k.seq, " WEBHOOK_START(
        "s") ") AS seq, k.looked_at, k.told,"
             "   k.due_at AS was_due_at, coalesce(k.attempts, 0) AS attempts,"
             "   CASE WHEN k.looked_at = s.updated_at THEN k.state"
             "    ELSE (SELECT " FINGERPRINT " FROM conversations c WHERE c.id = s.id) END AS state"
             "  FROM w CROSS JOIN seen s"
             "  LEFT JOIN webhook_cursors k ON k.webhook_id = $1 AND k.conversation_id = s.id"
             "  WHERE k.farewell IS NULL),"
             " due AS (SELECT l.*, CASE WHEN l.state IS DISTINCT FROM l.told THEN now()"
             "   ELSE " EVENTS_DUE(
                 "l.id",
                 "l.seq") " END AS due_at FROM looked l)"
                          " INSERT INTO webhook_cursors AS k"
                          "  (webhook_id, conversation_id, seq, looked_at, state, due_at)"
                          " SELECT d.webhook_id, d.id, d.seq, d.updated_at, d.state, d.due_at FROM "
                          "due d"
                          "  WHERE d.is_new OR d.looked_at IS DISTINCT FROM d.updated_at"
                          "   OR (d.attempts = 0 AND d.due_at < coalesce(d.was_due_at, 'infinity'))"
                          "  ORDER BY d.id"
                          " ON CONFLICT (webhook_id, conversation_id) DO UPDATE SET looked_at = "
                          "EXCLUDED.looked_at,"
                          "  state = EXCLUDED.state, due_at = CASE WHEN k.attempts > 0 THEN "
                          "k.due_at"
                          "   ELSE least(k.due_at, EXCLUDED.due_at) END WHERE k.farewell IS NULL";

static const char SQL_CLAIM[] =
    "UPDATE webhook_cursors k SET lease_owner = $2::uuid,"
    "  lease_expires_at = now() + $3::bigint * interval '1 millisecond'"
    " WHERE k.webhook_id = $1 AND k.conversation_id = (SELECT d.conversation_id"
    "   FROM webhook_cursors d WHERE d.webhook_id = $1 AND d.due_at <= now()"
    "    AND (d.lease_expires_at IS NULL OR d.lease_expires_at <= now())"
    "   ORDER BY d.due_at LIMIT 1 FOR UPDATE SKIP LOCKED)"
    " RETURNING k.conversation_id, k.seq, k.state, k.state IS DISTINCT FROM k.told, k.farewell,"
    "  k.attempts";

/* Locks rows in key order to avoid deadlocks. */
#define HELD "WITH held AS (SELECT h.webhook_id, h.conversation_id FROM webhook_cursors h WHERE "
#define HELD_ORDER " ORDER BY h.webhook_id, h.conversation_id FOR NO KEY UPDATE)"
#define OF_HELD                                                                                    \
    " FROM held WHERE k.webhook_id = held.webhook_id AND k.conversation_id = held.conversation_id"

static const char SQL_RENEW[] =
    HELD "h.lease_owner = $1::uuid AND h.conversation_id = ANY ($3::uuid[])" HELD_ORDER
         " UPDATE webhook_cursors k SET"
         "  lease_expires_at = now() + $2::bigint * interval '1 millisecond'" OF_HELD;

static const char SQL_LET_GO[] =
    HELD "h.lease_owner = $1::uuid" HELD_ORDER
         " UPDATE webhook_cursors k SET lease_owner = NULL, lease_expires_at = NULL" OF_HELD;

/* For a deleted conversation, reads the events that were set aside. */
static const char SQL_READ[] =
    "SELECT r.seq, r.body FROM (SELECT e.seq, e.body, row_number() OVER oldest AS n,"
    "   sum(octet_length(e.body)) OVER oldest AS bytes FROM ("
    "    (SELECT f.seq, f.body FROM events f WHERE NOT $6::boolean"
    "      AND f.conversation_id = $2::uuid AND f.seq > $3::bigint ORDER BY f.seq LIMIT $4::bigint)"
    "    UNION ALL (SELECT f.seq, f.body FROM webhook_leftovers f WHERE $6::boolean"
    "      AND f.webhook_id = $1 AND f.conversation_id = $2::uuid AND f.seq > $3::bigint"
    "      ORDER BY f.seq LIMIT $4::bigint)) e WINDOW oldest AS (ORDER BY e.seq)) r"
    " WHERE r.n = 1 OR r.bytes <= $5::bigint ORDER BY r.seq";

static const char SQL_SET_TOLD[] =
    "UPDATE webhook_cursors SET told = $4, attempts = 0"
    " WHERE webhook_id = $1 AND conversation_id = $2::uuid AND lease_owner = $3::uuid RETURNING 1";

static const char SQL_SET_TAKEN[] =
    "UPDATE webhook_cursors SET seq = $4::bigint, attempts = 0"
    " WHERE webhook_id = $1 AND conversation_id = $2::uuid AND lease_owner = $3::uuid RETURNING 1";

/* Events that arrived since are due as a scan would have it. */
static const char SQL_RELEASE[] =
    "UPDATE webhook_cursors k SET lease_owner = NULL, lease_expires_at = NULL,"
    "  due_at = CASE WHEN k.farewell IS NOT NULL OR k.state IS DISTINCT FROM k.told THEN now()"
    "   ELSE " EVENTS_DUE("k.conversation_id",
                          "k.seq") " END"
                                   " WHERE webhook_id = $1 AND conversation_id = $5::uuid AND "
                                   "lease_owner = $6::uuid RETURNING 1";

static const char SQL_FAIL[] =
    "WITH kept AS (SELECT min(e.seq) AS first FROM (SELECT f.seq,"
    "    row_number() OVER newest AS n, sum(octet_length(f.body)) OVER newest AS bytes"
    "   FROM (SELECT g.seq, g.body FROM events g WHERE $5::boolean"
    "     AND g.conversation_id = $2::uuid AND g.seq > $7::bigint"
    "     ORDER BY g.seq DESC LIMIT $6::bigint) f WINDOW newest AS (ORDER BY f.seq DESC)) e"
    "  WHERE e.n = 1 OR e.bytes <= $8::bigint)"
    " UPDATE webhook_cursors k SET attempts = k.attempts + 1, lease_owner = NULL,"
    "  lease_expires_at = NULL, due_at = now() + $4::bigint * interval '1 millisecond',"
    "  seq = greatest(k.seq, coalesce(kept.first - 1, k.seq)) FROM kept"
    " WHERE k.webhook_id = $1 AND k.conversation_id = $2::uuid AND k.lease_owner = $3::uuid"
    " RETURNING k.seq";

/* If the conversation was deleted since, there is a farewell, which must be delivered first. */
static const char SQL_END[] =
    "DELETE FROM webhook_cursors"
    " WHERE webhook_id = $1 AND conversation_id = $2::uuid AND lease_owner = $3::uuid"
    "  AND (farewell IS NULL) = $4::boolean RETURNING 1";

void webhook_claim_done(struct webhook_claim *claim)
{
    mem_free(claim->state);
    mem_free(claim->farewell);
    *claim = (struct webhook_claim){.webhook = NULL};
}

int webhook_store_forget(struct db *db, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_FORGET, DB_NO_PARAMS, &rows, err) < 0)
        return error_wrap(err, "removing webhooks");
    return 0;
}

int webhook_store_ensure(struct db *db, const struct webhook *webhook, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_ENSURE, DB_PARAMS(webhook->id), &rows, err) < 0)
        return error_wrap(err, "registering webhook %s", webhook->id);
    return 0;
}

int webhook_store_look(struct db *db, const struct webhook *webhook, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int n_buffered = db_int(webhook->n_buffered);
    struct db_int flush = db_int(webhook->flush_ms);
    struct db_int batch = db_int(webhook->max_batch_bytes);

    if (db_query(db, SQL_LOOK, DB_PARAMS(webhook->id, n_buffered.text, flush.text, batch.text),
                 &rows, err) < 0)
        return error_wrap(err, "finding deliveries of webhook %s", webhook->id);
    return 0;
}

int webhook_store_claim(struct db *db, const struct webhook *webhook, const struct uuid *owner,
                        bool *claimed_out, struct webhook_claim *claim_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int lease = db_int(WEBHOOK_LEASE_MS);

    if (db_query(db, SQL_CLAIM, DB_PARAMS(webhook->id, owner->text, lease.text), &rows, err) < 0)
        return error_wrap(err, "claiming deliveries of webhook %s", webhook->id);
    *claimed_out = PQntuples(rows) == 1;
    if (!*claimed_out)
        return 0;
    *claim_out = (struct webhook_claim){
        .webhook = webhook,
        .owner = *owner,
        .conversation_id = db_cell_uuid(rows, 0, 0),
        .seq = db_number(rows, 0, 1),
        .state = db_dup(rows, 0, 2),
        .has_news = db_bool(rows, 0, 3),
        .farewell = db_dup(rows, 0, 4),
        .n_failures = db_number(rows, 0, 5),
    };
    return 0;
}

int webhook_store_renew(struct db *db, const struct uuid *owner, const struct uuid *conversations,
                        size_t n, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    struct db_int lease = db_int(WEBHOOK_LEASE_MS);

    db_array_begin(&ids);
    for (size_t i = 0; i < n; i++)
        db_array_add(&ids, conversations[i].text);
    db_array_end(&ids);
    return db_query(db, SQL_RENEW, DB_PARAMS(owner->text, lease.text, ids.text), &rows, err);
}

int webhook_store_let_go(struct db *db, const struct uuid *owner, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    return db_query(db, SQL_LET_GO, DB_PARAMS(owner->text), &rows, err);
}

static void take_batch(const PGresult *rows, struct event_batch *batch)
{
    size_t n = (size_t)PQntuples(rows);

    batch->seqs = mem_alloc_array(n, sizeof(*batch->seqs));
    batch->bodies = mem_alloc_array(n, sizeof(*batch->bodies));
    for (size_t i = 0; i < n; i++) {
        batch->seqs[i] = db_number(rows, (int)i, 0);
        batch->bodies[i] = db_dup(rows, (int)i, 1);
    }
    batch->n = n;
}

int webhook_store_read(struct db *db, const struct webhook_claim *claim,
                       struct event_batch *batch_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int seq = db_int(claim->seq);
    struct db_int events = db_int(BATCH_MAX_EVENTS);
    struct db_int bytes = db_int(claim->webhook->max_batch_bytes);

    if (db_read(db, SQL_READ,
                DB_PARAMS(claim->webhook->id, claim->conversation_id.text, seq.text, events.text,
                          bytes.text, claim->farewell != NULL ? "true" : "false"),
                &rows, err) < 0)
        return error_wrap(err, "reading events for webhook %s", claim->webhook->id);
    take_batch(rows, batch_out);
    return 0;
}

/* Every statement that changes a cursor returns its row, unless another worker has the lease. */
static int check_held(const struct webhook_claim *claim, const PGresult *rows, struct error *err)
{
    if (PQntuples(rows) == 1)
        return 0;
    return error_set(err, ERROR_STALE, "the delivery of %s is held by another worker",
                     claim->conversation_id.text);
}

int webhook_store_set_told(struct db *db, struct webhook_claim *claim, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_SET_TOLD,
                 DB_PARAMS(claim->webhook->id, claim->conversation_id.text, claim->owner.text,
                           claim->state),
                 &rows, err) < 0 ||
        check_held(claim, rows, err) < 0)
        return -1;
    claim->has_news = false;
    claim->n_failures = 0;
    return 0;
}

int webhook_store_set_taken(struct db *db, struct webhook_claim *claim, int64_t seq,
                            struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int taken = db_int(seq);

    if (db_query(db, SQL_SET_TAKEN,
                 DB_PARAMS(claim->webhook->id, claim->conversation_id.text, claim->owner.text,
                           taken.text),
                 &rows, err) < 0 ||
        check_held(claim, rows, err) < 0)
        return -1;
    claim->seq = seq;
    claim->n_failures = 0;
    return 0;
}

int webhook_store_release(struct db *db, const struct webhook_claim *claim, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int n_buffered = db_int(claim->webhook->n_buffered);
    struct db_int flush = db_int(claim->webhook->flush_ms);
    struct db_int batch = db_int(claim->webhook->max_batch_bytes);

    if (db_query(db, SQL_RELEASE,
                 DB_PARAMS(claim->webhook->id, n_buffered.text, flush.text, batch.text,
                           claim->conversation_id.text, claim->owner.text),
                 &rows, err) < 0)
        return -1;
    return check_held(claim, rows, err);
}

int webhook_store_fail(struct db *db, const struct webhook_claim *claim, int64_t *n_dropped_out,
                       struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    const struct webhook *webhook = claim->webhook;
    int64_t n_failures = claim->n_failures + 1;
    bool may_drop = n_failures > webhook->n_retries && claim->farewell == NULL;
    struct db_int wait = db_int(webhook_retry_ms(webhook, n_failures));
    struct db_int events = db_int(webhook->max_events);
    struct db_int seq = db_int(claim->seq);
    struct db_int bytes = db_int(webhook->max_queue_bytes);

    if (db_query(db, SQL_FAIL,
                 DB_PARAMS(webhook->id, claim->conversation_id.text, claim->owner.text, wait.text,
                           may_drop ? "true" : "false", events.text, seq.text, bytes.text),
                 &rows, err) < 0 ||
        check_held(claim, rows, err) < 0)
        return -1;
    *n_dropped_out = db_number(rows, 0, 0) - claim->seq;
    return 0;
}

int webhook_store_end(struct db *db, const struct webhook_claim *claim, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_END,
                 DB_PARAMS(claim->webhook->id, claim->conversation_id.text, claim->owner.text,
                           claim->farewell == NULL ? "true" : "false"),
                 &rows, err) < 0)
        return -1;
    return check_held(claim, rows, err);
}
