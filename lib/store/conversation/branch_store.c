#include "store/conversation/branch_store.h"

#include <inttypes.h>

#include <jansson.h>
#include <libpq-fe.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/conversation/file_restore.h"
#include "model/event/event.h"
#include "store/conversation/conversation_insert.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "store/db/db_hint.h"
#include "store/db/db_query.h"

static const char SQL_BRANCHES[] = "SELECT from_seq, parent_seq FROM branches"
                                   " WHERE conversation_id = $1::uuid ORDER BY from_seq DESC";

static const char SQL_LIST[] =
    "SELECT json_build_object('items', coalesce(json_agg(json_build_object("
    "  'parent_event_id', p.id, 'first_event_id', f.id) ORDER BY b.from_seq), '[]'))::text"
    " FROM (SELECT * FROM branches WHERE conversation_id = $1::uuid"
    "  ORDER BY from_seq DESC LIMIT 1000) b"
    " LEFT JOIN events p ON p.conversation_id = b.conversation_id AND p.seq = b.parent_seq"
    " LEFT JOIN events f ON f.conversation_id = b.conversation_id AND f.seq = b.from_seq";

static const char SQL_FIND_EVENT[] =
    "SELECT seq FROM events WHERE conversation_id = $1::uuid AND id = $2::uuid";

/* While this lock is held no append that also changes the row, and no claim, can happen. */
static const char SQL_LOCK_RESTING[] =
    "SELECT wanted_at IS NULL AND (lease_expires_at IS NULL OR lease_expires_at <= now()),"
    " agent_state FROM conversations WHERE id = $1::uuid FOR NO KEY UPDATE";

/* Going back twice with no events in between means going back to the second place. */
static const char SQL_NAVIGATE[] =
    "INSERT INTO branches (conversation_id, from_seq, parent_seq)"
    " SELECT $1::uuid, coalesce(max(seq), 0) + 1, $2::bigint FROM events"
    " WHERE conversation_id = $1::uuid"
    " ON CONFLICT (conversation_id, from_seq) DO UPDATE SET parent_seq = EXCLUDED.parent_seq";

static const char SQL_SHOW_AGAIN[] =
    "UPDATE conversations SET snapshot_version = snapshot_version + 1, updated_at = now(),"
    " is_leaf_known = false, agent_state = coalesce($2, agent_state)"
    " WHERE id = $1::uuid";

/*
 * The events of conversation $1 in the segments from $2 to $3 that a copy gets: all of them, or,
 * when it is a copy up to an event ($4), all except state updates. What the workspace told
 * (agent_state) is part of what the model reads, and copied.
 */
#define COPIED_EVENTS                                                                              \
    " FROM unnest($2::bigint[], $3::bigint[]) AS part (low, high)"                                 \
    " JOIN events e ON e.conversation_id = $1::uuid AND e.seq BETWEEN part.low AND part.high"      \
    " WHERE CASE WHEN $4::text IS NULL OR e.kind <> 'ConversationStateUpdateEvent' THEN true"      \
    "  ELSE e.body::json ->> 'key' = 'agent_state' END"

static const char SQL_COUNT_COPIED[] = "SELECT count(*)" COPIED_EVENTS;

static const char SQL_COPY[] =
    "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, result_of, body)"
    " SELECT $5::uuid, row_number() OVER (ORDER BY e.seq), e.id, e.kind, e.source, e.timestamp,"
    "  e.result_of, e.body" COPIED_EVENTS;

/* Those taken before an event that the copy has. */
static const char SQL_COPY_CHECKPOINTS[] =
    "INSERT INTO checkpoints (conversation_id, seq, message_id, runtime_session, runtime_id, tree,"
    "  details, created_at)"
    " SELECT $2::uuid, e.seq, c.message_id, c.runtime_session, c.runtime_id, c.tree, c.details,"
    "  c.created_at FROM checkpoints c"
    " JOIN events o ON o.conversation_id = c.conversation_id AND o.seq = c.seq"
    " JOIN events e ON e.conversation_id = $2::uuid AND e.id = o.id"
    " WHERE c.conversation_id = $1::uuid";

