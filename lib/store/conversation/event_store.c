#include "store/conversation/event_store.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_row.h"
#include "store/db/db_query.h"

/* EVENTS_AT_LEAST: so many a history grows by. */
enum { LOAD_CHUNK = 500, EVENTS_AT_LEAST = 8 };

/*
 * $1 conversation, $2 kind, $3 source, $4 substring of a message's texts, $5 since, $6 before. A
 * substring without characters that JSON escapes is first searched for in the whole body, which
 * halves the time.
 */
#define EVENT_FILTER                                                                               \
    "e.conversation_id = $1::uuid AND ($2::text IS NULL OR e.kind = $2)"                           \
    " AND ($3::text IS NULL OR e.source = $3)"                                                     \
    " AND ($4::text IS NULL OR (e.kind = 'MessageEvent'"                                           \
    "  AND ($4 ~ '[\"\\\\[:cntrl:]]' OR strpos(lower(e.body), lower($4)) > 0) AND EXISTS ("        \
    "   SELECT 1 FROM jsonb_path_query(e.body::jsonb, 'strict $.**.text') t"                       \
    "   WHERE strpos(lower(t #>> '{}'), lower($4)) > 0)))"                                         \
    " AND ($5::text IS NULL OR e.timestamp >= $5) AND ($6::text IS NULL OR e.timestamp < $6)"

/*
 * The page's rows and one more, whose id starts the next page. The same statement checks the
 * conversation: no row means that the scope does not have it, a row of nulls that no event matches.
 * The page's start is a bound on seq, so that a page deep in a long log is found by the primary
 * key. $11: the seqs of the path, NULL for the whole log; as a multirange, which PostgreSQL
 * searches by halves, since a log may have thousands of branches. A call whose result is off the
 * path was never made, as in branch_store_prune().
 */
#define SEARCH(compare, fallback, direction)                                                       \
    "SELECT e.id, e.body FROM conversations c LEFT JOIN LATERAL"                                   \
    " (SELECT e.seq, e.id, e.body FROM events e WHERE " EVENT_FILTER "  AND e.seq " compare        \
    " coalesce((SELECT f.seq FROM events f"                                                        \
    "   WHERE f.conversation_id = $1::uuid AND f.id = $7::uuid), " fallback ")"                    \
    "  AND ($11::int8multirange IS NULL OR (e.seq <@ $11::int8multirange"                          \
    "   AND NOT (e.kind = 'ActionEvent' AND EXISTS (SELECT FROM events r"                          \
    "    WHERE r.conversation_id = $1::uuid AND r.result_of = e.id"                                \
    "    AND NOT r.seq <@ $11::int8multirange))))"                                                 \
    "  ORDER BY e.seq " direction " LIMIT $8::bigint + 1) e ON true"                               \
    " WHERE c.id = $1::uuid AND c.user_id = $9::uuid"                                              \
    " AND ($10::text IS NULL OR c.runtime_session = $10) ORDER BY e.seq " direction

static const char SQL_SEARCH[] = SEARCH(">=", "0", "ASC");
static const char SQL_SEARCH_DESC[] = SEARCH("<=", "9223372036854775807", "DESC");
static const char SQL_COUNT[] = "SELECT count(*) FROM events e WHERE " EVENT_FILTER;

static const char SQL_GET[] =
    "SELECT body FROM events WHERE conversation_id = $1::uuid AND id = $2::uuid";

static const char SQL_GET_MANY[] =
    "SELECT '[' || coalesce(string_agg(coalesce(e.body, 'null'), ',' ORDER BY w.n), '') || ']'"
    " FROM unnest($2::uuid[]) WITH ORDINALITY AS w (id, n)"
    " LEFT JOIN events e ON e.conversation_id = $1::uuid AND e.id = w.id";

static const char SQL_LOAD_AFTER[] =
    "SELECT " EVENT_ROW_COLUMNS " FROM events e"
    " WHERE conversation_id = $1::uuid AND seq > $2::bigint ORDER BY seq LIMIT $3::bigint";

