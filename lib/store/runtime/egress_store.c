#include "store/runtime/egress_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/db/db_query.h"

#define CHOICE                                                                                     \
    "coalesce(k.egress, u.egress),"                                                                \
    " CASE WHEN k.egress IS NULL THEN u.egress_allow ELSE k.egress_allow END"

static const char SQL_FIND[] = "SELECT " CHOICE " FROM (VALUES ($1::uuid, $2::uuid)) r (key, owner)"
                               " LEFT JOIN runtime_keys k ON k.id = r.key"
                               " LEFT JOIN users u ON u.id = r.owner";
static const char SQL_LIST[] = "SELECT r.network, " CHOICE " FROM runtimes r"
                               " LEFT JOIN runtime_keys k ON k.id = r.tenant_id"
                               " LEFT JOIN users u ON u.id = r.owner_id"
                               " WHERE r.network IS NOT NULL";

void egress_choice_done(struct egress_choice *choice)
{
    if (choice == NULL)
        return;
    mem_free(choice->mode);
    mem_free(choice->list);
    *choice = (struct egress_choice)EGRESS_CHOICE_INIT;
}

void egress_network_list_done(struct egress_network_list *networks)
{
    for (size_t i = 0; i < networks->n; i++) {
        mem_free(networks->items[i].network);
        egress_choice_done(&networks->items[i].choice);
    }
    mem_free(networks->items);
    *networks = (struct egress_network_list)EGRESS_NETWORK_LIST_INIT;
}

static struct egress_choice read_choice(const PGresult *rows, int row, int column)
{
    const char *list = db_text(rows, row, column + 1);

    return (struct egress_choice){.mode = db_dup(rows, row, column),
                                  .list = mem_dup_text(list != NULL ? list : "")};
}

int egress_store_find(struct db *db, const struct uuid *tenant_id, const struct uuid *user_id,
                      struct egress_choice *choice_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_FIND, DB_PARAMS(db_uuid(tenant_id), db_uuid(user_id)), &rows, err) < 0)
        return error_wrap(err, "reading a sandbox's egress policy");
    *choice_out = read_choice(rows, 0, 0);
    return 0;
}

int egress_store_list(struct db *db, struct egress_network_list *networks_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct egress_network_list networks = EGRESS_NETWORK_LIST_INIT;

    if (db_read(db, SQL_LIST, DB_NO_PARAMS, &rows, err) < 0)
        return error_wrap(err, "reading the egress policies");
    networks.n = (size_t)PQntuples(rows);
    networks.items = mem_alloc_array(networks.n, sizeof(networks.items[0]));
    for (size_t i = 0; i < networks.n; i++)
        networks.items[i] = (struct egress_network){.network = db_dup(rows, (int)i, 0),
                                                    .choice = read_choice(rows, (int)i, 1)};
    *networks_out = networks;
    return 0;
}