static const char SQL_COPY_END[] =
    "SELECT coalesce(max(e.seq), 0), (SELECT f.id FROM events f WHERE f.conversation_id = $1::uuid"
    "  AND f.kind <> 'ConversationStateUpdateEvent' ORDER BY f.seq DESC LIMIT 1), max(e.timestamp)"
    " FROM events e WHERE e.conversation_id = $1::uuid";

/* Segments of a log, the newest first. */
struct path {
    int64_t *low;
    int64_t *high;
    size_t n;
};

/* clang-format off */
#define PATH_INIT {NULL, NULL, 0}
/* clang-format on */

static void path_done(struct path *path)
{
    mem_free(path->low);
    mem_free(path->high);
}

static void path_add(struct path *path, int64_t low, int64_t high)
{
    path->low[path->n] = low;
    path->high[path->n++] = high;
}

/*
 * The segments that lead to `end`: each from the start of its branch, then those before the event
 * that the branch continues.
 */
static void path_fill(struct path *path, const PGresult *branches, int64_t end)
{
    int n = PQntuples(branches);

    path->low = mem_alloc_array((size_t)n + 1, sizeof(*path->low));
    path->high = mem_alloc_array((size_t)n + 1, sizeof(*path->high));
    for (int row = 0; row < n; row++) {
        int64_t from = db_number(branches, row, 0);

        if (from > end)
            continue;
        path_add(path, from, end);
        end = db_number(branches, row, 1);
    }
    path_add(path, 1, end);
}

static bool path_has(const struct path *path, int64_t seq)
{
    for (size_t i = 0; i < path->n; i++) {
        if (seq >= path->low[i] && seq <= path->high[i])
            return true;
    }
    return false;
}

/* As arrays for PostgreSQL. */
static void path_to_arrays(const struct path *path, struct strbuf *low, struct strbuf *high)
{
    db_array_begin(low);
    db_array_begin(high);
    for (size_t i = 0; i < path->n; i++) {
        struct db_int from = db_int(path->low[i]);
        struct db_int to = db_int(path->high[i]);

        db_array_add(low, from.text);
        db_array_add(high, to.text);
    }
    db_array_end(low);
    db_array_end(high);
}

static int find_event(struct db_tx *tx, const struct uuid *conversation_id, const char *event_id,
                      int64_t *seq_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct uuid id = UUID_INIT;

    if (!uuid_parse(event_id, &id))
        return error_set(err, ERROR_NOT_FOUND, "no such event");
    if (db_tx_query(tx, SQL_FIND_EVENT, DB_PARAMS(conversation_id->text, id.text), &rows, err) < 0)
        return -1;
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no such event");
    *seq_out = db_number(rows, 0, 0);
    return 0;
}

static int lock_resting(struct db_tx *tx, const struct uuid *conversation_id,
                        json_t **agent_state_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_tx_query(tx, SQL_LOCK_RESTING, DB_PARAMS(conversation_id->text), &rows, err) < 0)
        return -1;
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no such conversation");
    if (!db_bool(rows, 0, 0))
        return error_set(
            err, ERROR_CONFLICT,
            "The conversation is running. Pause it before you go back to an earlier event.");
    return db_json(rows, 0, 1, agent_state_out, err);
}

/* The state with the new order; NULL if it stays as it is. */
static char *state_with_restore(json_t *agent_state, const struct file_restore *restore)
{
    struct file_restore earlier;

    if (restore == NULL && !file_restore_read(agent_state, &earlier))
        return NULL;
    if (restore != NULL)
        file_restore_set(agent_state, restore);
    else
        file_restore_clear(agent_state);
    return db_json_text(agent_state);
}

