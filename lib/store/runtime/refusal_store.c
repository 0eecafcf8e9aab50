#include "store/runtime/refusal_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "store/db/db_query.h"

/* In key order, so that two writers cannot deadlock. */
static const char SQL_ADD[] =
    "INSERT INTO egress_refusals"
    " (runtime_id, reason, protocol, host, port, count, first_at, last_at)"
    " SELECT r.id, x.reason, x.protocol, x.host, x.port, x.count,"
    "  'epoch'::timestamptz + x.first_us * interval '1 microsecond',"
    "  'epoch'::timestamptz + x.last_us * interval '1 microsecond'"
    " FROM json_to_recordset($1::json) AS x(network text, reason text, protocol text, host text,"
    "  port integer, count bigint, first_us bigint, last_us bigint)"
    " JOIN runtimes r ON r.network = x.network"
    " ORDER BY r.id, x.reason, x.protocol, x.host, x.port"
    " ON CONFLICT (runtime_id, reason, protocol, host, port) DO UPDATE"
    " SET count = egress_refusals.count + excluded.count,"
    "  first_at = least(egress_refusals.first_at, excluded.first_at),"
    "  last_at = greatest(egress_refusals.last_at, excluded.last_at)";
static const char SQL_TRIM[] =
    "DELETE FROM egress_refusals e USING"
    " (SELECT runtime_id, reason, protocol, host, port,"
    "   row_number() OVER (PARTITION BY runtime_id ORDER BY last_at DESC, host, port) AS place"
    "  FROM egress_refusals WHERE runtime_id IN (SELECT r.id FROM runtimes r"
    "   JOIN json_to_recordset($1::json) AS x(network text) ON r.network = x.network)) o"
    " WHERE o.place > $2::bigint AND e.runtime_id = o.runtime_id AND e.reason = o.reason"
    "  AND e.protocol = o.protocol AND e.host = o.host AND e.port = o.port";
static const char SQL_LIST[] =
    "SELECT coalesce(json_agg(json_build_object('host', host, 'port', nullif(port, 0),"
    " 'protocol', protocol, 'reason', reason, 'count', count,"
    " 'first_at', to_char(first_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),"
    " 'last_at', to_char(last_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'))"
    " ORDER BY last_at DESC, host, port), '[]')"
    " FROM egress_refusals WHERE runtime_id = $1";

static json_t *refusals_to_json(const struct refusal *refusals, size_t n, struct error *err)
{
    json_auto_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        const struct refusal *refusal = &refusals[i];
        json_t *item = json_build(
            err, "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "network", refusal->network, "host",
            refusal->host, "protocol", refusal->protocol, "reason", refusal->reason, "port",
            (json_int_t)refusal->port, "count", (json_int_t)refusal->count, "first_us",
            (json_int_t)refusal->first_us, "last_us", (json_int_t)refusal->last_us);

        if (item == NULL)
            return NULL;
        json_push(list, item);
    }
    return json_incref(list);
}

int refusal_store_add(struct db *db, const struct refusal *refusals, size_t n, struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(db_rows_done) PGresult *added = NULL;
    CLEANUP(db_rows_done) PGresult *trimmed = NULL;
    json_auto_t *list = refusals_to_json(refusals, n, err);
    CLEANUP(mem_freep) char *text = db_json_text(list);
    struct db_int most = db_int(REFUSALS_MAX);

    if (list == NULL)
        return -1;
    if (db_tx_begin(db, &tx, err) < 0 ||
        db_tx_query(&tx, SQL_ADD, DB_PARAMS(text), &added, err) < 0 ||
        db_tx_query(&tx, SQL_TRIM, DB_PARAMS(text, most.text), &trimmed, err) < 0 ||
        db_tx_commit(&tx, err) < 0)
        return error_wrap(err, "storing refused connections");
    return 0;
}

int refusal_store_list(struct db *db, const char *runtime_id, json_t **list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LIST, DB_PARAMS(runtime_id), &rows, err) < 0)
        return error_wrap(err, "reading refused connections");
    return db_json(rows, 0, 0, list_out, err);
}
