#include "store/conversation/info_store.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "store/conversation/conversation_page_sql.h"
#include "store/conversation/conversation_row.h"
#include "store/conversation/conversation_store.h"
#include "store/db/db_query.h"

/* The specification is read only where the cached part is missing. */
#define INFO_COLUMNS                                                                               \
    "c.id, c.parent_id, c.execution_status, c.title, c.stats, c.agent_state,"                      \
    " c.last_user_message_id, c.leaf_event_id, c.is_leaf_known, c.spec_info,"                      \
    " CASE WHEN c.spec_info IS NULL THEN c.spec END, c.xmin,"                                      \
    " (extract(epoch FROM c.created_at) * 1000000)::bigint,"                                       \
    " (extract(epoch FROM c.updated_at) * 1000000)::bigint,"                                       \
    " (SELECT string_agg(k.id::text, ',' ORDER BY k.created_at, k.id) FROM conversations k"        \
    "   WHERE k.parent_id = c.id),"                                                                \
    " c.wanted_at IS NOT NULL AND (c.lease_expires_at IS NULL OR c.lease_expires_at <= now()),"    \
    " c.wanted_at IS NULL AND c.lease_owner IS NULL,"                                              \
    " sandbox.status, sandbox.desired, sandbox.status_detail"
#define INFO_JOINS                                                                                 \
    " LEFT JOIN LATERAL (SELECT r.status, r.desired, r.status_detail FROM runtimes r"              \
    "   WHERE r.session_id = c.runtime_session ORDER BY r.created_at DESC LIMIT 1) sandbox ON "    \
    "true"

enum info_column {
    COLUMN_ID,
    COLUMN_PARENT,
    COLUMN_STATUS,
    COLUMN_TITLE,
    COLUMN_STATS,
    COLUMN_AGENT_STATE,
    COLUMN_LAST_USER_MESSAGE,
    COLUMN_LEAF,
    COLUMN_IS_LEAF_KNOWN,
    COLUMN_SPEC_INFO,
    COLUMN_SPEC,
    COLUMN_VERSION,
    COLUMN_CREATED,
    COLUMN_UPDATED,
    COLUMN_CHILDREN,
    COLUMN_IS_WAITING,
    COLUMN_IS_RESTING,
    COLUMN_SANDBOX_STATUS,
    COLUMN_SANDBOX_DESIRED,
    COLUMN_SANDBOX_DETAIL,
};

static const char *const SQL_SEARCHES[2][2] = CONVERSATION_SEARCHES(INFO_COLUMNS, INFO_JOINS);

static const char SQL_LOAD_MANY[] = "SELECT " INFO_COLUMNS " FROM conversations c" INFO_JOINS
                                    " WHERE c.id = ANY ($1::uuid[]) AND c.user_id = $2::uuid"
                                    " AND ($3::text IS NULL OR c.runtime_session = $3)";

static const char SQL_LEAVES[] = "SELECT c.id, leaf.id FROM unnest($1::uuid[]) AS c "
                                 "(id)" CONVERSATION_LEAF_JOIN;

/*
 * While no run is requested and no worker has it, each writer of events also writes the row: the
 * values found for this version of the row hold as long as the version does. Locked rows are left
 * to the next reader.
 */
static const char SQL_COMPLETE[] =
    "WITH found AS (SELECT c.id, f.spec_info, f.leaf FROM conversations c"
    "  JOIN unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[]) AS f (id, version, spec_info, "
    "leaf)"
    "   ON f.id = c.id AND c.xmin::text = f.version"
    "  WHERE c.lease_owner IS NULL AND c.wanted_at IS NULL FOR NO KEY UPDATE OF c SKIP LOCKED)"
    " UPDATE conversations c SET spec_info = found.spec_info, leaf_event_id = found.leaf,"
    "  is_leaf_known = true FROM found WHERE c.id = found.id";

void info_list_done(struct info_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->n; i++)
        mem_free(list->items[i].own_spec_info);
    mem_free(list->items);
    PQclear(list->rows);
    *list = (struct info_list)INFO_LIST_INIT;
}

