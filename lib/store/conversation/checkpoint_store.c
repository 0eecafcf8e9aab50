#include "store/conversation/checkpoint_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/tools/tool_table.h"
#include "store/conversation/conversation_store.h"
#include "store/db/db_query.h"

/* A repeated attempt finds its own row: nothing changes, but the statement returns it. */
static const char SQL_ADD[] =
    "WITH mine AS (SELECT c.id FROM conversations c"
    "  WHERE c.id = $1::uuid AND c.lease_owner = $2::uuid AND c.lease_fence = $3::bigint"
    "  AND c.lease_expires_at > now() FOR KEY SHARE OF c),"
    " added AS (INSERT INTO checkpoints (conversation_id, seq, message_id, runtime_session,"
    "   runtime_id, tree, details)"
    "  SELECT m.id, $4::bigint, $5::uuid, $6, $7, $8, $9 FROM mine m"
    "  ON CONFLICT (conversation_id, seq) DO NOTHING)"
    " SELECT id FROM mine";

static const char SQL_LAST[] =
    "SELECT coalesce(max(seq), 0) FROM checkpoints WHERE conversation_id = $1::uuid";

static const char SQL_LIST[] =
    "SELECT json_build_object('items', coalesce(json_agg(json_build_object("
    "  'checkpoint_id', c.tree, 'message_id', c.message_id, 'before_event_id', e.id,"
    "  'created_at', to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),"
    "  'n_files', c.details::json -> 'n_files', 'n_skipped', c.details::json -> 'n_skipped',"
    "  'skipped', coalesce(c.details::json -> 'skipped', '[]'),"
    "  'reason', c.details::json -> 'reason') ORDER BY c.seq), '[]'))::text"
    " FROM (SELECT * FROM checkpoints WHERE conversation_id = $1::uuid"
    "  ORDER BY seq DESC LIMIT 1000) c"
    " LEFT JOIN events e ON e.conversation_id = c.conversation_id AND e.seq = c.seq";

/*
 * $2: the event; NULL: the start of the log. $3: names of tools that change no files.
 * In one row: the event's seq, the first call after it that may have changed files, the first
 * checkpoint after the event and before or at that call, else the last one up to the event.
 * Commands of hooks are no calls (decision 0101).
 */
static const char SQL_FIND[] =
    "SELECT at.seq, acted.seq, later.seq IS NOT NULL, coalesce(later.tree, earlier.tree),"
    "  coalesce(later.runtime_session, earlier.runtime_session),"
    "  coalesce(later.runtime_id, earlier.runtime_id),"
    "  coalesce(later.details, earlier.details)::json ->> 'reason'"
    " FROM (SELECT CASE WHEN $2::text IS NULL THEN 0 ELSE (SELECT seq FROM events"
    "   WHERE conversation_id = $1::uuid AND id = $2::uuid) END AS seq) at"
    " LEFT JOIN LATERAL (SELECT e.seq FROM events e WHERE e.conversation_id = $1::uuid"
    "   AND e.seq > at.seq AND e.kind = 'ActionEvent'"
    "   AND (e.body::json ->> 'tool_name' = ANY ($3::text[])) IS NOT TRUE"
    "   ORDER BY e.seq LIMIT 1) acted ON true"
    " LEFT JOIN LATERAL (SELECT c.* FROM checkpoints c WHERE c.conversation_id = $1::uuid"
    "   AND c.seq > at.seq AND (acted.seq IS NULL OR c.seq <= acted.seq)"
    "   ORDER BY c.seq LIMIT 1) later ON true"
    " LEFT JOIN LATERAL (SELECT c.* FROM checkpoints c WHERE later.seq IS NULL"
    "   AND c.conversation_id = $1::uuid AND c.seq <= at.seq"
    "   ORDER BY c.seq DESC LIMIT 1) earlier ON true";

int checkpoint_store_add(struct db *db, const struct lease *lease,
                         const struct checkpoint *checkpoint, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(mem_freep) char *details = db_json_text(checkpoint->details);
    struct db_int fence = db_int(lease->fence);
    struct db_int seq = db_int(checkpoint->seq);

    if (db_query(db, SQL_ADD,
                 DB_PARAMS(lease->conversation_id.text, lease->owner.text, fence.text, seq.text,
                           db_uuid(&checkpoint->message_id), checkpoint->runtime_session,
                           checkpoint->runtime_id, checkpoint->tree, details),
                 &rows, err) < 0)
        return error_wrap(err, "storing a checkpoint of %s", lease->conversation_id.text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_STALE, "the lease is lost");
    return 0;
}

int checkpoint_store_last(struct db *db, const struct uuid *conversation_id, int64_t *seq_out,
                          struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LAST, DB_PARAMS(conversation_id->text), &rows, err) < 0)
        return error_wrap(err, "finding the last checkpoint of %s", conversation_id->text);
    *seq_out = db_number(rows, 0, 0);
    return 0;
}

int checkpoint_store_list(struct db *db, const struct uuid *conversation_id,
                          struct strbuf *json_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LIST, DB_PARAMS(conversation_id->text), &rows, err) < 0)
        return error_wrap(err, "listing checkpoints of %s", conversation_id->text);
    strbuf_append(json_out, PQgetvalue(rows, 0, 0));
    return 0;
}

void found_checkpoint_done(struct found_checkpoint *found)
{
    mem_freep(&found->runtime_session);
    mem_freep(&found->runtime_id);
    mem_freep(&found->tree);
    mem_freep(&found->reason);
}

static void append_names(struct strbuf *array)
{
    db_array_begin(array);
    for (size_t i = 0; i < tool_table_n; i++) {
        if (tool_leaves_files(&tool_table[i]))
            db_array_add(array, tool_table[i].name);
    }
    db_array_end(array);
}

static void read_found(const PGresult *rows, struct found_checkpoint *found)
{
    bool has_acted = PQgetisnull(rows, 0, 1) == 0;

    found->tree = db_dup(rows, 0, 3);
    found->runtime_session = db_dup(rows, 0, 4);
    found->runtime_id = db_dup(rows, 0, 5);
    found->reason = db_dup(rows, 0, 6);
    if (!has_acted && !db_bool(rows, 0, 2))
        found->state = CHECKPOINT_IS_PRESENT;
    else
        found->state = found->tree != NULL ? CHECKPOINT_IS_STORED : CHECKPOINT_IS_MISSING;
}

int checkpoint_store_find(struct db *db, const struct uuid *conversation_id, const char *event_id,
                          struct found_checkpoint *found_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
    struct uuid id = UUID_INIT;

    if (event_id != NULL && !uuid_parse(event_id, &id))
        return error_set(err, ERROR_NOT_FOUND, "no such event");
    append_names(&names);
    if (db_read(db, SQL_FIND,
                DB_PARAMS(conversation_id->text, event_id != NULL ? id.text : NULL, names.text),
                &rows, err) < 0)
        return error_wrap(err, "finding a checkpoint of %s", conversation_id->text);
    if (PQgetisnull(rows, 0, 0))
        return error_set(err, ERROR_NOT_FOUND, "no such event");
    read_found(rows, found_out);
    return 0;
}
