#include "store/runtime/runtime_store.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/db_query.h"
#include "store/runtime/runtime_row.h"

#define COLUMNS RUNTIME_COLUMNS

static const char SQL_ADD[] =
    "INSERT INTO runtimes (id, session_id, owner_id, image, spec, session_key, session_key_hash,"
    " network, tenant_id, tenant_session, container_id, url, backend)"
    " VALUES ($1, $2, $3::uuid, $4, $5::jsonb, $6, $7, $8, $9::uuid, $10, $11, $12,"
    "  coalesce($13, 'docker'))";
/* Serializes a tenant's starts for counting. */
static const char SQL_LOCK_TENANT[] = "SELECT 1 FROM runtime_keys WHERE id = $1::uuid FOR UPDATE";
static const char SQL_COUNT_OTHERS[] =
    "SELECT count(*) FROM runtimes WHERE tenant_id = $1::uuid AND id <> $2"
    " AND desired = 'running' AND status <> 'error'";
static const char SQL_GET[] = "SELECT " COLUMNS " FROM runtimes WHERE id = $1";
static const char SQL_GET_SESSION[] = "SELECT " COLUMNS " FROM runtimes WHERE session_id = $1"
                                      " ORDER BY created_at DESC LIMIT 1";
static const char SQL_GET_SESSIONS[] =
    "SELECT DISTINCT ON (session_id) " COLUMNS
    " FROM runtimes WHERE session_id = ANY ($1::text[]) ORDER BY session_id, created_at DESC";
static const char SQL_FIND_KEY[] = "SELECT " COLUMNS " FROM runtimes WHERE session_key_hash = $1"
                                   " AND status <> 'stopped' AND desired <> 'deleted'";
static const char SQL_LIST[] =
    "SELECT " COLUMNS " FROM runtimes WHERE status <> 'stopped' ORDER BY created_at";
static const char SQL_LIST_TENANT[] = "SELECT " COLUMNS " FROM runtimes WHERE tenant_id = $1::uuid"
                                      " AND status <> 'stopped' ORDER BY created_at";
static const char SQL_LIST_UNSETTLED[] =
    "SELECT " COLUMNS " FROM runtimes WHERE desired <> status"
    " AND NOT (status = 'error' AND desired IN ('running', 'paused', 'stopped'))"
    " ORDER BY updated_at";
static const char SQL_LIST_ALL[] = "SELECT " COLUMNS " FROM runtimes ORDER BY created_at";
/*
 * A runtime to be deleted cannot be requested in another state any more, and the servers of its
 * key's sockets are notified. A runtime paused by its tenant is held.
 */
static const char SQL_WANT[] =
    "UPDATE runtimes SET desired = $2, updated_at = now(),"
    " is_held = $2 = 'paused' AND tenant_id IS NOT NULL,"
    " last_used_at = CASE WHEN $2 = 'running' THEN now() ELSE last_used_at END"
    " WHERE id = $1 AND (desired <> 'deleted' OR $2 = 'deleted')"
    " RETURNING CASE WHEN $2 = 'deleted' THEN pg_notify('deft_callers', id)::text END";
#define UPDATE                                                                                     \
    "UPDATE runtimes SET status = $3, status_detail = $4, container_id = $5, network = $6,"        \
    " url = $7, restart_count = $8::int, backend = coalesce($9, backend),"                         \
    " proves = $10::boolean, updated_at = now(),"                                                  \
    " last_used_at = CASE"                                                                         \
    " WHEN status = 'starting' AND $3 = 'running' THEN now() ELSE last_used_at END, since = CASE"  \
    " WHEN (status IN ('starting', 'running')) = ($3 IN ('starting', 'running')) THEN since"       \
    " ELSE now() END"
#define IS_AS_BEFORE " WHERE id = $1 AND status = $2"
#define DONE " RETURNING 1"
static const char SQL_UPDATE[] = UPDATE IS_AS_BEFORE DONE;
/* Visible at once, on disk a moment later. */
static const char SQL_UPDATE_SOON[] =
    UPDATE " FROM (SELECT set_config('synchronous_commit', 'off', true) AS word) soon" IS_AS_BEFORE
           " AND soon.word = 'off'" DONE;
static const char SQL_REMOVE[] = "DELETE FROM runtimes WHERE id = $1";
static const char SQL_USE[] = "UPDATE runtimes SET last_used_at = now() WHERE id = $1"
                              " AND status = 'running' AND desired = 'running' RETURNING 1";
