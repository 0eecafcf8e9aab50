/*
 * Leases: which worker runs a conversation, for how long, and how a stop is requested.
 */
#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/limits.h"
#include "store/conversation/conversation_row.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/outage_sql.h"
#include "store/conversation/run_quota.h"
#include "store/db/db_hint.h"
#include "store/db/db_query.h"
#include "store/db/notify_wait.h"

/* With that much contention the worker retries soon anyway. */
enum { CLAIM_TRIES = 16 };
/* Each failed attempt found a sub-agent that had been started since the tree was read. */
enum { STOP_TRIES = 16 };

/* Number of a user's active runs. */
#define RUNS_OF(user)                                                                              \
    "(SELECT count(*) FROM conversations r WHERE r.user_id = " user                                \
    " AND r.wanted_at IS NOT NULL AND r.lease_expires_at > now())"

/*
 * The next conversation to claim. The user's row is locked as well: a concurrent claim of another
 * of that user's conversations waits, and then counts this run, too. NO KEY, here and below: an
 * append started by a worker that lost its lease does not block a claim (it holds a KEY SHARE lock,
 * for deletes). A parent that waits for sub-agents is skipped while all of their runs are wanted:
 * the end of one wakes the parent. One that is to stop is woken when all have ended: they were
 * asked to stop, too. A run whose model is out of order is skipped until its next attempt is due. A
 * run that was asked to stop needs no slot, and does not wait for its model.
 */
#define WAITED_FOR(join)                                                                           \
    "(SELECT FROM task_waits t " join " JOIN conversations k ON k.id = t.child_id"                 \
    " AND k.wanted_at IS NOT NULL WHERE t.conversation_id = w.id AND NOT t.has_ended"
/* clang-format off */
static const char SQL_NEXT[] =
    "SELECT w.id FROM conversations w JOIN users u ON u.id = w.user_id"
    " WHERE w.wanted_at IS NOT NULL"
    " AND (w.lease_expires_at IS NULL OR w.lease_expires_at <= now())"
    " AND (NOT w.is_suspended OR NOT EXISTS " WAITED_FOR("") ")"
    "  OR (w.stop_requested IS NULL AND EXISTS " WAITED_FOR("LEFT") " AND k.id IS NULL)))"
    " AND (w.stop_requested IS NOT NULL"
    "  OR (NOT " OUTAGE_HOLDS_BACK("w")
    "   AND " RUNS_OF("w.user_id") " < coalesce(u.run_slots, $1::bigint)))"
    " ORDER BY w.wanted_at LIMIT 1"
    " FOR NO KEY UPDATE OF w SKIP LOCKED FOR NO KEY UPDATE OF u";
/* clang-format on */

/* A separate statement, so that it sees what was committed while waiting for the user's lock. */
static const char SQL_CLAIM[] =
    "WITH c AS (UPDATE conversations k SET lease_owner = $2::uuid, is_leaf_known = false,"
    "  is_suspended = false, lease_fence = k.lease_fence + 1,"
    "  lease_expires_at = now() + $3::bigint * interval '1 millisecond',"
    "  claim_count = k.claim_count + 1"
    "  FROM users u WHERE k.id = $1::uuid AND u.id = k.user_id"
    "  AND (k.stop_requested IS NOT NULL"
    "   OR " RUNS_OF("u.id") " < coalesce(u.run_slots, $4::bigint)) RETURNING k.*, k.xmin)"
                             " SELECT " CONVERSATION_COLUMNS
                             ", c.lease_fence, coalesce(c.stop_requested, ''), c.claim_count,"
                             " coalesce(m.n_waits, 0),"
                             " coalesce((extract(epoch FROM now() - m.began_at) * 1000)::bigint, 0)"
                             " FROM c" CONVERSATION_LOG_END
                             " LEFT JOIN model_outages m ON " OUTAGE_LASTS("c");

/* Locks in id order, so that two heartbeats cannot deadlock. */
static const char SQL_RENEW[] =
    "WITH held AS (SELECT k.id FROM conversations k,"
    "  unnest($2::uuid[], $3::bigint[]) AS h (id, fence)"
    "  WHERE k.id = h.id AND k.lease_owner = $1::uuid AND k.lease_fence = h.fence"
    "  ORDER BY k.id FOR NO KEY UPDATE OF k)"
    " UPDATE conversations c SET lease_expires_at = now() + $4::bigint * interval '1 millisecond'"
    " FROM held WHERE c.id = held.id"
    " RETURNING c.id, coalesce(c.stop_requested, '')";