/* Incomplete rows and the values found for them: parameters of SQL_COMPLETE. */
struct completion {
    PGresult *leaves; /* ids with their leaves */
    struct strbuf ids;
    struct strbuf versions;
    struct strbuf spec_infos;
    struct strbuf leaf_ids;
    size_t n;
};

/* clang-format off */
#define COMPLETION_INIT {NULL, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, 0}
/* clang-format on */

static void completion_done(struct completion *completion)
{
    db_rows_done(&completion->leaves);
    strbuf_done(&completion->ids);
    strbuf_done(&completion->versions);
    strbuf_done(&completion->spec_infos);
    strbuf_done(&completion->leaf_ids);
}

static bool is_complete(const PGresult *rows, int row)
{
    return db_bool(rows, row, COLUMN_IS_LEAF_KNOWN) && !PQgetisnull(rows, row, COLUMN_SPEC_INFO);
}

/* Finds the leaves of incomplete rows; leaves stays NULL when all are complete. */
static int find_leaves(struct db *db, const PGresult *rows, int n, PGresult **leaves,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    bool is_needed = false;

    db_array_begin(&ids);
    for (int row = 0; row < n; row++) {
        if (is_complete(rows, row))
            continue;
        db_array_add(&ids, PQgetvalue(rows, row, COLUMN_ID));
        is_needed = true;
    }
    db_array_end(&ids);
    return is_needed ? db_read(db, SQL_LEAVES, DB_PARAMS(ids.text), leaves, err) : 0;
}

static struct uuid leaf_of(const PGresult *leaves, const char *id)
{
    for (int row = 0; row < PQntuples(leaves); row++) {
        if (text_equal(PQgetvalue(leaves, row, 0), id))
            return db_cell_uuid(leaves, row, 1);
    }
    return (struct uuid)UUID_INIT;
}

static void note_completion(struct completion *completion, const PGresult *rows, int row,
                            const struct conversation_texts *texts)
{
    struct strbuf *const all[] = {&completion->ids, &completion->versions, &completion->spec_infos,
                                  &completion->leaf_ids};
    const char *const values[] = {texts->id.text, PQgetvalue(rows, row, COLUMN_VERSION),
                                  texts->spec_info, texts->leaf_event_id};

    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        if (completion->n == 0)
            db_array_begin(all[i]);
        db_array_add(all[i], values[i]);
    }
    completion->n++;
}

/* Fills in what the row lacks. */
static int complete(struct completion *completion, const PGresult *rows, int row,
                    struct info_item *item, struct error *err)
{
    struct conversation_texts *texts = &item->texts;
    json_auto_t *spec = NULL;

    if (texts->spec_info == NULL) {
        if (db_json(rows, row, COLUMN_SPEC, &spec, err) < 0)
            return -1;
        item->own_spec_info = conversation_spec_info(spec);
        texts->spec_info = item->own_spec_info;
    }
    item->own_leaf = leaf_of(completion->leaves, texts->id.text);
    texts->leaf_event_id = db_uuid(&item->own_leaf);
    if (db_bool(rows, row, COLUMN_IS_RESTING))
        note_completion(completion, rows, row, texts);
    return 0;
}

static void fill_item(const PGresult *rows, int row, struct info_item *item)
{
    item->sandbox = (struct info_sandbox){
        .status = db_text(rows, row, COLUMN_SANDBOX_STATUS),
        .desired = db_text(rows, row, COLUMN_SANDBOX_DESIRED),
        .detail = db_text(rows, row, COLUMN_SANDBOX_DETAIL),
    };
    item->is_waiting = db_bool(rows, row, COLUMN_IS_WAITING);
    item->own_spec_info = NULL;
    item->texts = (struct conversation_texts){
        .id = db_cell_uuid(rows, row, COLUMN_ID),
        .parent_id = db_text(rows, row, COLUMN_PARENT),
        .status = PQgetvalue(rows, row, COLUMN_STATUS),
        .title = db_text(rows, row, COLUMN_TITLE),
        .stats = PQgetvalue(rows, row, COLUMN_STATS),
        .agent_state = PQgetvalue(rows, row, COLUMN_AGENT_STATE),
        .last_user_message_id = db_text(rows, row, COLUMN_LAST_USER_MESSAGE),
        .leaf_event_id = db_text(rows, row, COLUMN_LEAF),
        .children = db_text(rows, row, COLUMN_CHILDREN),
        .spec_info = db_text(rows, row, COLUMN_SPEC_INFO),
        .created_at_us = db_number(rows, row, COLUMN_CREATED),
        .updated_at_us = db_number(rows, row, COLUMN_UPDATED),
    };
}

