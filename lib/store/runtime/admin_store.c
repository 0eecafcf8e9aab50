#include "store/runtime/admin_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "store/db/db_query.h"

/* Challenges expire long before this. */
#define KEPT "interval '1 hour'"

static const char SQL_FORGET[] = "DELETE FROM admin_logins WHERE at < now() - " KEPT;
static const char SQL_COUNT[] = "SELECT count(*) FROM admin_logins WHERE NOT is_ok"
                                " AND at > now() - $1::bigint * interval '1 second'";
static const char SQL_TRY[] = "INSERT INTO admin_logins (challenge) VALUES ($1)"
                              " ON CONFLICT DO NOTHING RETURNING 1";
static const char SQL_SUCCEED[] = "UPDATE admin_logins SET is_ok = true WHERE challenge = $1";
static const char SQL_KEYS[] =
    "SELECT coalesce(json_agg(json_build_object('id', id, 'name', name, 'key_value', NULL,"
    " 'max_runtimes', coalesce(max_runtimes, $1::integer), 'remaining_credits', NULL)"
    " ORDER BY created_at, name, id), '[]')::text FROM runtime_keys WHERE revoked_at IS NULL";

static int check_failures(struct db *db, const struct admin_limits *limits, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *gone = NULL;
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int window = db_int(limits->window_s);

    if (db_query(db, SQL_FORGET, DB_NO_PARAMS, &gone, err) < 0 ||
        db_read(db, SQL_COUNT, DB_PARAMS(window.text), &rows, err) < 0)
        return error_wrap(err, "counting sign-in attempts");
    if (db_number(rows, 0, 0) >= limits->most_failures)
        return error_set(err, ERROR_RATE_LIMITED, "Too many failed attempts, try again later");
    return 0;
}

int admin_store_try(struct db *db, const char *challenge, const struct admin_limits *limits,
                    struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (check_failures(db, limits, err) < 0)
        return -1;
    if (db_query(db, SQL_TRY, DB_PARAMS(challenge), &rows, err) < 0)
        return error_wrap(err, "recording a sign-in attempt");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_CONFLICT, "the challenge was already used");
    return 0;
}

int admin_store_succeed(struct db *db, const char *challenge, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_SUCCEED, DB_PARAMS(challenge), &rows, err) < 0)
        return error_wrap(err, "recording a sign-in");
    return 0;
}

int admin_store_list_keys(struct db *db, int64_t fallback, struct strbuf *json_out,
                          struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int most = db_int(fallback);

    if (db_read(db, SQL_KEYS, DB_PARAMS(most.text), &rows, err) < 0)
        return error_wrap(err, "listing keys of the Runtime API");
    strbuf_append(json_out, PQgetvalue(rows, 0, 0));
    return 0;
}