static const char SQL_HAND_OVER[] =
    "UPDATE conversations SET lease_owner = NULL, lease_expires_at = NULL, claim_count = 0"
    " WHERE id = $1::uuid AND lease_owner = $2::uuid AND lease_fence = $3::bigint RETURNING 1";

/*
 * The conversation, if a worker has it or it has sub-agents whose results are not stored, although
 * its worker may have died or handed it over; those of them that want a run, even ones that wait
 * for a slot; theirs, and so on. $2: the rows that the transaction has locked.
 */
static const char SQL_STOP_TREE[] =
    "WITH RECURSIVE tree (id) AS ("
    "  SELECT c.id FROM conversations c WHERE c.id = $1::uuid AND c.wanted_at IS NOT NULL"
    "   AND (c.lease_expires_at > now() OR c.is_suspended"
    "    OR EXISTS (SELECT FROM task_waits t WHERE t.conversation_id = c.id))"
    "  UNION SELECT k.id FROM tree JOIN task_waits t ON t.conversation_id = tree.id"
    "   JOIN conversations k ON k.id = t.child_id AND k.wanted_at IS NOT NULL)"
    " SELECT id, id = ANY ($2::uuid[]) FROM tree";

/* In id order, as SQL_RENEW. */
static const char SQL_LOCK_TREE[] = "SELECT 1 FROM conversations WHERE id = ANY ($1::uuid[])"
                                    " ORDER BY id FOR NO KEY UPDATE";

/* An interrupt overrides a pause. */
static const char SQL_REQUEST_STOP[] =
    "UPDATE conversations SET stop_requested ="
    " CASE WHEN stop_requested = 'interrupt' THEN stop_requested ELSE $2 END"
    " WHERE id = ANY ($1::uuid[])";

static const char SQL_IS_WANTED[] =
    "SELECT 1 FROM conversations WHERE id = $1::uuid AND wanted_at IS NOT NULL";

static const char SQL_CHECK_QUOTA[] = RUN_QUOTA_QUERY;

/* clang-format off */
static const char SQL_QUEUE_PLACE[] =
    "SELECT 1 + (SELECT count(*) FROM conversations b WHERE b.user_id = c.user_id"
    "  AND b.wanted_at < c.wanted_at AND NOT b.is_suspended"
    "  AND (b.lease_expires_at IS NULL OR b.lease_expires_at <= now())"
    "  AND NOT " OUTAGE_HOLDS_BACK("b") ")"
    " FROM conversations c JOIN users u ON u.id = c.user_id"
    " WHERE c.id = $1::uuid AND c.wanted_at IS NOT NULL"
    " AND (c.lease_expires_at IS NULL OR c.lease_expires_at <= now()) AND NOT c.is_suspended"
    " AND NOT " OUTAGE_HOLDS_BACK("c")
    " AND " RUNS_OF("c.user_id") " >= coalesce(u.run_slots, $2::bigint)";
/* clang-format on */

void claim_done(struct claim *claim)
{
    conversation_done(&claim->conversation);
}

static int read_claim(const PGresult *rows, const struct uuid *owner, struct claim *claim_out,
                      struct error *err)
{
    struct claim claim = {.conversation = CONVERSATION_INIT};
    const char *stop = PQgetvalue(rows, 0, CONVERSATION_N_COLUMNS + 1);

    if (conversation_row_read(rows, 0, 0, &claim.conversation, err) < 0)
        return error_wrap(err, "claiming %s", PQgetvalue(rows, 0, 0));
    claim.conversation.is_leased = true;
    claim.lease.conversation_id = claim.conversation.id;
    claim.lease.owner = *owner;
    claim.lease.fence = db_number(rows, 0, CONVERSATION_N_COLUMNS);
    memcpy(claim.stop_requested, stop, strnlen(stop, sizeof(claim.stop_requested) - 1));
    claim.claim_count = db_number(rows, 0, CONVERSATION_N_COLUMNS + 2);
    claim.n_model_waits = db_number(rows, 0, CONVERSATION_N_COLUMNS + 3);
    claim.model_out_ms = db_number(rows, 0, CONVERSATION_N_COLUMNS + 4);
    *claim_out = claim;
    return 0;
}

/* Outcome of one attempt to claim. */
enum claim_try { CLAIM_GOT, CLAIM_NOTHING_WAITS, CLAIM_SLOTS_TAKEN };