static const char SQL_SET_HOME[] =
    "UPDATE runtimes SET spec = jsonb_set(spec, '{home}', to_jsonb($2::text))"
    " WHERE id = $1 AND coalesce(spec->>'home', '') = '' RETURNING 1";
static const char SQL_TOUCH[] = "UPDATE runtimes SET last_used_at = now() WHERE id = $1";

static const char SQL_IS_UNUSED[] =
    "SELECT 1 FROM runtimes WHERE id = $1"
    " AND last_used_at < now() - $2::bigint * interval '1 millisecond'"
    " AND NOT EXISTS (SELECT 1 FROM conversations WHERE runtime_session = runtimes.session_id"
    " AND (wanted_at IS NOT NULL OR lease_expires_at > now()))";

static const char *const status_names[RUNTIME_N_STATUSES] = {
#define X(constant, text) [constant] = (text),
    RUNTIME_STATUSES(X)
#undef X
};

static const char *const desire_names[DESIRED_N] = {
#define X(constant, text) [constant] = (text),
    RUNTIME_DESIRES(X)
#undef X
};

const char *runtime_status_to_string(enum runtime_status status)
{
    return status_names[status];
}

const char *runtime_desire_to_string(enum runtime_desire desire)
{
    return desire_names[desire];
}

void runtime_done(struct runtime *runtime)
{
    if (runtime == NULL)
        return;
    mem_free(runtime->session_id);
    mem_free(runtime->tenant_session);
    mem_free(runtime->status_detail);
    mem_free(runtime->image);
    mem_free(runtime->container_id);
    mem_free(runtime->network);
    mem_free(runtime->url);
    mem_free(runtime->session_key);
    json_decref(runtime->spec);
    *runtime = (struct runtime)RUNTIME_INIT;
}

void runtime_list_done(struct runtime_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        runtime_done(&list->items[i]);
    mem_free(list->items);
    *list = (struct runtime_list){0};
}

/* The word's index in the table; the column's CHECK has the same words. */
static size_t find_word(const char *const *words, size_t n, const char *word)
{
    size_t i = 0;

    while (i + 1 < n && !text_equal(words[i], word))
        i++;
    return i;
}

static void copy_bounded(char *to, size_t size, const char *from)
{
    memcpy(to, from, strnlen(from, size - 1));
}

static int read_row(const PGresult *rows, int row, struct runtime *runtime, struct error *err)
{
    *runtime = (struct runtime)RUNTIME_INIT;
    copy_bounded(runtime->id, sizeof(runtime->id), PQgetvalue(rows, row, 0));
    runtime->session_id = db_dup(rows, row, 1);
    runtime->owner_id = db_cell_uuid(rows, row, 2);
    runtime->desired =
        (enum runtime_desire)find_word(desire_names, DESIRED_N, PQgetvalue(rows, row, 3));
    runtime->status =
        (enum runtime_status)find_word(status_names, RUNTIME_N_STATUSES, PQgetvalue(rows, row, 4));
    runtime->status_detail = db_dup(rows, row, 5);
    runtime->image = db_dup(rows, row, 6);
    runtime->container_id = db_dup(rows, row, 8);
    runtime->network = db_dup(rows, row, 9);
    runtime->url = db_dup(rows, row, 10);
    runtime->session_key = db_dup(rows, row, 11);
    copy_bounded(runtime->session_key_hash, sizeof(runtime->session_key_hash),
                 PQgetvalue(rows, row, 12));
    runtime->restart_count = db_number(rows, row, 13);
    runtime->created_at_us = db_number(rows, row, 14);
    runtime->tenant_id = db_cell_uuid(rows, row, 15);
    runtime->tenant_session = db_dup(rows, row, 16);
    runtime->since_us = db_number(rows, row, 17);
    runtime->is_held = db_bool(rows, row, 18);
    runtime->proves = db_bool(rows, row, 19);
    return db_json(rows, row, 7, &runtime->spec, err);
}

static int insert(struct db_tx *tx, const struct runtime *runtime, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(mem_freep) char *spec = json_to_text(runtime->spec);

    return db_tx_query(tx, SQL_ADD,
                       DB_PARAMS(runtime->id, runtime->session_id, db_uuid(&runtime->owner_id),
                                 runtime->image, spec, runtime->session_key,
                                 runtime->session_key_hash, runtime->network,
                                 db_uuid(&runtime->tenant_id), runtime->tenant_session,
                                 runtime->container_id, runtime->url, runtime->backend),
                       &rows, err);
}

