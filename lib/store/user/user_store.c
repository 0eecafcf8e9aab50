#include "store/user/user_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/db/db_query.h"

static const char SQL_ENSURE[] =
    "INSERT INTO users AS u (email, name) VALUES ($1, split_part($1, '@', 1))"
    " ON CONFLICT ((lower(email))) DO UPDATE SET email = u.email RETURNING id, email, name";
static const char SQL_GET[] = "SELECT id, email, name FROM users WHERE id = $1::uuid";

/*
 * Inserts remove a limited number of expired rows, the oldest first: the tables hold little more
 * than one period's rows, and no single sign-in pays for all that expired. Rows locked by a
 * concurrent removal are skipped.
 */
#define OLDEST_OVER                                                                                \
    " WHERE expires_at <= now() ORDER BY expires_at LIMIT 100 FOR UPDATE SKIP LOCKED"
static const char SQL_ADD_LINK[] =
    "WITH old AS (DELETE FROM sign_in_links WHERE token_hash IN (SELECT token_hash"
    "  FROM sign_in_links" OLDEST_OVER "))"
    " INSERT INTO sign_in_links (token_hash, user_id, expires_at)"
    " VALUES ($1, $2::uuid, now() + $3::bigint * interval '1 second')";
static const char SQL_USE_LINK[] =
    "WITH used AS (UPDATE sign_in_links SET used_at = now()"
    "  WHERE token_hash = $1 AND used_at IS NULL AND expires_at > now() RETURNING user_id),"
    " old AS (DELETE FROM sessions WHERE id IN (SELECT id"
    "  FROM sessions" OLDEST_OVER "))"
    " INSERT INTO sessions (user_id, token_hash, expires_at)"
    " SELECT user_id, $2, now() + $3::bigint * interval '1 second' FROM used RETURNING 1";
static const char SQL_FIND_LINK[] =
    "SELECT u.id, u.email, u.name FROM sign_in_links l JOIN users u ON u.id = l.user_id"
    " WHERE l.token_hash = $1 AND l.used_at IS NULL AND l.expires_at > now()";
/* Notifies servers of that session's sockets when the end commits. */
static const char SQL_END_SESSION[] =
    "WITH gone AS (DELETE FROM sessions WHERE token_hash = $1 RETURNING id)"
    " SELECT pg_notify('deft_callers', id::text) FROM gone";
static const char SQL_FIND_SESSION[] =
    "SELECT user_id FROM sessions WHERE token_hash = $1 AND expires_at > now()";

static const char SQL_ADD_KEY[] =
    "INSERT INTO api_keys (user_id, name, key_hash) VALUES ($1::uuid, $2, $3)";
static const char SQL_LIST_KEYS[] =
    "SELECT k.id, k.name, k.serves, to_char(k.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'),"
    " coalesce(to_char(k.revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), '')"
    " FROM (SELECT id, name, 'agent' AS serves, created_at, revoked_at FROM api_keys"
    "   WHERE user_id = $1::uuid"
    "  UNION ALL SELECT id, name, 'runtime', created_at, revoked_at FROM runtime_keys"
    "   WHERE user_id = $1::uuid) k ORDER BY k.created_at, k.id";
/*
 * A tenant's sandboxes and images are deleted with its key: no client could stop them any more.
 * Notifies servers of the key's sockets, or those of such a sandbox, and the runtime service.
 */
static const char SQL_REVOKE_KEY[] =
    "WITH a AS (UPDATE api_keys SET revoked_at = now()"
    "  WHERE user_id = $1::uuid AND id = $2::uuid AND revoked_at IS NULL RETURNING id),"
    " r AS (UPDATE runtime_keys SET revoked_at = now()"
    "  WHERE user_id = $1::uuid AND id = $2::uuid AND revoked_at IS NULL RETURNING id),"
    " s AS (UPDATE runtimes SET desired = 'deleted', updated_at = now()"
    "  FROM r WHERE tenant_id = r.id RETURNING runtimes.id)"
    " SELECT pg_notify('deft_callers', id::text)::text FROM a"
    " UNION ALL SELECT pg_notify('deft_runtime', id::text)::text FROM r"
    " UNION ALL SELECT pg_notify('deft_callers', id)::text FROM s";
static const char SQL_FIND_KEY[] =
    "SELECT user_id, id FROM api_keys WHERE key_hash = $1 AND revoked_at IS NULL";

void user_done(struct user *user)
{
    if (user == NULL)
        return;
    mem_free(user->email);
    mem_free(user->name);
    *user = (struct user)USER_INIT;
}