static const char SQL_BATCH[] =
    "SELECT e.seq, e.body, c.snapshot_version FROM conversations c LEFT JOIN LATERAL"
    " (SELECT seq, body FROM events WHERE conversation_id = c.id AND seq > $2::bigint"
    "  ORDER BY seq LIMIT $3::bigint) e ON true WHERE c.id = $1::uuid ORDER BY e.seq";

static const char SQL_SEQ_BEFORE[] =
    "SELECT coalesce((SELECT min(seq) - 1 FROM events WHERE conversation_id = $1::uuid"
    "  AND timestamp >= $2),"
    " (SELECT max(seq) FROM events WHERE conversation_id = $1::uuid), 0)";

/* Bodies are JSON already: they are joined, not parsed and reprinted. */
static void append_page(const PGresult *rows, int64_t limit, struct strbuf *json_out)
{
    int n = PQgetisnull(rows, 0, 0) ? 0 : PQntuples(rows);
    bool has_next = n > limit;

    strbuf_append(json_out, "{\"items\":[");
    for (int row = 0; row < n && row < limit; row++) {
        if (row > 0)
            strbuf_append_char(json_out, ',');
        strbuf_append_bytes(json_out, PQgetvalue(rows, row, 1), (size_t)PQgetlength(rows, row, 1));
    }
    strbuf_append(json_out, "],\"next_page_id\":");
    if (has_next)
        strbuf_appendf(json_out, "\"%s\"}", PQgetvalue(rows, (int)limit, 0));
    else
        strbuf_append(json_out, "null}");
}

int event_store_search(struct db *db, const struct conversation_scope *scope,
                       const struct event_filter *filter, struct strbuf *json_out,
                       struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct uuid page_id = UUID_INIT;
    struct db_int limit = db_int(filter->limit);

    if (filter->page_id != NULL && !uuid_parse(filter->page_id, &page_id))
        page_id = (struct uuid)UUID_INIT;
    if (db_read(db, filter->descending ? SQL_SEARCH_DESC : SQL_SEARCH,
                DB_PARAMS(filter->conversation_id.text, filter->kind, filter->source, filter->body,
                          filter->since, filter->before, db_uuid(&page_id), limit.text,
                          scope->user_id.text, scope->runtime_session, filter->path),
                &rows, err) < 0)
        return error_wrap(err, "searching events of %s", filter->conversation_id.text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "Conversation not found: %s",
                         filter->conversation_id.text);
    append_page(rows, filter->limit, json_out);
    return 0;
}

int event_store_count(struct db *db, const struct event_filter *filter, int64_t *n_out,
                      struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_COUNT,
                DB_PARAMS(filter->conversation_id.text, filter->kind, filter->source, filter->body,
                          filter->since, filter->before),
                &rows, err) < 0)
        return error_wrap(err, "counting events of %s", filter->conversation_id.text);
    *n_out = db_number(rows, 0, 0);
    return 0;
}

int event_store_get(struct db *db, const struct uuid *conversation_id, const char *event_id,
                    struct strbuf *json_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct uuid id = UUID_INIT;

    if (!uuid_parse(event_id, &id))
        return error_set(err, ERROR_NOT_FOUND, "Not Found");
    if (db_read(db, SQL_GET, DB_PARAMS(conversation_id->text, id.text), &rows, err) < 0)
        return error_wrap(err, "reading event %s", id.text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "Not Found");
    strbuf_append(json_out, PQgetvalue(rows, 0, 0));
    return 0;
}

int event_store_get_many(struct db *db, const struct uuid *conversation_id, const char *const *ids,
                         size_t n, struct strbuf *json_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf array = STRBUF_INIT;

    db_array_begin(&array);
    for (size_t i = 0; i < n; i++) {
        struct uuid id = UUID_INIT;

        db_array_add(&array, uuid_parse(ids[i], &id) ? id.text : NULL);
    }
    db_array_end(&array);
    if (db_read(db, SQL_GET_MANY, DB_PARAMS(conversation_id->text, array.text), &rows, err) < 0)
        return error_wrap(err, "reading %zu events", n);
    strbuf_append(json_out, PQgetvalue(rows, 0, 0));
    return 0;
}