/*
 * The lock makes the count and the following change atomic; the count is a separate statement so
 * that it sees what was committed while waiting for the lock.
 */
static int admit(struct db_tx *tx, const struct runtime *runtime, int64_t max_runtimes,
                 struct error *err)
{
    CLEANUP(db_rows_done) PGresult *tenants = NULL;
    CLEANUP(db_rows_done) PGresult *others = NULL;

    if (db_tx_query(tx, SQL_LOCK_TENANT, DB_PARAMS(runtime->tenant_id.text), &tenants, err) < 0 ||
        db_tx_query(tx, SQL_COUNT_OTHERS, DB_PARAMS(runtime->tenant_id.text, runtime->id), &others,
                    err) < 0)
        return error_wrap(err, "counting runtimes");
    if (db_number(others, 0, 0) >= max_runtimes)
        return error_set(err, ERROR_RATE_LIMITED,
                         "this key already has %lld sandboxes running, which is its limit",
                         (long long)max_runtimes);
    return 0;
}

int runtime_row_add(struct db_tx *tx, const struct runtime *runtime, int64_t max_runtimes,
                    struct error *err)
{
    if (max_runtimes > 0 && admit(tx, runtime, max_runtimes, err) < 0)
        return -1;
    return insert(tx, runtime, err);
}

int runtime_store_add(struct db *db, const struct runtime *runtime, int64_t max_runtimes,
                      struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;

    if (db_tx_begin(db, &tx, err) < 0 || runtime_row_add(&tx, runtime, max_runtimes, err) < 0)
        return -1;
    return db_tx_commit(&tx, err);
}

static int read_only_row(const PGresult *rows, enum error_code missing, const char *what,
                         struct runtime *runtime_out, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (PQntuples(rows) == 0)
        return error_set(err, missing, "%s", what);
    if (read_row(rows, 0, &runtime, err) < 0)
        return -1;
    *runtime_out = runtime;
    runtime = (struct runtime)RUNTIME_INIT;
    return 0;
}

int runtime_store_get(struct db *db, const char *id, struct runtime *runtime_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_GET, DB_PARAMS(id), &rows, err) < 0)
        return error_wrap(err, "reading runtime %.16s", id);
    return read_only_row(rows, ERROR_NOT_FOUND, "no such runtime", runtime_out, err);
}

int runtime_store_get_session(struct db *db, const char *session_id, struct runtime *runtime_out,
                              struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_GET_SESSION, DB_PARAMS(session_id), &rows, err) < 0)
        return error_wrap(err, "reading the runtime of %.80s", session_id);
    return read_only_row(rows, ERROR_NOT_FOUND, "no runtime has that session", runtime_out, err);
}

int runtime_store_find_key(struct db *db, const char *session_key_hash, struct runtime *runtime_out,
                           struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_FIND_KEY, DB_PARAMS(session_key_hash), &rows, err) < 0)
        return error_wrap(err, "finding a sandbox key");
    return read_only_row(rows, ERROR_UNAUTHENTICATED, "Unauthorized", runtime_out, err);
}

int runtime_row_list(const PGresult *rows, struct runtime_list *list_out, struct error *err)
{
    CLEANUP(runtime_list_done) struct runtime_list list = {0};
    int n = PQntuples(rows);

    list.items = mem_alloc_array((size_t)n, sizeof(*list.items));
    for (int row = 0; row < n; row++) {
        list.n = (size_t)row + 1;
        if (read_row(rows, row, &list.items[row], err) < 0)
            return -1;
    }
    *list_out = list;
    list = (struct runtime_list){0};
    return 0;
}

int runtime_store_get_sessions(struct db *db, const char *const *session_ids, size_t n,
                               struct runtime_list *list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf array = STRBUF_INIT;

    db_array_begin(&array);
    for (size_t i = 0; i < n; i++)
        db_array_add(&array, session_ids[i]);
    db_array_end(&array);
    if (db_read(db, SQL_GET_SESSIONS, DB_PARAMS(array.text), &rows, err) < 0)
        return error_wrap(err, "reading the runtimes of %zu sessions", n);
    return runtime_row_list(rows, list_out, err);
}