static int note_branch(struct db_tx *tx, const struct uuid *conversation_id, int64_t parent_seq,
                       const char *agent_state, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *noted = NULL;
    CLEANUP(db_rows_done) PGresult *shown = NULL;
    struct db_int parent = db_int(parent_seq);

    if (db_tx_query(tx, SQL_NAVIGATE, DB_PARAMS(conversation_id->text, parent.text), &noted, err) <
        0)
        return -1;
    return db_tx_query(tx, SQL_SHOW_AGAIN, DB_PARAMS(conversation_id->text, agent_state), &shown,
                       err);
}

int branch_store_navigate(struct db *db, const struct uuid *conversation_id, const char *event_id,
                          struct error *err)
{
    return branch_store_navigate_with_files(db, conversation_id, event_id, NULL, err);
}

int branch_store_navigate_with_files(struct db *db, const struct uuid *conversation_id,
                                     const char *event_id, const struct file_restore *restore,
                                     struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(mem_freep) char *state_text = NULL;
    json_auto_t *agent_state = NULL;
    int64_t seq = 0;
    int rc = 0;

    if (db_tx_begin(db, &tx, err) < 0 ||
        lock_resting(&tx, conversation_id, &agent_state, err) < 0 ||
        (event_id != NULL && find_event(&tx, conversation_id, event_id, &seq, err) < 0))
        return -1;
    state_text = state_with_restore(agent_state, restore);
    if (note_branch(&tx, conversation_id, seq, state_text, err) < 0)
        return -1;
    rc = db_tx_commit(&tx, err);
    if (db_hint_is_due(rc, err))
        db_hint(db, 1U << HINT_EVENTS, conversation_id->text);
    return rc;
}

/* --- pruning --- */

/* For the path, a call whose result is off it was never made. */
static void drop_call_of(const struct history *history, size_t result, bool *kept)
{
    const struct uuid *action_id = &history->items[result].result_of;

    if (!uuid_is_set(action_id))
        return;
    for (size_t i = result; i > 0; i--) {
        if (!text_equal(history->items[i - 1].id.text, action_id->text))
            continue;
        kept[i - 1] = false;
        return;
    }
}

static void prune(struct history *history, const struct path *path)
{
    bool *kept = mem_alloc_array(history->n, sizeof(*kept));
    size_t n = 0;

    for (size_t i = 0; i < history->n; i++)
        kept[i] = path_has(path, history->items[i].seq);
    for (size_t i = 0; i < history->n; i++) {
        if (!kept[i])
            drop_call_of(history, i, kept);
    }
    for (size_t i = 0; i < history->n; i++) {
        if (kept[i])
            history->items[n++] = history->items[i];
        else
            stored_event_drop(&history->items[i]);
    }
    history->n = n;
    mem_free(kept);
}

int branch_store_prune(struct db *db, const struct uuid *conversation_id, struct history *history,
                       struct error *err)
{
    CLEANUP(db_rows_done) PGresult *branches = NULL;
    CLEANUP(path_done) struct path path = PATH_INIT;

    if (db_read(db, SQL_BRANCHES, DB_PARAMS(conversation_id->text), &branches, err) < 0)
        return error_wrap(err, "finding the path of %s", conversation_id->text);
    path_fill(&path, branches, INT64_MAX);
    prune(history, &path);
    return 0;
}

/* --- reading --- */

/* As an int8multirange. The end of the log has no number: its range is open. */
static void append_ranges(const struct path *path, struct strbuf *text)
{
    const char *separator = "";

    strbuf_append_char(text, '{');
    for (size_t i = 0; i < path->n; i++) {
        if (path->low[i] > path->high[i])
            continue;
        strbuf_appendf(text, "%s[%" PRId64 ",", separator, path->low[i]);
        if (path->high[i] < INT64_MAX)
            strbuf_appendf(text, "%" PRId64 "]", path->high[i]);
        else
            strbuf_append_char(text, ')');
        separator = ",";
    }
    strbuf_append_char(text, '}');
}

int branch_store_find_path(struct db *db, const struct uuid *conversation_id,
                           struct strbuf *path_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *branches = NULL;
    CLEANUP(path_done) struct path path = PATH_INIT;

    if (db_read(db, SQL_BRANCHES, DB_PARAMS(conversation_id->text), &branches, err) < 0)
        return error_wrap(err, "finding the path of %s", conversation_id->text);
    path_fill(&path, branches, INT64_MAX);
    append_ranges(&path, path_out);
    return 0;
}