void history_done(struct history *history)
{
    if (history == NULL)
        return;
    for (size_t i = 0; i < history->n; i++)
        stored_event_drop(&history->items[i]);
    mem_free(history->items);
    mem_free(history->gap.ids);
    *history = (struct history)HISTORY_INIT;
}

/* By a quarter: a worker keeps thousands of histories, of a hundred events each. */
struct stored_event *history_add(struct history *history)
{
    if (history->n == history->size) {
        history->size += history->size / 4 + EVENTS_AT_LEAST;
        history->items = mem_resize(history->items, history->size * sizeof(*history->items));
    }
    history->items[history->n] = (struct stored_event){0};
    return &history->items[history->n++];
}

int event_row_read(const PGresult *rows, int row, struct history *history, struct error *err)
{
    json_auto_t *json = NULL;
    struct stored_event *event = NULL;

    if (db_json(rows, row, 4, &json, err) < 0 ||
        db_read_time(json_text_or(json, "timestamp", ""), &history->last_timestamp_us, err) < 0)
        return error_wrap(err, "event %s", PQgetvalue(rows, row, 1));
    event = history_add(history);
    stored_event_set_body(event, PQgetvalue(rows, row, 2), TAKE_PTR(json));
    stored_event_take_text(event, db_dup(rows, row, 4), (size_t)PQgetlength(rows, row, 4));
    event->seq = db_number(rows, row, 0);
    event->id = db_cell_uuid(rows, row, 1);
    event->result_of = db_cell_uuid(rows, row, 3);
    event->is_of_run = db_bool(rows, row, 5);
    history->last_seq = event->seq;
    return 0;
}

int event_store_load_after(struct db *db, const struct uuid *conversation_id,
                           struct history *history, struct error *err)
{
    struct db_int chunk = db_int(LOAD_CHUNK);
    int n = 0;

    do {
        CLEANUP(db_rows_done) PGresult *rows = NULL;
        struct db_int after = db_int(history->last_seq);

        if (db_read(db, SQL_LOAD_AFTER, DB_PARAMS(conversation_id->text, after.text, chunk.text),
                    &rows, err) < 0)
            return error_wrap(err, "loading the history of %s", conversation_id->text);
        n = PQntuples(rows);
        for (int row = 0; row < n; row++) {
            if (event_row_read(rows, row, history, err) < 0)
                return error_wrap(err, "loading the history of %s", conversation_id->text);
        }
    } while (n == LOAD_CHUNK);
    return 0;
}

void event_batch_done(struct event_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        mem_free(batch->bodies[i]);
    mem_free(batch->bodies);
    mem_free(batch->seqs);
    *batch = (struct event_batch){0};
}

/* Without events the join leaves one row of nulls. */
static void fill_batch(const PGresult *rows, struct event_batch *batch)
{
    int n = PQgetisnull(rows, 0, 0) ? 0 : PQntuples(rows);

    batch->seqs = mem_alloc_array((size_t)n, sizeof(*batch->seqs));
    batch->bodies = mem_alloc_array((size_t)n, sizeof(*batch->bodies));
    for (int row = 0; row < n; row++) {
        batch->seqs[row] = db_number(rows, row, 0);
        batch->bodies[row] = db_dup(rows, row, 1);
    }
    batch->n = (size_t)n;
    batch->snapshot_version = db_number(rows, 0, 2);
}

int event_store_read_batch(struct db *db, const struct uuid *conversation_id, int64_t after_seq,
                           int64_t limit, struct event_batch *batch_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int after = db_int(after_seq);
    struct db_int most = db_int(limit);

    if (db_read(db, SQL_BATCH, DB_PARAMS(conversation_id->text, after.text, most.text), &rows,
                err) < 0)
        return error_wrap(err, "reading events of %s", conversation_id->text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "Conversation not found: %s", conversation_id->text);
    fill_batch(rows, batch_out);
    return 0;
}

int event_store_seq_before(struct db *db, const struct uuid *conversation_id, const char *since,
                           int64_t *seq_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_SEQ_BEFORE, DB_PARAMS(conversation_id->text, since), &rows, err) < 0)
        return error_wrap(err, "reading events of %s", conversation_id->text);
    *seq_out = db_number(rows, 0, 0);
    return 0;
}
