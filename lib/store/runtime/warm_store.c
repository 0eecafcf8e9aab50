#include "store/runtime/warm_store.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/db/db_query.h"
#include "store/runtime/runtime_row.h"
#include "store/runtime/runtime_store.h"

#define COLUMNS                                                                                    \
    "id, image, memory_bytes, nano_cpus, fittings, home, image_id, container_id, network, url,"    \
    " init_key, is_ready"

static const char SQL_ADD[] =
    "INSERT INTO warm_sandboxes (id, image, memory_bytes, nano_cpus, fittings, home)"
    " VALUES ($1, $2, $3::bigint, $4::bigint, $5, $6)";
static const char SQL_SET_READY[] =
    "UPDATE warm_sandboxes SET image_id = $2, container_id = $3, network = $4, url = $5,"
    " init_key = $6, is_ready = true WHERE id = $1 RETURNING 1";
static const char SQL_LIST[] = "SELECT " COLUMNS " FROM warm_sandboxes ORDER BY created_at";
static const char SQL_GET[] = "SELECT " COLUMNS " FROM warm_sandboxes WHERE id = $1";
static const char SQL_REMOVE[] = "DELETE FROM warm_sandboxes WHERE id = $1 RETURNING 1";
static const char SQL_CLAIM[] =
    "DELETE FROM warm_sandboxes WHERE id = (SELECT id FROM warm_sandboxes WHERE is_ready"
    "  AND image = $1 AND memory_bytes = $2::bigint AND nano_cpus = $3::bigint AND fittings = $4"
    "  ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED)"
    " RETURNING " COLUMNS;

void warm_sandbox_done(struct warm_sandbox *sandbox)
{
    if (sandbox == NULL)
        return;
    mem_free(sandbox->image);
    mem_free(sandbox->agent_build);
    mem_free(sandbox->home);
    mem_free(sandbox->image_id);
    mem_free(sandbox->container_id);
    mem_free(sandbox->network);
    mem_free(sandbox->url);
    mem_free(sandbox->init_key);
    *sandbox = (struct warm_sandbox)WARM_SANDBOX_INIT;
}

void warm_list_done(struct warm_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        warm_sandbox_done(&list->items[i]);
    mem_free(list->items);
    *list = (struct warm_list){.items = NULL};
}

static struct warm_sandbox read_row(const PGresult *rows, int row)
{
    struct warm_sandbox sandbox = {.image = db_dup(rows, row, 1),
                                   .memory_bytes = db_number(rows, row, 2),
                                   .nano_cpus = db_number(rows, row, 3),
                                   .agent_build = db_dup(rows, row, 4),
                                   .home = db_dup(rows, row, 5),
                                   .image_id = db_dup(rows, row, 6),
                                   .container_id = db_dup(rows, row, 7),
                                   .network = db_dup(rows, row, 8),
                                   .url = db_dup(rows, row, 9),
                                   .init_key = db_dup(rows, row, 10),
                                   .is_ready = db_bool(rows, row, 11)};
    const char *id = db_text(rows, row, 0);

    memcpy(sandbox.id, id, strnlen(id, sizeof(sandbox.id) - 1));
    return sandbox;
}

int warm_store_add(struct db *db, const struct warm_sandbox *sandbox, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int memory = db_int(sandbox->memory_bytes);
    struct db_int cpus = db_int(sandbox->nano_cpus);

    if (db_query(db, SQL_ADD,
                 DB_PARAMS(sandbox->id, sandbox->image, memory.text, cpus.text,
                           sandbox->agent_build, sandbox->home),
                 &rows, err) < 0)
        return error_wrap(err, "storing a warm sandbox");
    return 0;
}

int warm_store_set_ready(struct db *db, const struct warm_sandbox *sandbox, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_SET_READY,
                 DB_PARAMS(sandbox->id, sandbox->image_id, sandbox->container_id, sandbox->network,
                           sandbox->url, sandbox->init_key),
                 &rows, err) < 0)
        return error_wrap(err, "storing a warm sandbox");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "the warm sandbox no longer exists");
    return 0;
}

int warm_store_list(struct db *db, struct warm_list *list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct warm_list list = {.items = NULL};

    if (db_read(db, SQL_LIST, DB_NO_PARAMS, &rows, err) < 0)
        return error_wrap(err, "listing warm sandboxes");
    list.n = (size_t)PQntuples(rows);
    list.items = mem_alloc_array(list.n, sizeof(*list.items));
    for (size_t i = 0; i < list.n; i++)
        list.items[i] = read_row(rows, (int)i);
    *list_out = list;
    return 0;
}

int warm_store_get(struct db *db, const char *id, struct warm_sandbox *sandbox_out,
                   struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_GET, DB_PARAMS(id), &rows, err) < 0)
        return error_wrap(err, "reading a warm sandbox");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no such warm sandbox");
    *sandbox_out = read_row(rows, 0);
    return 0;
}

int warm_store_remove(struct db *db, const char *id, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_REMOVE, DB_PARAMS(id), &rows, err) < 0)
        return error_wrap(err, "removing a warm sandbox");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no such warm sandbox");
    return 0;
}

static int claim_one(struct db_tx *tx, const struct warm_class *warm_class,
                     struct warm_sandbox *member_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int memory = db_int(warm_class->memory_bytes);
    struct db_int cpus = db_int(warm_class->nano_cpus);

    if (db_tx_query(tx, SQL_CLAIM,
                    DB_PARAMS(warm_class->image, memory.text, cpus.text, warm_class->agent_build),
                    &rows, err) < 0)
        return error_wrap(err, "claiming a warm sandbox");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no warm sandbox is ready");
    *member_out = read_row(rows, 0);
    return 0;
}

int warm_store_claim(struct db *db, const struct warm_class *warm_class,
                     const struct warm_taker *taker, struct runtime *runtime_out, struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(warm_sandbox_done) struct warm_sandbox member = WARM_SANDBOX_INIT;
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (db_tx_begin(db, &tx, err) < 0 || claim_one(&tx, warm_class, &member, err) < 0 ||
        taker->fill(taker->context, &member, &runtime, err) < 0 ||
        runtime_row_add(&tx, &runtime, taker->max_runtimes, err) < 0 || db_tx_commit(&tx, err) < 0)
        return -1;
    *runtime_out = runtime;
    runtime = (struct runtime)RUNTIME_INIT;
    return 0;
}