/* Size estimate of an Info's names, times and ids, and its runtime_info. */
enum { ITEM_BYTES = 1024 };

static int read_item(struct completion *completion, const PGresult *rows, int row,
                     struct info_list *list, struct error *err)
{
    struct info_item *item = &list->items[row];

    fill_item(rows, row, item);
    list->n++;
    if (!is_complete(rows, row) && complete(completion, rows, row, item, err) < 0)
        return -1;
    list->n_bytes += ITEM_BYTES + strlen(item->texts.spec_info) + strlen(item->texts.stats) +
                     strlen(item->texts.agent_state);
    return 0;
}

/* Stores the values for the next reader; best effort. */
static void keep_completion(struct db *db, struct completion *completion)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error err = ERROR_INIT;

    if (completion->n == 0)
        return;
    db_array_end(&completion->ids);
    db_array_end(&completion->versions);
    db_array_end(&completion->spec_infos);
    db_array_end(&completion->leaf_ids);
    error_ignore(db_query(db, SQL_COMPLETE,
                          DB_PARAMS(completion->ids.text, completion->versions.text,
                                    completion->spec_infos.text, completion->leaf_ids.text),
                          &rows, &err),
                 "the next reader completes the row");
}

/* Reads at most `limit` rows of list->rows; the row after them is the next page's first. */
static int read_list(struct db *db, int64_t limit, struct info_list *list, struct error *err)
{
    CLEANUP(completion_done) struct completion completion = COMPLETION_INIT;
    const PGresult *rows = list->rows;
    int n = PQntuples(rows);

    if (n > limit) {
        list->next_id = db_cell_uuid(rows, (int)limit, COLUMN_ID);
        n = (int)limit;
    }
    if (find_leaves(db, rows, n, &completion.leaves, err) < 0)
        return -1;
    list->items = mem_alloc_array((size_t)n, sizeof(*list->items));
    for (int row = 0; row < n; row++) {
        if (read_item(&completion, rows, row, list, err) < 0)
            return error_wrap(err, "conversation %s", PQgetvalue(rows, row, COLUMN_ID));
    }
    keep_completion(db, &completion);
    return 0;
}

int info_store_search(struct db *db, const struct conversation_filter *filter,
                      struct info_list *list_out, struct error *err)
{
    struct db_int limit = db_int(filter->limit);

    if (db_read(db, SQL_SEARCHES[filter->by_updated][filter->ascending],
                DB_PARAMS(filter->scope.user_id.text, filter->scope.runtime_session, filter->status,
                          db_uuid(&filter->from_id), limit.text),
                &list_out->rows, err) < 0 ||
        read_list(db, filter->limit, list_out, err) < 0)
        return error_wrap(err, "searching conversations");
    return 0;
}

int info_store_load_many(struct db *db, const struct conversation_scope *scope,
                         const struct uuid *ids, size_t n, struct info_list *list_out,
                         struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf array = STRBUF_INIT;

    db_array_begin(&array);
    for (size_t i = 0; i < n; i++)
        db_array_add(&array, ids[i].text);
    db_array_end(&array);
    if (db_read(db, SQL_LOAD_MANY,
                DB_PARAMS(array.text, scope->user_id.text, scope->runtime_session), &list_out->rows,
                err) < 0 ||
        read_list(db, (int64_t)n, list_out, err) < 0)
        return error_wrap(err, "loading %zu conversations", n);
    return 0;
}
