#include "store/conversation/async_store.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "store/conversation/conversation_row.h"
#include "store/conversation/conversation_store.h"
#include "store/db/async_statement.h"
#include "store/db/db_query.h"

/* Limits of one answer: a conversation that has more is queried again. */
enum { EVENTS_MAX = 64, BYTES_MAX = 1 << 18 };

static const char SQL_USER_KEY[] =
    "SELECT user_id, id FROM api_keys WHERE key_hash = $1 AND revoked_at IS NULL";
static const char SQL_SESSION[] =
    "SELECT user_id, id, (extract(epoch FROM expires_at - now()) * 1000)::bigint"
    " FROM sessions WHERE token_hash = $1 AND expires_at > now()";
static const char SQL_SANDBOX_KEY[] =
    "SELECT owner_id, NULL, id, session_id, tenant_id IS NOT NULL FROM runtimes WHERE "
    "session_key_hash = $1"
    " AND status <> 'stopped' AND desired <> 'deleted'"
    " UNION ALL SELECT user_id, id, NULL, NULL, NULL FROM api_keys"
    "  WHERE key_hash = $1 AND revoked_at IS NULL";

/* A stopped sandbox admits no client, but may come back; one to be deleted does not. */
static const char SQL_ENDED[] =
    "SELECT h.id FROM unnest($1::text[]) AS h (id) WHERE NOT CASE WHEN h.id LIKE '%-%' THEN"
    "  EXISTS (SELECT 1 FROM api_keys k WHERE k.id = h.id::uuid AND k.revoked_at IS NULL)"
    "  OR EXISTS (SELECT 1 FROM sessions s WHERE s.id = h.id::uuid AND s.expires_at > now())"
    " ELSE EXISTS (SELECT 1 FROM runtimes r WHERE r.id = h.id AND r.desired <> 'deleted') END";

static const char SQL_PLACE[] =
    "SELECT c.snapshot_version, coalesce(newest.seq, 0),"
    " CASE WHEN $4::text IS NULL THEN coalesce(newest.seq, 0) ELSE coalesce((SELECT min(e.seq) - 1 "
    "FROM events e"
    "  WHERE e.conversation_id = c.id AND e.timestamp >= $4), newest.seq, 0) END,"
    " CASE WHEN c.execution_status = 'running' THEN (extract(epoch FROM"
    "  (now() AT TIME ZONE 'UTC') - newest.timestamp::timestamp) * 1000)::bigint ELSE 0 END"
    " FROM conversations c LEFT JOIN LATERAL (SELECT e.seq, e.timestamp FROM events e"
    "  WHERE e.conversation_id = c.id ORDER BY e.seq DESC LIMIT 1) newest ON true"
    " WHERE c.id = $1::uuid AND c.user_id = $2::uuid"
    " AND ($3::text IS NULL OR c.runtime_session = $3)";

/* The events after a seq, up to the given number or bytes, but at least one. */
#define EVENTS_AFTER(conversation, seq, events, bytes)                                             \
    "(SELECT r.seq, r.id, r.body, r.n FROM (SELECT e.seq, e.id, e.body,"                           \
    "  row_number() OVER (ORDER BY e.seq) AS n,"                                                   \
    "  sum(octet_length(e.body)) OVER (ORDER BY e.seq) AS bytes FROM"                              \
    "  (SELECT f.seq, f.id, f.body FROM events f WHERE f.conversation_id = " conversation          \
    "    AND f.seq > " seq " ORDER BY f.seq LIMIT " events ") e) r"                                \
    "  WHERE r.n = 1 OR r.bytes <= " bytes ")"

/* A conversation without changes has no row; a deleted one has a row without version. */
static const char SQL_NEWS[] =
    "SELECT w.n - 1, c.snapshot_version, e.seq, e.id, e.body"
    " FROM unnest($1::uuid[], $2::bigint[], $5::bigint[]) WITH ORDINALITY"
    "  AS w (id, seq, version, n)"
    " LEFT JOIN conversations c ON c.id = w.id"
    " LEFT JOIN LATERAL " EVENTS_AFTER(
        "w.id", "w.seq", "$3::bigint",
        "$4::bigint") " e ON true"
                      " WHERE e.seq IS NOT NULL OR c.snapshot_version IS DISTINCT FROM w.version"
                      " ORDER BY w.n, e.seq";

static const char SQL_REPLAY[] =
    "SELECT c.snapshot_version, e.seq, e.id, e.body FROM conversations c LEFT JOIN "
    "LATERAL " EVENTS_AFTER("c.id", "$2::bigint", "$3::bigint",
                            "$4::bigint") " e ON true"
                                          " WHERE c.id = $1::uuid ORDER BY e.seq";

static const char SQL_STATE[] =
    "SELECT " CONVERSATION_COLUMNS " FROM conversations c" CONVERSATION_LOG_END
    " WHERE c.id = $1::uuid AND c.user_id = $2::uuid"
    " AND ($3::text IS NULL OR c.runtime_session = $3)";

