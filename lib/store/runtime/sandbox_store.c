#include "store/runtime/sandbox_store.h"

#include "base/error.h"
#include "base/strbuf.h"
#include "store/db/db_query.h"
#include "store/runtime/runtime_row.h"
#include "store/runtime/runtime_store.h"

#define IS_THEIRS "owner_id = $1::uuid AND tenant_id IS NULL AND desired <> 'deleted'"

static const char SQL_SEARCH[] =
    "SELECT " RUNTIME_COLUMNS " FROM runtimes WHERE " IS_THEIRS
    " AND ($2::bigint = 0 OR (created_at, id) <="
    "  (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3))"
    " ORDER BY created_at DESC, id DESC LIMIT $4::bigint";
static const char SQL_GET_MANY[] =
    "SELECT " RUNTIME_COLUMNS " FROM runtimes WHERE " IS_THEIRS " AND id = ANY ($2::text[])";
static const char SQL_SURPLUS[] =
    "WITH mine AS (SELECT * FROM runtimes WHERE " IS_THEIRS
    "  AND starts_with(session_id, '" SANDBOX_SESSION_PREFIX "') AND desired = 'running'"
    "  AND status IN ('starting', 'running', 'paused') AND id <> $3)"
    " SELECT " RUNTIME_COLUMNS " FROM mine WHERE NOT EXISTS"
    "  (SELECT 1 FROM conversations c WHERE c.runtime_session = mine.session_id"
    "   AND (c.wanted_at IS NOT NULL OR c.lease_expires_at > now()))"
    " ORDER BY created_at, id LIMIT greatest((SELECT count(*) FROM mine) - $2::bigint, 0)";

int sandbox_store_search(struct db *db, const struct uuid *user_id,
                         const struct sandbox_cursor *from, int64_t limit,
                         struct runtime_list *list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int created = db_int(from->created_at_us);
    struct db_int most = db_int(limit + 1);

    if (db_read(db, SQL_SEARCH, DB_PARAMS(user_id->text, created.text, from->id, most.text), &rows,
                err) < 0)
        return error_wrap(err, "listing a user's sandboxes");
    return runtime_row_list(rows, list_out, err);
}

int sandbox_store_get_many(struct db *db, const struct uuid *user_id, const char *const *ids,
                           size_t n, struct runtime_list *list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf array = STRBUF_INIT;

    db_array_begin(&array);
    for (size_t i = 0; i < n; i++)
        db_array_add(&array, ids[i]);
    db_array_end(&array);
    if (db_read(db, SQL_GET_MANY, DB_PARAMS(user_id->text, array.text), &rows, err) < 0)
        return error_wrap(err, "reading %zu sandboxes", n);
    return runtime_row_list(rows, list_out, err);
}

int sandbox_store_get(struct db *db, const struct uuid *user_id, const char *id,
                      struct runtime *runtime_out, struct error *err)
{
    CLEANUP(runtime_list_done) struct runtime_list list = {.items = NULL};

    if (sandbox_store_get_many(db, user_id, &id, 1, &list, err) < 0)
        return -1;
    if (list.n == 0)
        return error_set(err, ERROR_NOT_FOUND, "no such sandbox");
    *runtime_out = list.items[0];
    list.items[0] = (struct runtime)RUNTIME_INIT;
    return 0;
}

int sandbox_store_list_surplus(struct db *db, const struct uuid *user_id, int64_t most,
                               const char *except_id, struct runtime_list *list_out,
                               struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int number = db_int(most);

    if (db_read(db, SQL_SURPLUS, DB_PARAMS(user_id->text, number.text, except_id), &rows, err) < 0)
        return error_wrap(err, "counting a user's sandboxes");
    return runtime_row_list(rows, list_out, err);
}