int branch_store_list(struct db *db, const struct uuid *conversation_id, struct strbuf *json_out,
                      struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LIST, DB_PARAMS(conversation_id->text), &rows, err) < 0)
        return error_wrap(err, "listing branches of %s", conversation_id->text);
    strbuf_append(json_out, PQgetvalue(rows, 0, 0));
    return 0;
}

/* --- copying --- */

static int find_path(struct db_tx *tx, const struct fork *fork, struct path *path,
                     struct error *err)
{
    CLEANUP(db_rows_done) PGresult *branches = NULL;
    int64_t end = INT64_MAX;

    if (fork->from_event_id != NULL &&
        find_event(tx, &fork->source_id, fork->from_event_id, &end, err) < 0)
        return -1;
    if (db_tx_query(tx, SQL_BRANCHES, DB_PARAMS(fork->source_id.text), &branches, err) < 0)
        return -1;
    path_fill(path, branches, end);
    return 0;
}

static int count_copied(struct db_tx *tx, const struct fork *fork, const struct path *path,
                        int64_t *n_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf low = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf high = STRBUF_INIT;

    path_to_arrays(path, &low, &high);
    if (db_tx_query(tx, SQL_COUNT_COPIED,
                    DB_PARAMS(fork->source_id.text, low.text, high.text, fork->from_event_id),
                    &rows, err) < 0)
        return -1;
    *n_out = db_number(rows, 0, 0);
    return 0;
}

static int copy_path(struct db_tx *tx, const struct fork *fork, const struct uuid *copy_id,
                     const struct path *path, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf low = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf high = STRBUF_INIT;

    path_to_arrays(path, &low, &high);
    return db_tx_query(
        tx, SQL_COPY,
        DB_PARAMS(fork->source_id.text, low.text, high.text, fork->from_event_id, copy_id->text),
        &rows, err);
}

static int copy_checkpoints(struct db_tx *tx, const struct fork *fork, const struct uuid *copy_id,
                            struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    return db_tx_query(tx, SQL_COPY_CHECKPOINTS, DB_PARAMS(fork->source_id.text, copy_id->text),
                       &rows, err);
}

static int read_end(struct db_tx *tx, struct conversation *copy, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_tx_query(tx, SQL_COPY_END, DB_PARAMS(copy->id.text), &rows, err) < 0)
        return -1;
    copy->last_seq = db_number(rows, 0, 0);
    copy->leaf_event_id = db_cell_uuid(rows, 0, 1);
    copy->is_begun = uuid_is_set(&copy->leaf_event_id);
    if (copy->last_seq == 0)
        return 0;
    return db_read_time(PQgetvalue(rows, 0, 2), &copy->last_timestamp_us, err);
}

int branch_store_fork(struct db *db, const struct fork *fork, struct conversation *copy,
                      struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(path_done) struct path path = PATH_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE};
    const struct new_conversation inserted = {copy, NULL, &write};
    int64_t n_copied = 0;
    bool is_new = false;

    if (db_tx_begin(db, &tx, err) < 0 || find_path(&tx, fork, &path, err) < 0 ||
        count_copied(&tx, fork, &path, &n_copied, err) < 0)
        return -1;
    conversation_note_origin(copy, &fork->source_id, fork->from_event_id, n_copied);
    if (conversation_insert_row(&tx, &inserted, &is_new, err) < 0)
        return -1;
    if (!is_new)
        return error_set(err, ERROR_CONFLICT, "Conversation with id %s already exists",
                         copy->id.text);
    if (copy_path(&tx, fork, &copy->id, &path, err) < 0 ||
        copy_checkpoints(&tx, fork, &copy->id, err) < 0 || read_end(&tx, copy, err) < 0)
        return -1;
    return db_tx_commit(&tx, err);
}