/* --- who calls --- */

/* A name that is too long is left out: principal_from_caller() then refuses the key. */
static void take_runtime(struct caller_query *query, const PGresult *rows)
{
    const char *id = PQgetvalue(rows, 0, 2);
    const char *session = PQgetvalue(rows, 0, 3);

    if (strlen(id) < sizeof(query->runtime_id))
        memcpy(query->runtime_id, id, strlen(id) + 1);
    if (strlen(session) < sizeof(query->runtime_session))
        memcpy(query->runtime_session, session, strlen(session) + 1);
    query->has_tenant = db_bool(rows, 0, 4);
}

static void take_caller(void *owner, const PGresult *rows, const struct error *err)
{
    struct caller_query *query = owner;
    struct error unknown = ERROR_INIT;

    if (err == NULL && PQntuples(rows) == 0) {
        error_set(&unknown, ERROR_UNAUTHENTICATED, "Unauthorized");
        err = &unknown;
    }
    if (err == NULL) {
        query->user_id = db_cell_uuid(rows, 0, 0);
        query->key_id = db_cell_uuid(rows, 0, 1);
    }
    /* Keys given at a deferred start may have any form, and are a user's. */
    if (err == NULL && query->kind == CALLER_SANDBOX_KEY && PQgetisnull(rows, 0, 2))
        query->kind = CALLER_USER_KEY;
    if (err == NULL && query->kind == CALLER_SANDBOX_KEY)
        take_runtime(query, rows);
    if (err == NULL && query->kind == CALLER_SESSION)
        query->valid_ms = db_number(rows, 0, 2);
    query->done(query, err);
}

void async_store_find_caller(struct db_async *async, struct caller_query *query)
{
    static const char *const statements[] = {
        [CALLER_USER_KEY] = SQL_USER_KEY,
        [CALLER_SESSION] = SQL_SESSION,
        [CALLER_SANDBOX_KEY] = SQL_SANDBOX_KEY,
    };
    struct async_statement asked = {.sql = statements[query->kind],
                                    .params = DB_PARAMS(query->hash),
                                    .effect = ASYNC_READS,
                                    .done = take_caller,
                                    .owner = query,
                                    .pending = &query->pending};

    db_async_send(async, &asked);
}

static void take_ended(void *owner, const PGresult *rows, const struct error *err)
{
    struct ended_query *query = owner;

    for (int row = 0; err == NULL && row < PQntuples(rows); row++)
        query->ended(query, PQgetvalue(rows, row, 0));
    query->done(query, err);
}

void async_store_find_ended(struct db_async *async, struct ended_query *query)
{
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    struct async_statement asked = {.sql = SQL_ENDED,
                                    .effect = ASYNC_READS,
                                    .done = take_ended,
                                    .owner = query,
                                    .pending = &query->pending};

    db_array_begin(&ids);
    for (size_t i = 0; i < query->n; i++)
        db_array_add(&ids, query->ids[i]);
    db_array_end(&ids);
    asked.params = DB_PARAMS(ids.text);
    db_async_send(async, &asked);
}

/* --- where a socket begins --- */

static int set_gone(const struct uuid *id, struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "Conversation not found: %s", id->text);
}

static void take_place(void *owner, const PGresult *rows, const struct error *err)
{
    struct position_query *query = owner;
    struct error gone = ERROR_INIT;

    if (err == NULL && PQntuples(rows) == 0) {
        (void)set_gone(&query->conversation_id, &gone);
        err = &gone;
    }
    if (err == NULL) {
        query->snapshot_version = db_number(rows, 0, 0);
        query->last_seq = db_number(rows, 0, 1);
        query->since_seq = db_number(rows, 0, 2);
        query->silent_ms = PQgetisnull(rows, 0, 3) ? 0 : db_number(rows, 0, 3);
    }
    query->done(query, err);
}

void async_store_find_position(struct db_async *async, struct position_query *query)
{
    struct async_statement asked = {.sql = SQL_PLACE,
                                    .params =
                                        DB_PARAMS(query->conversation_id.text, query->user_id.text,
                                                  query->runtime_session, query->since),
                                    .effect = ASYNC_READS,
                                    .done = take_place,
                                    .owner = query,
                                    .pending = &query->pending};

    db_async_send(async, &asked);
}

/* --- new events --- */

static void take_watch(struct watched *watch, const PGresult *rows, int row)
{
    watch->is_gone = PQgetisnull(rows, row, 1) != 0;
    watch->snapshot_version = db_number(rows, row, 1);
}

static void take_fresh(struct new_events_query *query, const PGresult *rows, int row)
{
    size_t at = (size_t)db_number(rows, row, 0);
    struct watched *watch = &query->watches[at];
    struct fresh_event event = {.watch = at,
                                .seq = db_number(rows, row, 2),
                                .id = db_cell_uuid(rows, row, 3),
                                .body = PQgetvalue(rows, row, 4),
                                .body_len = (size_t)PQgetlength(rows, row, 4)};

    watch->last_seq = event.seq;
    query->event(query, &event);
}

