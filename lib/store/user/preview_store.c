#include "store/user/preview_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/db_query.h"

enum { COOKIE_VALID_S = 12 * 3600 };

static const char SQL_ADD_PASS[] =
    "WITH old AS (DELETE FROM preview_passes WHERE expires_at < now())"
    " INSERT INTO preview_passes (token_hash, state_hash, session_id, runtime_id, port, expires_at)"
    " SELECT $1, $2, s.id, r.id, $5::int, now() + $6::bigint * interval '1 second'"
    " FROM sessions s JOIN runtimes r ON r.owner_id = s.user_id"
    " WHERE s.token_hash = $3 AND s.expires_at > now() AND r.id = $4 AND r.desired <> 'deleted'"
    " RETURNING 1";
static const char SQL_USE_PASS[] =
    "WITH old AS (DELETE FROM preview_sessions WHERE expires_at < now()),"
    " used AS (DELETE FROM preview_passes WHERE token_hash = $1"
    "  RETURNING state_hash, session_id, runtime_id, port, expires_at)"
    " INSERT INTO preview_sessions (token_hash, session_id, runtime_id, port, expires_at)"
    " SELECT $2, session_id, runtime_id, port, now() + $6::bigint * interval '1 second' FROM used"
    " WHERE state_hash = ANY ($3::text[]) AND runtime_id = $4 AND port = $5::int"
    "  AND expires_at > now() RETURNING 1";
/* A preview counts as use of the sandbox; one record in ten seconds is enough. */
static const char SQL_FIND[] =
    "WITH seen AS (SELECT r.id, r.status, r.desired, r.url, r.last_used_at"
    "  FROM preview_sessions p JOIN sessions s ON s.id = p.session_id AND s.expires_at > now()"
    "  JOIN runtimes r ON r.id = p.runtime_id AND r.owner_id = s.user_id"
    "  WHERE p.token_hash = ANY ($1::text[]) AND p.runtime_id = $2 AND p.port = $3::int"
    "   AND p.expires_at > now() LIMIT 1),"
    " used AS (UPDATE runtimes r SET last_used_at = now() FROM seen WHERE r.id = seen.id"
    "  AND seen.last_used_at < now() - interval '10 seconds')"
    " SELECT status, desired, url FROM seen";

void preview_sandbox_done(struct preview_sandbox *sandbox)
{
    if (sandbox == NULL)
        return;
    mem_free(sandbox->url);
    sandbox->url = NULL;
}

int preview_store_add_pass(struct db *db, const struct preview_key *key,
                           const struct preview_grant *grant, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int port = db_int(key->port);
    struct db_int seconds = db_int(grant->valid_s);

    if (db_query(db, SQL_ADD_PASS,
                 DB_PARAMS(grant->pass_hash, grant->state_hash, grant->session_hash,
                           key->runtime_id, port.text, seconds.text),
                 &rows, err) < 0)
        return error_wrap(err, "storing a preview pass");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no such sandbox");
    return 0;
}

static void append_hashes(struct strbuf *array, const struct preview_hashes *hashes)
{
    db_array_begin(array);
    for (size_t i = 0; i < hashes->n; i++)
        db_array_add(array, hashes->items[i]);
    db_array_end(array);
}

int preview_store_use_pass(struct db *db, const struct preview_key *key, const char *pass_hash,
                           const struct preview_hashes *states, const char *cookie_hash,
                           struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf array = STRBUF_INIT;
    struct db_int port = db_int(key->port);
    struct db_int seconds = db_int(COOKIE_VALID_S);

    append_hashes(&array, states);
    if (db_query(
            db, SQL_USE_PASS,
            DB_PARAMS(pass_hash, cookie_hash, array.text, key->runtime_id, port.text, seconds.text),
            &rows, err) < 0)
        return error_wrap(err, "using a preview pass");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_UNAUTHENTICATED, "no such preview pass");
    return 0;
}

static enum runtime_status status_of(const char *text)
{
    for (int i = 0; i < RUNTIME_N_STATUSES; i++) {
        if (text_equal(text, runtime_status_to_string((enum runtime_status)i)))
            return (enum runtime_status)i;
    }
    return RUNTIME_ERROR;
}

static enum runtime_desire desire_of(const char *text)
{
    for (int i = 0; i < DESIRED_N; i++) {
        if (text_equal(text, runtime_desire_to_string((enum runtime_desire)i)))
            return (enum runtime_desire)i;
    }
    return DESIRED_STOPPED;
}

int preview_store_find(struct db *db, const struct preview_key *key,
                       const struct preview_hashes *cookies, struct preview_sandbox *sandbox_out,
                       struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf array = STRBUF_INIT;
    struct db_int port = db_int(key->port);

    append_hashes(&array, cookies);
    if (db_query(db, SQL_FIND, DB_PARAMS(array.text, key->runtime_id, port.text), &rows, err) < 0)
        return error_wrap(err, "finding a preview");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_UNAUTHENTICATED, "no valid cookie for this preview");
    preview_sandbox_done(sandbox_out);
    sandbox_out->status = status_of(db_text(rows, 0, 0));
    sandbox_out->desired = desire_of(db_text(rows, 0, 1));
    sandbox_out->url = db_dup(rows, 0, 2);
    return 0;
}
