#include "store/secret_read_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/uuid.h"
#include "store/db_query.h"

static const char SQL_ADD[] =
    "INSERT INTO secret_reads (user_id, runtime_id, name) VALUES ($1::uuid, $2, $3)";
static const char SQL_LIST[] =
    "SELECT json_build_object('items', coalesce(json_agg(json_build_object('id', id, 'name', name,"
    "  'read_at', to_char(read_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'))"
    "  ORDER BY id DESC) FILTER (WHERE n <= $4::bigint), '[]'::json),"
    " 'next_page_id', CASE WHEN count(*) > $4::bigint"
    "  THEN (min(id) FILTER (WHERE n <= $4::bigint))::text END)::text"
    " FROM (SELECT id, name, read_at, row_number() OVER (ORDER BY id DESC) AS n FROM secret_reads"
    "  WHERE user_id = $1::uuid AND runtime_id = $2 AND ($3::bigint = 0 OR id < $3::bigint)"
    "  ORDER BY id DESC LIMIT $4::bigint + 1) page";

int secret_read_store_add(struct db *db, const struct uuid *user_id, const char *runtime_id,
                          const char *name, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_ADD, DB_PARAMS(user_id->text, runtime_id, name), &rows, err) < 0)
        return error_wrap(err, "noting that a secret was read");
    return 0;
}

int secret_read_store_list(struct db *db, const struct uuid *user_id,
                           const struct secret_read_query *query, json_t **page_out,
                           struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int before = db_int(query->before_id);
    struct db_int most = db_int(query->limit);

    if (db_read(db, SQL_LIST, DB_PARAMS(user_id->text, query->runtime_id, before.text, most.text),
                &rows, err) < 0)
        return error_wrap(err, "listing which secrets a sandbox read");
    return db_json(rows, 0, 0, page_out, err);
}