/* An answer that is full in events or bytes may not be complete; another query is cheap. */
static void find_more(struct new_events_query *query, const PGresult *rows)
{
    size_t bytes = 0;
    int n = 0;

    for (int row = 0; row < PQntuples(rows); row++) {
        struct watched *watch = &query->watches[db_number(rows, row, 0)];
        bool is_first = row == 0 || db_number(rows, row - 1, 0) != db_number(rows, row, 0);

        n = is_first ? 1 : n + 1;
        bytes = (is_first ? 0 : bytes) + (size_t)PQgetlength(rows, row, 4);
        watch->has_more = n == EVENTS_MAX || bytes > BYTES_MAX / 2;
    }
}

static void take_news(void *owner, const PGresult *rows, const struct error *err)
{
    struct new_events_query *query = owner;

    for (int row = 0; err == NULL && row < PQntuples(rows); row++) {
        take_watch(&query->watches[db_number(rows, row, 0)], rows, row);
        if (!PQgetisnull(rows, row, 2))
            take_fresh(query, rows, row);
    }
    if (err == NULL)
        find_more(query, rows);
    query->done(query, err);
}

void async_store_read_new(struct db_async *async, struct new_events_query *query)
{
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf seqs = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf versions = STRBUF_INIT;
    struct db_int events = db_int(EVENTS_MAX);
    struct db_int bytes = db_int(BYTES_MAX);
    struct async_statement asked = {.sql = SQL_NEWS,
                                    .effect = ASYNC_READS,
                                    .done = take_news,
                                    .owner = query,
                                    .pending = &query->pending};

    db_array_begin(&ids);
    db_array_begin(&seqs);
    db_array_begin(&versions);
    for (size_t i = 0; i < query->n; i++) {
        db_array_add(&ids, query->watches[i].conversation_id.text);
        db_array_add(&seqs, db_int(query->watches[i].last_seq).text);
        db_array_add(&versions, db_int(query->watches[i].snapshot_version).text);
    }
    db_array_end(&ids);
    db_array_end(&seqs);
    db_array_end(&versions);
    asked.params = DB_PARAMS(ids.text, seqs.text, events.text, bytes.text, versions.text);
    db_async_send(async, &asked);
}

/* --- older events --- */

/* Without events the join leaves one row of nulls. */
static void fill_batch(const PGresult *rows, struct event_batch *batch)
{
    int n = PQgetisnull(rows, 0, 1) ? 0 : PQntuples(rows);

    batch->seqs = mem_alloc_array((size_t)n, sizeof(*batch->seqs));
    batch->bodies = mem_alloc_array((size_t)n, sizeof(*batch->bodies));
    for (int row = 0; row < n; row++) {
        batch->seqs[row] = db_number(rows, row, 1);
        batch->bodies[row] = db_dup(rows, row, 3);
    }
    batch->n = (size_t)n;
    batch->snapshot_version = db_number(rows, 0, 0);
}

static void take_replay(void *owner, const PGresult *rows, const struct error *err)
{
    struct replay_query *query = owner;
    struct error gone = ERROR_INIT;

    if (err == NULL && PQntuples(rows) == 0) {
        (void)set_gone(&query->conversation_id, &gone);
        err = &gone;
    }
    if (err == NULL)
        fill_batch(rows, &query->batch);
    query->done(query, err);
}

void async_store_replay(struct db_async *async, struct replay_query *query)
{
    struct db_int after = db_int(query->after_seq);
    struct db_int events = db_int(EVENTS_MAX);
    struct db_int bytes = db_int(BYTES_MAX);
    struct async_statement asked = {
        .sql = SQL_REPLAY,
        .params = DB_PARAMS(query->conversation_id.text, after.text, events.text, bytes.text),
        .effect = ASYNC_READS,
        .done = take_replay,
        .owner = query,
        .pending = &query->pending};

    db_async_send(async, &asked);
}

/* --- how it is --- */

static void take_state(void *owner, const PGresult *rows, const struct error *err)
{
    struct state_query *query = owner;
    struct error bad = ERROR_INIT;
    int rc = 0;

    if (err == NULL && PQntuples(rows) == 0)
        rc = set_gone(&query->conversation_id, &bad);
    else if (err == NULL)
        rc = conversation_row_read(rows, 0, 0, &query->conversation, &bad);
    query->done(query, rc < 0 ? &bad : err);
}

void async_store_read_state(struct db_async *async, struct state_query *query)
{
    struct async_statement asked = {
        .sql = SQL_STATE,
        .params =
            DB_PARAMS(query->conversation_id.text, query->user_id.text, query->runtime_session),
        .effect = ASYNC_READS,
        .done = take_state,
        .owner = query,
        .pending = &query->pending};

    query->conversation = (struct conversation)CONVERSATION_INIT;
    db_async_send(async, &asked);
}
