#include "store/runtime/idle_store.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/db/db_query.h"

#define AGO(parameter) "now() - " parameter "::bigint * interval '1 millisecond'"
/* A run that is requested or in progress, or ended lately: its end counts as use. */
#define HAS_RUN(parameter)                                                                         \
    "EXISTS (SELECT 1 FROM conversations c WHERE c.runtime_session = r.session_id"                 \
    " AND (c.wanted_at IS NOT NULL OR c.lease_expires_at > now()"                                  \
    " OR c.updated_at > " AGO(parameter) "))"
#define IS_UNUSED(parameter)                                                                       \
    "r.status = 'running' AND r.desired = 'running' AND r.last_used_at < " AGO(                    \
        parameter) " AND NOT " HAS_RUN(parameter)
#define IS_AT_REST "r.status IN ('paused', 'stopped', 'error')"
/* A failed sandbox is not wanted until it is started again. */
#define IS_LEFT "(r.desired IN ('paused', 'stopped') OR r.status = 'error')"

static const char SQL_FIND[] =
    "SELECT id, container_id, kind FROM ("
    " SELECT r.id, r.container_id, 'idle' AS kind, r.last_used_at AS at FROM runtimes r"
    "  WHERE $1::bigint > 0 AND " IS_UNUSED(
        "$1") " UNION ALL SELECT r.id, r.container_id, 'long_up', r.since FROM runtimes r"
              "  WHERE $2::bigint > 0 AND r.since < " AGO("$2") " AND " IS_UNUSED(
                  "$5") " UNION ALL SELECT r.id, r.container_id, 'held', r.since FROM runtimes r"
                        "  WHERE $3::bigint > 0 AND r.status = 'paused' AND r.desired = 'paused'"
                        "  AND r.container_id IS NOT NULL AND r.since < " AGO(
                            "$3") " UNION ALL SELECT r.id, r.container_id, 'dead', r.since FROM "
                                  "runtimes r"
                                  "  WHERE $4::bigint > 0 AND " IS_AT_REST " AND " IS_LEFT
                                  " AND r.since < " AGO("$4") ") found ORDER BY at LIMIT 100";
static const char SQL_PAUSE[] =
    "UPDATE runtimes r SET desired = 'paused', updated_at = now() WHERE r.id = $1"
    " AND " IS_UNUSED("$2") " RETURNING 1";
static const char SQL_DELETE[] =
    "UPDATE runtimes r SET desired = 'deleted', updated_at = now() WHERE r.id = $1 AND " IS_AT_REST
    " AND " IS_LEFT " AND r.since < " AGO("$2") " AND NOT " HAS_RUN(
        "0") " RETURNING pg_notify('deft_callers', r.id)";

static const char *const kind_names[IDLE_N_KINDS] = {
#define X(constant, text) [constant] = (text),
    IDLE_KINDS(X)
#undef X
};

const char *idle_kind_to_string(enum idle_kind kind)
{
    return kind_names[kind];
}

void idle_list_done(struct idle_list *list)
{
    mem_free(list->items);
    *list = (struct idle_list){.items = NULL};
}

static struct idle_item read_item(const PGresult *rows, int row)
{
    struct idle_item item = {.kind = IDLE_UNUSED};
    const char *id = PQgetvalue(rows, row, 0);
    const char *container = PQgetvalue(rows, row, 1);

    memcpy(item.id, id, strnlen(id, sizeof(item.id) - 1));
    memcpy(item.container_id, container, strnlen(container, sizeof(item.container_id) - 1));
    return item;
}

static enum idle_kind kind_of(const char *name)
{
    size_t i = 0;

    while (i + 1 < IDLE_N_KINDS && !text_equal(kind_names[i], name))
        i++;
    return (enum idle_kind)i;
}

int idle_store_find(struct db *db, const struct idle_limits *limits, struct idle_list *list_out,
                    struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int idle = db_int(limits->idle_ms);
    struct db_int up = db_int(limits->up_ms);
    struct db_int held = db_int(limits->held_ms);
    struct db_int dead = db_int(limits->dead_ms);
    struct db_int unused = db_int(limits->unused_ms);
    int n = 0;

    if (db_read(db, SQL_FIND, DB_PARAMS(idle.text, up.text, held.text, dead.text, unused.text),
                &rows, err) < 0)
        return error_wrap(err, "finding idle sandboxes");
    n = PQntuples(rows);
    list_out->items = mem_alloc_array((size_t)n, sizeof(*list_out->items));
    list_out->n = (size_t)n;
    for (int row = 0; row < n; row++) {
        list_out->items[row] = read_item(rows, row);
        list_out->items[row].kind = kind_of(PQgetvalue(rows, row, 2));
    }
    return 0;
}

static int decide(struct db *db, const char *sql, const char *id, int64_t limit_ms,
                  bool *is_decided_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int limit = db_int(limit_ms);

    if (db_query(db, sql, DB_PARAMS(id, limit.text), &rows, err) < 0)
        return error_wrap(err, "runtime %.16s", id);
    *is_decided_out = PQntuples(rows) > 0;
    return 0;
}

int idle_store_pause(struct db *db, const char *id, int64_t unused_ms, bool *is_decided_out,
                     struct error *err)
{
    return decide(db, SQL_PAUSE, id, unused_ms, is_decided_out, err);
}

int idle_store_delete(struct db *db, const char *id, int64_t dead_ms, bool *is_decided_out,
                      struct error *err)
{
    return decide(db, SQL_DELETE, id, dead_ms, is_decided_out, err);
}
