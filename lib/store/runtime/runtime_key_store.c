#include "store/runtime/runtime_key_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "store/db/db_query.h"

static const char SQL_ADD[] = "INSERT INTO runtime_keys (user_id, name, key_hash, max_runtimes)"
                              " VALUES ($1::uuid, $2, $3, nullif($4::integer, 0))";
static const char SQL_FIND[] = "SELECT id, user_id, max_runtimes FROM runtime_keys"
                               " WHERE key_hash = $1 AND revoked_at IS NULL";
static const char SQL_LOAD_MOST[] = "SELECT max_runtimes FROM runtime_keys WHERE id = $1::uuid";

int runtime_key_store_add(struct db *db, const struct tenant *tenant, const char *name,
                          const char *key_hash, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int max_runtimes = db_int(tenant->max_runtimes);

    if (db_query(db, SQL_ADD, DB_PARAMS(tenant->user_id.text, name, key_hash, max_runtimes.text),
                 &rows, err) < 0)
        return error_wrap(err, "storing a key of the Runtime API");
    return 0;
}

int runtime_key_store_find(struct db *db, const char *key_hash, struct tenant *tenant_out,
                           struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_FIND, DB_PARAMS(key_hash), &rows, err) < 0)
        return error_wrap(err, "finding a key of the Runtime API");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_UNAUTHENTICATED, "provide a valid API key");
    tenant_out->id = db_cell_uuid(rows, 0, 0);
    tenant_out->user_id = db_cell_uuid(rows, 0, 1);
    tenant_out->max_runtimes = db_number(rows, 0, 2);
    return 0;
}

int runtime_key_store_load_most(struct db *db, const struct uuid *id, int64_t *max_runtimes_out,
                                struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LOAD_MOST, DB_PARAMS(id->text), &rows, err) < 0)
        return error_wrap(err, "reading a key of the Runtime API");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no such key of the Runtime API");
    *max_runtimes_out = db_number(rows, 0, 0);
    return 0;
}
