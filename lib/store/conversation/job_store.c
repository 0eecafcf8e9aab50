#include "store/conversation/job_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_insert.h"
#include "store/db/db_hint.h"
#include "store/db/db_query.h"
#include "store/db/notify_wait.h"

static const char SQL_ADD[] = JOB_INSERT_QUERY;

static const char SQL_CLAIM[] =
    "UPDATE jobs j SET lease_owner = $1::uuid, attempts = attempts + 1,"
    "  lease_expires_at = now() + $2::bigint * interval '1 millisecond'"
    " WHERE j.id = (SELECT id FROM jobs WHERE done_at IS NULL AND due_at <= now()"
    "   AND (lease_expires_at IS NULL OR lease_expires_at <= now())"
    "  ORDER BY due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)"
    " RETURNING j.id, j.kind, j.conversation_id, j.payload::text, j.attempts";

static const char SQL_RENEW[] =
    "UPDATE jobs SET lease_expires_at = now() + $2::bigint * interval '1 millisecond'"
    " WHERE lease_owner = $1::uuid AND done_at IS NULL";

static const char SQL_CHECK[] =
    "SELECT 1 FROM jobs WHERE id = $1::bigint AND lease_owner = $2::uuid";

static const char SQL_DROP[] =
    "DELETE FROM jobs WHERE id = $1::bigint AND lease_owner = $2::uuid RETURNING 1";

static const char SQL_FINISH[] =
    "UPDATE jobs SET result = $3, done_at = now(), lease_owner = NULL, lease_expires_at = NULL"
    " WHERE id = $1::bigint AND lease_owner = $2::uuid RETURNING 1";

static const char SQL_PUT_BACK[] = "UPDATE jobs SET lease_owner = NULL, lease_expires_at = NULL,"
                                   " due_at = now() + $3::bigint * interval '1 millisecond'"
                                   " WHERE id = $1::bigint AND lease_owner = $2::uuid RETURNING 1";

static const char SQL_LOOK[] = "SELECT result FROM jobs WHERE key = $1::uuid";

/* Also removes results that were not collected in time. */
static const char SQL_TAKE[] =
    "DELETE FROM jobs WHERE key = $1::uuid OR done_at < now() - interval '10 minutes'";

void job_done(struct job *job)
{
    mem_free(job->kind);
    json_decref(job->payload);
    *job = (struct job){0};
}

int job_store_add(struct db *db, const struct uuid *conversation_id,
                  const struct job_request *request, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(mem_freep) char *payload = db_json_text(request->payload);
    int rc =
        db_query(db, SQL_ADD,
                 DB_PARAMS(request->kind, conversation_id->text, payload, db_uuid(&request->key)),
                 &rows, err);

    if (db_hint_is_due(rc, err))
        db_hint(db, 1U << HINT_WORK, conversation_id->text);
    return rc < 0 ? error_wrap(err, "adding a job for %s", conversation_id->text) : 0;
}

int job_store_claim(struct db *db, const struct uuid *owner, bool *claimed_out, struct job *job_out,
                    struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int lease_ms = db_int(LEASE_MS);
    json_t *payload = NULL;

    if (db_query(db, SQL_CLAIM, DB_PARAMS(owner->text, lease_ms.text), &rows, err) < 0)
        return error_wrap(err, "claiming a job");
    *claimed_out = false;
    if (PQntuples(rows) == 0)
        return 0;
    if (db_json(rows, 0, 3, &payload, err) < 0)
        return error_wrap(err, "claiming job %s", PQgetvalue(rows, 0, 0));
    *job_out = (struct job){
        .id = db_number(rows, 0, 0),
        .kind = db_dup(rows, 0, 1),
        .conversation_id = db_cell_uuid(rows, 0, 2),
        .payload = payload,
        .n_attempts = db_number(rows, 0, 4),
    };
    *claimed_out = true;
    return 0;
}

int job_store_renew(struct db *db, const struct uuid *owner, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int lease_ms = db_int(LEASE_MS);

    return db_query(db, SQL_RENEW, DB_PARAMS(owner->text, lease_ms.text), &rows, err);
}

int job_store_check(struct db *db, const struct job_hold *hold, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int id = db_int(hold->id);

    if (db_read(db, SQL_CHECK, DB_PARAMS(id.text, hold->owner.text), &rows, err) < 0)
        return -1;
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_STALE, "job %lld is lost", (long long)hold->id);
    return 0;
}

int job_store_finish(struct db *db, const struct uuid *owner, const struct job *job,
                     const json_t *result, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(mem_freep) char *text = db_json_text(result);
    struct db_int id = db_int(job->id);
    int rc = text == NULL
                 ? db_query(db, SQL_DROP, DB_PARAMS(id.text, owner->text), &rows, err)
                 : db_query(db, SQL_FINISH, DB_PARAMS(id.text, owner->text, text), &rows, err);

    /* job_store_wait() listens to events. */
    if (db_hint_is_due(rc, err) && (rc < 0 || PQntuples(rows) > 0))
        db_hint(db, 1U << HINT_EVENTS, job->conversation_id.text);
    return rc;
}

int job_store_put_back(struct db *db, const struct uuid *owner, const struct job *job,
                       int64_t delay_ms, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int id = db_int(job->id);
    struct db_int delay = db_int(delay_ms);
    int rc = db_query(db, SQL_PUT_BACK, DB_PARAMS(id.text, owner->text, delay.text), &rows, err);

    /* After a delay, the workers' periodic check finds it. */
    if (delay_ms == 0 && db_hint_is_due(rc, err) && (rc < 0 || PQntuples(rows) > 0))
        db_hint(db, 1U << HINT_WORK, job->conversation_id.text);
    return rc;
}

static int take_result(struct notify_wait *changes, const struct uuid *key, const PGresult *rows,
                       json_t **result_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *gone = NULL;

    if (db_tx_query(&changes->tx, SQL_TAKE, DB_PARAMS(key->text), &gone, err) < 0)
        return -1;
    return db_json(rows, 0, 0, result_out, err);
}

int job_store_wait(struct db *db, const struct uuid *key, int64_t deadline_ms, json_t **result_out,
                   struct error *err)
{
    CLEANUP(notify_wait_end) struct notify_wait changes = NOTIFY_WAIT_INIT;

    if (notify_wait_begin(db, &changes, err) < 0)
        return error_wrap(err, "waiting for a job");
    for (;;) {
        CLEANUP(db_rows_done) PGresult *rows = NULL;

        if (db_tx_query(&changes.tx, SQL_LOOK, DB_PARAMS(key->text), &rows, err) < 0)
            return -1;
        if (PQntuples(rows) == 0)
            return error_set(err, ERROR_NOT_FOUND, "the job is gone");
        if (!PQgetisnull(rows, 0, 0))
            return take_result(&changes, key, rows, result_out, err);
        if (notify_wait_sleep(&changes, deadline_ms, err) < 0)
            return -1;
    }
}
