#include "store/user/init_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "store/db/db_query.h"

static const char SQL_BEGIN[] =
    "WITH begun AS (INSERT INTO server_init (settings) VALUES ($1) ON CONFLICT DO NOTHING"
    "  RETURNING 1),"
    " keys AS (INSERT INTO api_keys (user_id, name, key_hash)"
    "  SELECT $2::uuid, 'init', hash FROM begun, unnest($3::text[]) AS hash"
    "  ON CONFLICT (key_hash) DO NOTHING),"
    " slots AS (UPDATE users SET run_slots = $4::integer FROM begun"
    "  WHERE id = $2::uuid AND $4::integer > 0)"
    " SELECT 1 FROM begun";

static const char SQL_HAS_BEGUN[] = "SELECT EXISTS (SELECT 1 FROM server_init)";

static const char SQL_LOAD[] = "SELECT settings FROM server_init";

int init_store_begin(struct db *db, const struct init_plan *plan, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf hashes = STRBUF_INIT;
    struct db_int n_slots = db_int(plan->n_run_slots);

    db_array_begin(&hashes);
    for (size_t i = 0; i < plan->n_keys; i++)
        db_array_add(&hashes, plan->key_hashes[i]);
    db_array_end(&hashes);
    if (db_query(db, SQL_BEGIN,
                 DB_PARAMS(plan->settings, plan->user_id->text, hashes.text, n_slots.text), &rows,
                 err) < 0)
        return error_wrap(err, "completing the deferred start");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_CONFLICT, "the server was already initialised");
    return 0;
}

int init_store_has_begun(struct db *db, bool *has_begun_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_HAS_BEGUN, DB_NO_PARAMS, &rows, err) < 0)
        return error_wrap(err, "checking whether the server was initialised");
    *has_begun_out = db_bool(rows, 0, 0);
    return 0;
}

int init_store_load(struct db *db, char **settings_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LOAD, DB_NO_PARAMS, &rows, err) < 0)
        return error_wrap(err, "loading the settings of the deferred start");
    *settings_out = PQntuples(rows) == 1 ? db_dup(rows, 0, 0) : NULL;
    return 0;
}
