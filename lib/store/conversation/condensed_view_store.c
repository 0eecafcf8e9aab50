#include "store/conversation/condensed_view_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <libpq-fe.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_row.h"
#include "store/conversation/event_store.h"
#include "store/db/db_query.h"

enum { LOAD_CHUNK = 500 };

/* Members of the state. */
#define KEY_SEQS "seqs"           /* of the events */
#define KEY_FORGOTTEN "forgotten" /* seqs of those that are marked as forgotten */
#define KEY_SUMMARIES "summaries" /* pairs: a Condensation's seq, that of the event after it */
#define KEY_IDS "ids"             /* struct history_gap */
#define KEY_ITERATIONS "iterations"

/* One row, also for a conversation that has neither a branch nor a view. */
static const char SQL_FIND[] =
    "SELECT coalesce(b.from_seq, 0), coalesce(b.parent_seq, 0), v.seq, v.state"
    " FROM (VALUES (1)) AS one (x) LEFT JOIN LATERAL (SELECT n.from_seq, n.parent_seq"
    "  FROM branches n WHERE n.conversation_id = $1::uuid ORDER BY n.from_seq DESC LIMIT 1) b"
    "  ON true"
    " LEFT JOIN condensed_views v ON v.conversation_id = $1::uuid"
    "  AND v.branch_seq = coalesce(b.from_seq, 0) AND v.parent_seq = coalesce(b.parent_seq, 0)";

static const char SQL_LOAD[] = "SELECT " EVENT_ROW_COLUMNS " FROM events e"
                               " WHERE e.conversation_id = $1::uuid AND e.seq = ANY ($2::bigint[])"
                               " ORDER BY e.seq";

/* Under the lease, or a client may have gone back in the log since the history was loaded. */
static const char SQL_SAVE[] =
    "INSERT INTO condensed_views (conversation_id, seq, branch_seq, parent_seq, state)"
    " SELECT c.id, $2::bigint, $3::bigint, $4::bigint, $5 FROM conversations c"
    "  WHERE c.id = $1::uuid AND c.lease_owner = $6::uuid AND c.lease_fence = $7::bigint"
    "  AND c.lease_expires_at > now() FOR KEY SHARE OF c"
    " ON CONFLICT (conversation_id) DO UPDATE SET seq = EXCLUDED.seq,"
    "  branch_seq = EXCLUDED.branch_seq, parent_seq = EXCLUDED.parent_seq, state = EXCLUDED.state";

/* --- load --- */

static int64_t number_at(const json_t *numbers, size_t index)
{
    return json_integer_value(json_array_get(numbers, index));
}