static int try_claim(struct db *db, const struct uuid *owner, int64_t run_slots,
                     enum claim_try *try_out, struct claim *claim_out, struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(db_rows_done) PGresult *next = NULL;
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int lease_ms = db_int(LEASE_MS);
    struct db_int slots = db_int(run_slots);

    if (db_tx_begin(db, &tx, err) < 0 ||
        db_tx_query(&tx, SQL_NEXT, DB_PARAMS(slots.text), &next, err) < 0)
        return error_wrap(err, "finding a run to claim");
    *try_out = CLAIM_NOTHING_WAITS;
    if (PQntuples(next) == 0)
        return 0;
    if (db_tx_query(&tx, SQL_CLAIM,
                    DB_PARAMS(PQgetvalue(next, 0, 0), owner->text, lease_ms.text, slots.text),
                    &rows, err) < 0)
        return error_wrap(err, "claiming");
    *try_out = CLAIM_SLOTS_TAKEN;
    if (PQntuples(rows) == 0)
        return 0;
    if (db_tx_commit(&tx, err) < 0)
        return error_wrap(err, "claiming");
    *try_out = CLAIM_GOT;
    return read_claim(rows, owner, claim_out, err);
}

int conversation_store_claim(struct db *db, const struct uuid *owner, int64_t run_slots,
                             bool *claimed_out, struct claim *claim_out, struct error *err)
{
    enum claim_try result = CLAIM_SLOTS_TAKEN;

    /*
     * Each failed attempt found the user's slots filled by another worker: other users may have
     * free slots.
     */
    for (int i = 0; i < CLAIM_TRIES && result == CLAIM_SLOTS_TAKEN; i++) {
        if (try_claim(db, owner, run_slots, &result, claim_out, err) < 0)
            return -1;
    }
    *claimed_out = result == CLAIM_GOT;
    return 0;
}

int conversation_store_check_room(struct db *db, const struct run_seeker *seeker,
                                  const struct run_limits *limits, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int slots = db_int(limits->n_slots);
    struct db_int queue = db_int(limits->n_queued);

    if (db_read(db, SQL_CHECK_QUOTA,
                DB_PARAMS(seeker->user_id->text,
                          seeker->conversation_id != NULL ? seeker->conversation_id->text : NULL,
                          slots.text, queue.text),
                &rows, err) < 0)
        return error_wrap(err, "checking the run limit");
    if (PQntuples(rows) == 0 || !db_bool(rows, 0, 0))
        return error_set(err, ERROR_RATE_LIMITED,
                         "Conversation run limit reached. Retry the request later.");
    return 0;
}

int conversation_store_queue_place(struct db *db, const struct uuid *id, int64_t run_slots,
                                   int64_t *place_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int slots = db_int(run_slots);

    if (db_read(db, SQL_QUEUE_PLACE, DB_PARAMS(id->text, slots.text), &rows, err) < 0)
        return error_wrap(err, "finding the queue position of %s", id->text);
    *place_out = PQntuples(rows) == 1 ? db_number(rows, 0, 0) : 0;
    return 0;
}

static struct held_lease *find_held(struct held_lease *held, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++) {
        if (text_equal(held[i].conversation_id.text, id))
            return &held[i];
    }
    return NULL;
}

static void read_held(const PGresult *rows, struct held_lease *held, size_t n)
{
    for (size_t i = 0; i < n; i++)
        held[i].is_held = false;
    for (int row = 0; row < PQntuples(rows); row++) {
        struct held_lease *one = find_held(held, n, PQgetvalue(rows, row, 0));
        const char *stop = PQgetvalue(rows, row, 1);

        if (one == NULL)
            continue;
        one->is_held = true;
        memset(one->stop_requested, 0, sizeof(one->stop_requested));
        memcpy(one->stop_requested, stop, strnlen(stop, sizeof(one->stop_requested) - 1));
    }
}

int conversation_store_renew(struct db *db, const struct uuid *owner, struct held_lease *held,
                             size_t n, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf fences = STRBUF_INIT;
    struct db_int lease_ms = db_int(LEASE_MS);

    db_array_begin(&ids);
    db_array_begin(&fences);
    for (size_t i = 0; i < n; i++) {
        struct db_int fence = db_int(held[i].fence);

        db_array_add(&ids, held[i].conversation_id.text);
        db_array_add(&fences, fence.text);
    }
    db_array_end(&ids);
    db_array_end(&fences);
    if (db_query(db, SQL_RENEW, DB_PARAMS(owner->text, ids.text, fences.text, lease_ms.text), &rows,
                 err) < 0)
        return error_wrap(err, "renewing %zu leases", n);
    read_held(rows, held, n);
    return 0;
}

