#include "store/user/secret_read_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/uuid.h"
#include "store/db/db_query.h"

static const char SQL_ADD[] =
    "INSERT INTO secret_reads (user_id, runtime_id, name) VALUES ($1::uuid, $2, $3)";
#define READ_AT "to_char(read_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
/* $3: before that id, 0 for no bound; $4: maximum number of rows. */
#define PAGE_WHERE(which)                                                                          \
    "SELECT json_build_object('items', coalesce(json_agg(json_build_object('id', id, 'name', name" \
    "  , 'sandbox_id', runtime_id, 'read_at', " READ_AT                                            \
    ") ORDER BY id DESC) FILTER (WHERE n <= $4::bigint), '[]'::json), 'next_page_id',"             \
    "  CASE WHEN count(*) > $4::bigint"                                                            \
    "   THEN (min(id) FILTER (WHERE n <= $4::bigint))::text END)::text"                            \
    " FROM (SELECT id, name, runtime_id, read_at, row_number() OVER (ORDER BY id DESC) AS n"       \
    "  FROM secret_reads WHERE user_id = $1::uuid AND " which                                      \
    "  AND ($3::bigint = 0 OR id < $3::bigint) ORDER BY id DESC LIMIT $4::bigint + 1) page"
static const char SQL_LIST_OF_SANDBOX[] = PAGE_WHERE("runtime_id = $2");
static const char SQL_LIST_OF_ALL[] = PAGE_WHERE("$2::text IS NULL");
/* Steps from name to name by the index: a user has few names, and any number of reads. */
static const char SQL_LATEST[] =
    "WITH RECURSIVE names (name) AS ("
    "  SELECT min(name) FROM secret_reads WHERE user_id = $1::uuid"
    "  UNION ALL"
    "  SELECT (SELECT min(name) FROM secret_reads r WHERE user_id = $1::uuid AND r.name > n.name)"
    "  FROM names n WHERE n.name IS NOT NULL)"
    " SELECT json_build_object('items', coalesce(json_agg(json_build_object('name', reading.name,"
    "  'sandbox_id', runtime_id, 'read_at', " READ_AT ") ORDER BY reading.name), '[]'::json))::text"
    " FROM (SELECT name FROM names WHERE name IS NOT NULL LIMIT $2::bigint) named,"
    " LATERAL (SELECT name, runtime_id, read_at FROM secret_reads"
    "  WHERE user_id = $1::uuid AND name = named.name ORDER BY id DESC LIMIT 1) reading";

int secret_read_store_add(struct db *db, const struct uuid *user_id, const char *runtime_id,
                          const char *name, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_ADD, DB_PARAMS(user_id->text, runtime_id, name), &rows, err) < 0)
        return error_wrap(err, "recording that a secret was read");
    return 0;
}

int secret_read_store_list(struct db *db, const struct uuid *user_id,
                           const struct secret_read_query *query, json_t **page_out,
                           struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int before = db_int(query->before_id);
    struct db_int most = db_int(query->limit);

    if (db_read(db, query->runtime_id != NULL ? SQL_LIST_OF_SANDBOX : SQL_LIST_OF_ALL,
                DB_PARAMS(user_id->text, query->runtime_id, before.text, most.text), &rows,
                err) < 0)
        return error_wrap(err, "listing which secrets were read");
    return db_json(rows, 0, 0, page_out, err);
}

int secret_read_store_latest(struct db *db, const struct uuid *user_id, int64_t limit,
                             json_t **list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int most = db_int(limit);

    if (db_read(db, SQL_LATEST, DB_PARAMS(user_id->text, most.text), &rows, err) < 0)
        return error_wrap(err, "listing when each secret was read last");
    return db_json(rows, 0, 0, list_out, err);
}