/* The event with that seq, or NULL. */
static struct stored_event *find_seq(const struct history *history, int64_t seq)
{
    size_t low = 0;
    size_t high = history->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (history->items[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low < history->n && history->items[low].seq == seq ? &history->items[low] : NULL;
}

static int load_chunk(struct db *db, const struct uuid *conversation_id, const json_t *seqs,
                      struct history *history, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf array = STRBUF_INIT;
    size_t end = history->n + LOAD_CHUNK;

    db_array_begin(&array);
    for (size_t i = history->n; i < end && i < json_array_size(seqs); i++)
        db_array_add(&array, db_int(number_at(seqs, i)).text);
    db_array_end(&array);
    if (db_read(db, SQL_LOAD, DB_PARAMS(conversation_id->text, array.text), &rows, err) < 0)
        return -1;
    for (int row = 0; row < PQntuples(rows); row++) {
        if (event_row_read(rows, row, history, err) < 0)
            return -1;
    }
    return 0;
}

/* False if the events are not all there. */
static bool mark_events(struct history *history, const json_t *state)
{
    const json_t *forgotten = json_object_get(state, KEY_FORGOTTEN);
    const json_t *summaries = json_object_get(state, KEY_SUMMARIES);

    if (history->n == 0 || history->n != json_array_size(json_object_get(state, KEY_SEQS)))
        return false;
    for (size_t i = 0; i < json_array_size(forgotten); i++) {
        struct stored_event *event = find_seq(history, number_at(forgotten, i));

        if (event == NULL)
            return false;
        event->is_forgotten = true;
    }
    for (size_t i = 0; i + 1 < json_array_size(summaries); i += 2) {
        const struct stored_event *condensation = find_seq(history, number_at(summaries, i));
        struct stored_event *event = find_seq(history, number_at(summaries, i + 1));

        if (condensation == NULL || event == NULL)
            return false;
        event->summary = json_object_get(stored_event_json(condensation), "summary");
    }
    return true;
}

static void read_gap(struct history_gap *gap, const json_t *state)
{
    const json_t *ids = json_object_get(state, KEY_IDS);

    gap->n_iterations = json_int_or(state, KEY_ITERATIONS, 0);
    gap->n_ids = json_array_size(ids);
    gap->size = gap->n_ids;
    gap->ids = mem_alloc_array(gap->n_ids, sizeof(*gap->ids));
    for (size_t i = 0; i < gap->n_ids; i++)
        gap->ids[i] = (uint32_t)number_at(ids, i);
}

static int load_view(struct db *db, const struct uuid *conversation_id, const json_t *state,
                     struct history *history, struct error *err)
{
    CLEANUP(history_done) struct history loaded = HISTORY_INIT;
    const json_t *seqs = json_object_get(state, KEY_SEQS);
    size_t n_before = 0;

    do {
        n_before = loaded.n;
        if (load_chunk(db, conversation_id, seqs, &loaded, err) < 0)
            return -1;
    } while (loaded.n == n_before + LOAD_CHUNK);
    if (!mark_events(&loaded, state))
        return 0;
    read_gap(&loaded.gap, state);
    loaded.gap.seq = loaded.last_seq;
    loaded.branch_seq = history->branch_seq;
    loaded.parent_seq = history->parent_seq;
    *history = loaded;
    loaded = (struct history)HISTORY_INIT;
    return 0;
}

int condensed_view_store_load(struct db *db, const struct uuid *conversation_id,
                              struct history *history, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    json_auto_t *state = NULL;

    if (db_read(db, SQL_FIND, DB_PARAMS(conversation_id->text), &rows, err) < 0)
        return error_wrap(err, "finding the view of %s", conversation_id->text);
    history->branch_seq = db_number(rows, 0, 0);
    history->parent_seq = db_number(rows, 0, 1);
    if (PQgetisnull(rows, 0, 2))
        return 0;
    if (db_json(rows, 0, 3, &state, err) < 0 ||
        load_view(db, conversation_id, state, history, err) < 0)
        return error_wrap(err, "loading the view of %s", conversation_id->text);
    return 0;
}

/* --- save --- */

static void push_number(json_t *numbers, int64_t number)
{
    json_push(numbers, json_integer((json_int_t)number));
}

/* The Condensation whose summary that is. */
static int64_t seq_of_summary(const struct history *history, const json_t *summary)
{
    for (size_t i = history->n; i > 0; i--) {
        const struct stored_event *event = &history->items[i - 1];

        if (text_equal(event->kind, "Condensation") &&
            json_object_get(stored_event_json(event), "summary") == summary)
            return event->seq;
    }
    return 0;
}

static json_t *state_of(const struct history *history)
{
    json_t *state = json_object();
    json_t *seqs = json_array();
    json_t *forgotten = json_array();
    json_t *summaries = json_array();
    json_t *ids = json_array();

    for (size_t i = 0; i < history->n && history->items[i].seq <= history->gap.seq; i++) {
        const struct stored_event *event = &history->items[i];

        push_number(seqs, event->seq);
        if (event->is_forgotten)
            push_number(forgotten, event->seq);
        if (event->summary == NULL)
            continue;
        push_number(summaries, seq_of_summary(history, event->summary));
        push_number(summaries, event->seq);
    }
    for (size_t i = 0; i < history->gap.n_ids; i++)
        push_number(ids, history->gap.ids[i]);
    json_put(state, KEY_SEQS, seqs);
    json_put(state, KEY_FORGOTTEN, forgotten);
    json_put(state, KEY_SUMMARIES, summaries);
    json_put(state, KEY_IDS, ids);
    json_put(state, KEY_ITERATIONS, json_integer((json_int_t)history->gap.n_iterations));
    return state;
}

int condensed_view_store_save(struct db *db, const struct lease *lease,
                              const struct history *history, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *state = state_of(history);
    struct db_int seq = db_int(history->gap.seq);
    struct db_int branch_seq = db_int(history->branch_seq);
    struct db_int parent_seq = db_int(history->parent_seq);
    struct db_int fence = db_int(lease->fence);

    json_append_text(&text, state);
    if (db_query(db, SQL_SAVE,
                 DB_PARAMS(lease->conversation_id.text, seq.text, branch_seq.text, parent_seq.text,
                           text.text, lease->owner.text, fence.text),
                 &rows, err) < 0)
        return error_wrap(err, "storing the view of %s", lease->conversation_id.text);
    return 0;
}