int conversation_store_hand_over(struct db *db, const struct lease *lease, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int fence = db_int(lease->fence);
    int rc =
        db_query(db, SQL_HAND_OVER,
                 DB_PARAMS(lease->conversation_id.text, lease->owner.text, fence.text), &rows, err);

    if (db_hint_is_due(rc, err) && (rc < 0 || PQntuples(rows) > 0))
        db_hint(db, 1U << HINT_WORK, lease->conversation_id.text);
    return rc;
}

/* The conversations of a tree, as an array for a statement. */
static void fill_array(const PGresult *tree, struct strbuf *ids)
{
    strbuf_reset(ids);
    db_array_begin(ids);
    for (int i = 0; i < PQntuples(tree); i++)
        db_array_add(ids, PQgetvalue(tree, i, 0));
    db_array_end(ids);
}

static bool is_locked_whole(const PGresult *tree)
{
    for (int i = 0; i < PQntuples(tree); i++) {
        if (!db_bool(tree, i, 1))
            return false;
    }
    return true;
}

/*
 * Reads the tree, locks it, and reads it again: a conversation whose row is locked begins to wait
 * for no further one. Returns the rows in *tree_out, which the caller clears. ERROR_CONFLICT if it
 * grew in between.
 */
static int lock_tree(struct db_tx *tx, const struct uuid *id, PGresult **tree_out,
                     struct error *err)
{
    CLEANUP(db_rows_done) PGresult *seen = NULL;
    CLEANUP(db_rows_done) PGresult *locked = NULL;
    CLEANUP(db_rows_done) PGresult *tree = NULL;
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;

    if (db_tx_query(tx, SQL_STOP_TREE, DB_PARAMS(id->text, "{}"), &seen, err) < 0)
        return -1;
    fill_array(seen, &ids);
    if (db_tx_query(tx, SQL_LOCK_TREE, DB_PARAMS(ids.text), &locked, err) < 0 ||
        db_tx_query(tx, SQL_STOP_TREE, DB_PARAMS(id->text, ids.text), &tree, err) < 0)
        return -1;
    if (!is_locked_whole(tree))
        return error_set(err, ERROR_CONFLICT, "a sub-agent was started at the same time");
    *tree_out = TAKE_PTR(tree);
    return 0;
}

static int try_request_stop(struct db *db, const struct uuid *id, const char *kind,
                            PGresult **tree_out, struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(db_rows_done) PGresult *updated = NULL;
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    int rc = 0;

    if (db_tx_begin(db, &tx, err) < 0 || lock_tree(&tx, id, tree_out, err) < 0)
        return -1;
    fill_array(*tree_out, &ids);
    if (db_tx_query(&tx, SQL_REQUEST_STOP, DB_PARAMS(ids.text, kind), &updated, err) < 0)
        return -1;
    rc = db_tx_commit(&tx, err);
    for (int i = 0; db_hint_is_due(rc, err) && i < PQntuples(*tree_out); i++)
        db_hint(db, 1U << HINT_CONTROL | 1U << HINT_WORK, PQgetvalue(*tree_out, i, 0));
    return rc;
}

int conversation_store_request_stop(struct db *db, const struct uuid *id, const char *kind,
                                    size_t *n_out, struct error *err)
{
    int rc = -1;

    for (int i = 0; i < STOP_TRIES && rc < 0 && (i == 0 || err->code == ERROR_CONFLICT); i++) {
        CLEANUP(db_rows_done) PGresult *tree = NULL;

        rc = try_request_stop(db, id, kind, &tree, err);
        if (rc == 0)
            *n_out = (size_t)PQntuples(tree);
    }
    return rc < 0 ? error_wrap(err, "asking %s to stop", id->text) : 0;
}

int conversation_store_wait_stopped(struct db *db, const struct uuid *id, int64_t deadline_ms,
                                    struct error *err)
{
    CLEANUP(notify_wait_end) struct notify_wait changes = NOTIFY_WAIT_INIT;

    if (notify_wait_begin(db, &changes, err) < 0)
        return error_wrap(err, "waiting for %s", id->text);
    for (;;) {
        CLEANUP(db_rows_done) PGresult *rows = NULL;

        if (db_tx_query(&changes.tx, SQL_IS_WANTED, DB_PARAMS(id->text), &rows, err) < 0)
            return -1;
        if (PQntuples(rows) == 0)
            return 0;
        if (notify_wait_sleep(&changes, deadline_ms, err) < 0)
            return -1;
    }
}