static void read_user(const PGresult *rows, struct user *user)
{
    user->id = db_cell_uuid(rows, 0, 0);
    user->email = db_dup(rows, 0, 1);
    user->name = db_dup(rows, 0, 2);
}

int user_store_ensure(struct db *db, const char *email, struct user *user_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_ENSURE, DB_PARAMS(email), &rows, err) < 0)
        return error_wrap(err, "creating a user");
    read_user(rows, user_out);
    return 0;
}

int user_store_get(struct db *db, const struct uuid *id, struct user *user_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_GET, DB_PARAMS(id->text), &rows, err) < 0)
        return error_wrap(err, "reading user %s", id->text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no user %s", id->text);
    read_user(rows, user_out);
    return 0;
}

int user_store_add_link(struct db *db, const struct uuid *user_id, const char *token_hash,
                        int64_t valid_s, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int seconds = db_int(valid_s);

    return db_query(db, SQL_ADD_LINK, DB_PARAMS(token_hash, user_id->text, seconds.text), &rows,
                    err);
}

int user_store_use_link(struct db *db, const char *token_hash, const char *session_hash,
                        int64_t session_s, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int seconds = db_int(session_s);

    if (db_query(db, SQL_USE_LINK, DB_PARAMS(token_hash, session_hash, seconds.text), &rows, err) <
        0)
        return error_wrap(err, "signing in");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "This sign-in link was used already or has expired");
    return 0;
}

int user_store_find_link(struct db *db, const char *token_hash, struct user *owner_out,
                         struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_FIND_LINK, DB_PARAMS(token_hash), &rows, err) < 0)
        return error_wrap(err, "finding a sign-in link");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "This sign-in link was used already or has expired");
    read_user(rows, owner_out);
    return 0;
}

int user_store_end_session(struct db *db, const char *session_hash, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    return db_query(db, SQL_END_SESSION, DB_PARAMS(session_hash), &rows, err);
}

int user_store_find_session(struct db *db, const char *session_hash, struct uuid *user_id_out,
                            struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_FIND_SESSION, DB_PARAMS(session_hash), &rows, err) < 0)
        return error_wrap(err, "finding a session");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_UNAUTHENTICATED, "Unauthorized");
    *user_id_out = db_cell_uuid(rows, 0, 0);
    return 0;
}

int user_store_add_key(struct db *db, const struct uuid *user_id, const char *name,
                       const char *key_hash, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    return db_query(db, SQL_ADD_KEY, DB_PARAMS(user_id->text, name, key_hash), &rows, err);
}

void api_key_list_done(struct api_key_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->n; i++) {
        mem_free(list->items[i].name);
        mem_free(list->items[i].serves);
        mem_free(list->items[i].made_at);
        mem_free(list->items[i].revoked_at);
    }
    mem_free(list->items);
    *list = (struct api_key_list)API_KEY_LIST_INIT;
}

int user_store_list_keys(struct db *db, const struct uuid *user_id, struct api_key_list *list_out,
                         struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct api_key_list list = API_KEY_LIST_INIT;

    if (db_read(db, SQL_LIST_KEYS, DB_PARAMS(user_id->text), &rows, err) < 0)
        return error_wrap(err, "reading keys");
    list.n = (size_t)PQntuples(rows);
    list.items = mem_alloc_array(list.n, sizeof(*list.items));
    for (size_t i = 0; i < list.n; i++)
        list.items[i] = (struct api_key){.id = db_cell_uuid(rows, (int)i, 0),
                                         .name = db_dup(rows, (int)i, 1),
                                         .serves = db_dup(rows, (int)i, 2),
                                         .made_at = db_dup(rows, (int)i, 3),
                                         .revoked_at = db_dup(rows, (int)i, 4)};
    *list_out = list;
    return 0;
}

int user_store_revoke_key(struct db *db, const struct uuid *user_id, const struct uuid *key_id,
                          struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_REVOKE_KEY, DB_PARAMS(user_id->text, key_id->text), &rows, err) < 0)
        return error_wrap(err, "revoking a key");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "the key %s is not valid", key_id->text);
    return 0;
}

int user_store_find_key(struct db *db, const char *key_hash, struct uuid *user_id_out,
                        struct uuid *key_id_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_FIND_KEY, DB_PARAMS(key_hash), &rows, err) < 0)
        return error_wrap(err, "finding a key");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_UNAUTHENTICATED, "Unauthorized");
    *user_id_out = db_cell_uuid(rows, 0, 0);
    *key_id_out = db_cell_uuid(rows, 0, 1);
    return 0;
}
