#include "store/runtime/runtime_count_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/db/db_query.h"

static const char SQL_COUNT[] =
    "SELECT coalesce(k.name, ''), r.status, count(*) FROM runtimes r"
    " LEFT JOIN runtime_keys k ON k.id = r.tenant_id WHERE r.desired <> 'deleted'"
    " GROUP BY 1, 2 ORDER BY 1, 2";

void tenant_count_list_done(struct tenant_count_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        mem_free(list->items[i].tenant);
        mem_free(list->items[i].status);
    }
    mem_free(list->items);
    *list = (struct tenant_count_list){.items = NULL};
}

int runtime_count_store_list(struct db *db, struct tenant_count_list *list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    int n = 0;

    if (db_read(db, SQL_COUNT, DB_NO_PARAMS, &rows, err) < 0)
        return error_wrap(err, "counting sandboxes");
    n = PQntuples(rows);
    list_out->items = mem_alloc_array((size_t)n, sizeof(*list_out->items));
    list_out->n = (size_t)n;
    for (int row = 0; row < n; row++)
        list_out->items[row] = (struct tenant_count){db_dup(rows, row, 0), db_dup(rows, row, 1),
                                                     db_number(rows, row, 2)};
    return 0;
}