int runtime_store_list(struct db *db, struct runtime_list *list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LIST, DB_NO_PARAMS, &rows, err) < 0)
        return error_wrap(err, "listing runtimes");
    return runtime_row_list(rows, list_out, err);
}

int runtime_store_list_tenant(struct db *db, const struct uuid *tenant_id,
                              struct runtime_list *list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LIST_TENANT, DB_PARAMS(tenant_id->text), &rows, err) < 0)
        return error_wrap(err, "listing a tenant's runtimes");
    return runtime_row_list(rows, list_out, err);
}

int runtime_store_list_unsettled(struct db *db, struct runtime_list *list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LIST_UNSETTLED, DB_NO_PARAMS, &rows, err) < 0)
        return error_wrap(err, "listing runtimes");
    return runtime_row_list(rows, list_out, err);
}

int runtime_store_list_all(struct db *db, struct runtime_list *list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LIST_ALL, DB_NO_PARAMS, &rows, err) < 0)
        return error_wrap(err, "listing runtimes");
    return runtime_row_list(rows, list_out, err);
}

int runtime_store_want(struct db *db, const char *id, enum runtime_desire desired,
                       struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_WANT, DB_PARAMS(id, runtime_desire_to_string(desired)), &rows, err) < 0)
        return error_wrap(err, "runtime %.16s", id);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no such runtime");
    return 0;
}

int runtime_store_want_within(struct db *db, const struct runtime *runtime, int64_t max_runtimes,
                              struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_tx_begin(db, &tx, err) < 0 || admit(&tx, runtime, max_runtimes, err) < 0 ||
        db_tx_query(&tx, SQL_WANT,
                    DB_PARAMS(runtime->id, runtime_desire_to_string(DESIRED_RUNNING)), &rows,
                    err) < 0)
        return -1;
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no such runtime");
    return db_tx_commit(&tx, err);
}

/*
 * Between these states a database crash loses nothing: the desired state is on disk, and the engine
 * shows the rest. It saves the caller the wait for one disk write.
 */
static bool is_rest(enum runtime_status from, enum runtime_status to)
{
    return (from == RUNTIME_RUNNING && to == RUNTIME_PAUSED) ||
           (from == RUNTIME_PAUSED && to == RUNTIME_RUNNING);
}

int runtime_store_update(struct db *db, const struct runtime *runtime, enum runtime_status from,
                         struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int restarts = db_int(runtime->restart_count);

    if (db_query(db, is_rest(from, runtime->status) ? SQL_UPDATE_SOON : SQL_UPDATE,
                 DB_PARAMS(runtime->id, runtime_status_to_string(from),
                           runtime_status_to_string(runtime->status), runtime->status_detail,
                           runtime->container_id, runtime->network, runtime->url, restarts.text,
                           runtime->backend, runtime->proves ? "t" : "f"),
                 &rows, err) < 0)
        return error_wrap(err, "runtime %.16s", runtime->id);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_CONFLICT, "runtime %.16s is no longer %s", runtime->id,
                         runtime_status_to_string(from));
    return 0;
}

int runtime_store_remove(struct db *db, const char *id, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    return db_query(db, SQL_REMOVE, DB_PARAMS(id), &rows, err);
}

int runtime_store_is_unused(struct db *db, const char *id, int64_t idle_ms, bool *is_unused_out,
                            struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int idle = db_int(idle_ms);

    if (db_query(db, SQL_IS_UNUSED, DB_PARAMS(id, idle.text), &rows, err) < 0)
        return -1;
    *is_unused_out = PQntuples(rows) > 0;
    return 0;
}

int runtime_store_use(struct db *db, const char *id, bool *is_awake_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_USE, DB_PARAMS(id), &rows, err) < 0)
        return error_wrap(err, "recording the use of runtime %.16s", id);
    *is_awake_out = PQntuples(rows) > 0;
    return 0;
}

int runtime_store_set_home(struct db *db, const char *id, const char *home, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_SET_HOME, DB_PARAMS(id, home), &rows, err) < 0)
        return error_wrap(err, "storing a runtime's workspace");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_CONFLICT,
                         "the runtime already has a workspace, or was deleted");
    return 0;
}

int runtime_store_touch(struct db *db, const char *id, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    return db_query(db, SQL_TOUCH, DB_PARAMS(id), &rows, err);
}
