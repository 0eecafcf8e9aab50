#include "store/runtime/warm_config_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/db/db_query.h"

static const char SQL_LIST[] =
    "SELECT name, image, memory_bytes, nano_cpus, count, config FROM warm_configs ORDER BY name";
static const char SQL_PUT[] =
    "INSERT INTO warm_configs (name, image, memory_bytes, nano_cpus, count, config)"
    " SELECT $1, $2, $3::bigint, $4::bigint, $5::integer, $6::jsonb"
    "  WHERE (SELECT count(*) FROM warm_configs WHERE name <> $1) < $7::bigint"
    " ON CONFLICT (name) DO UPDATE SET image = excluded.image,"
    "  memory_bytes = excluded.memory_bytes, nano_cpus = excluded.nano_cpus,"
    "  count = excluded.count, config = excluded.config, updated_at = now() RETURNING 1";
static const char SQL_REMOVE[] = "DELETE FROM warm_configs WHERE name = $1 RETURNING 1";

void warm_config_done(struct warm_config *config)
{
    if (config == NULL)
        return;
    mem_free(config->name);
    mem_free(config->image);
    json_decref(config->config);
    *config = (struct warm_config)WARM_CONFIG_INIT;
}

void warm_config_list_done(struct warm_config_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        warm_config_done(&list->items[i]);
    mem_free(list->items);
    *list = (struct warm_config_list){.items = NULL};
}

static int read_row(const PGresult *rows, int row, struct warm_config *config, struct error *err)
{
    config->name = db_dup(rows, row, 0);
    config->image = db_dup(rows, row, 1);
    config->memory_bytes = db_number(rows, row, 2);
    config->nano_cpus = db_number(rows, row, 3);
    config->count = db_number(rows, row, 4);
    return db_json(rows, row, 5, &config->config, err);
}

int warm_config_store_list(struct db *db, struct warm_config_list *list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(warm_config_list_done) struct warm_config_list list = {.items = NULL};

    if (db_read(db, SQL_LIST, DB_NO_PARAMS, &rows, err) < 0)
        return error_wrap(err, "listing warm pool configurations");
    list.items = mem_alloc_array((size_t)PQntuples(rows), sizeof(*list.items));
    for (int i = 0; i < PQntuples(rows); i++) {
        list.items[list.n] = (struct warm_config)WARM_CONFIG_INIT;
        if (read_row(rows, i, &list.items[list.n++], err) < 0)
            return -1;
    }
    *list_out = list;
    list = (struct warm_config_list){.items = NULL};
    return 0;
}

int warm_config_store_put(struct db *db, const struct warm_config *config, int64_t most,
                          struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(mem_freep) char *text = db_json_text(config->config);
    struct db_int memory = db_int(config->memory_bytes);
    struct db_int cpus = db_int(config->nano_cpus);
    struct db_int count = db_int(config->count);
    struct db_int most_text = db_int(most);

    if (db_query(db, SQL_PUT,
                 DB_PARAMS(config->name, config->image, memory.text, cpus.text, count.text, text,
                           most_text.text),
                 &rows, err) < 0)
        return error_wrap(err, "storing a warm pool configuration");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_RATE_LIMITED, "there can be at most %lld configurations",
                         (long long)most);
    return 0;
}

int warm_config_store_remove(struct db *db, const char *name, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_REMOVE, DB_PARAMS(name), &rows, err) < 0)
        return error_wrap(err, "removing a warm pool configuration");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no such configuration");
    return 0;
}
