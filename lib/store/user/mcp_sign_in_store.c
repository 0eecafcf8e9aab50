#include "store/user/mcp_sign_in_store.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/db_query.h"
#include "store/user/document_store.h"

#define COLUMNS                                                                                    \
    "id, user_id, status, body, sealed,"                                                           \
    " (extract(epoch FROM clock_timestamp() - changed_at) * 1000)::bigint"

static const char SQL_ADD[] =
    "WITH old AS (DELETE FROM mcp_sign_ins WHERE id IN (SELECT id FROM (SELECT id"
    "   FROM mcp_sign_ins WHERE created_at < now() - interval '1 day'"
    "   ORDER BY created_at LIMIT 100 FOR UPDATE SKIP LOCKED) aged"
    "  UNION ALL (SELECT id FROM mcp_sign_ins WHERE user_id = $2::uuid"
    "   ORDER BY created_at DESC OFFSET 19)))"
    " INSERT INTO mcp_sign_ins (id, user_id, state_hash, status, body, sealed)"
    " VALUES ($1::uuid, $2::uuid, $3, $4, $5, $6)";
static const char SQL_GET[] =
    "SELECT " COLUMNS " FROM mcp_sign_ins WHERE id = $1::uuid AND user_id = $2::uuid";
static const char SQL_TAKE[] =
    "UPDATE mcp_sign_ins SET status = $2, changed_at = clock_timestamp()"
    " WHERE state_hash = $1 AND status = $3 AND created_at > now() - interval '15 minutes'"
    " RETURNING " COLUMNS;
static const char SQL_FINISH[] =
    "UPDATE mcp_sign_ins SET status = $3, body = $4, sealed = $5, changed_at = clock_timestamp()"
    " WHERE id = $1::uuid AND user_id = $2::uuid AND status = $6";

static const char *const state_names[SIGN_IN_N_STATES] = {
#define X(constant, text) [constant] = (text),
    SIGN_IN_STATES(X)
#undef X
};

const char *sign_in_state_to_string(enum sign_in_state state)
{
    return state_names[state];
}

static enum sign_in_state state_from_string(const char *name)
{
    for (int i = 0; i < SIGN_IN_N_STATES; i++) {
        if (text_equal(state_names[i], name))
            return (enum sign_in_state)i;
    }
    return SIGN_IN_FAILED;
}

void mcp_sign_in_done(struct mcp_sign_in *sign_in)
{
    if (sign_in == NULL)
        return;
    json_decref(sign_in->body);
    json_decref(sign_in->secrets);
    *sign_in = (struct mcp_sign_in)MCP_SIGN_IN_INIT;
}

static void append_seal_context(const struct mcp_sign_in *sign_in, struct strbuf *out)
{
    strbuf_appendf(out, "mcp_sign_ins.sealed:%s:%s", sign_in->user_id.text, sign_in->id.text);
}

static void append_sealed(const struct document_scope *scope, const struct mcp_sign_in *sign_in,
                          struct strbuf *out)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = json_to_text(sign_in->secrets);

    secret_set(&plain, text);
    explicit_bzero(text, strlen(text));
    append_seal_context(sign_in, &context);
    keyring_seal(scope->keyring, context.text, &plain, out);
}

static int open_sealed(const struct document_scope *scope, const char *sealed,
                       struct mcp_sign_in *sign_in, struct error *err)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;

    append_seal_context(sign_in, &context);
    if (keyring_open(scope->keyring, context.text, sealed, &plain, err) < 0)
        return -1;
    return json_parse_own(secret_reveal(&plain), plain.len, &sign_in->secrets, err);
}

/* Reads the single row. */
static int read_row(const struct document_scope *scope, const PGresult *rows,
                    struct mcp_sign_in *sign_in_out, struct error *err)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in sign_in = MCP_SIGN_IN_INIT;

    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "There is no such sign-in, or it has ended");
    sign_in.id = db_cell_uuid(rows, 0, 0);
    sign_in.user_id = db_cell_uuid(rows, 0, 1);
    sign_in.status = state_from_string(db_text(rows, 0, 2));
    sign_in.unchanged_ms = db_number(rows, 0, 5);
    if (db_json(rows, 0, 3, &sign_in.body, err) < 0 ||
        open_sealed(scope, db_text(rows, 0, 4), &sign_in, err) < 0)
        return -1;
    *sign_in_out = sign_in;
    sign_in = (struct mcp_sign_in)MCP_SIGN_IN_INIT;
    return 0;
}

int mcp_sign_in_store_add(const struct document_scope *scope, const struct mcp_sign_in *sign_in,
                          const char *state, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    CLEANUP(mem_freep) char *body = json_to_text(sign_in->body);
    char hash[CRYPTO_HASH_HEX_BYTES];

    append_sealed(scope, sign_in, &sealed);
    keyring_hash_token(scope->keyring, state, hash);
    return db_query(scope->db, SQL_ADD,
                    DB_PARAMS(sign_in->id.text, sign_in->user_id.text, hash,
                              state_names[SIGN_IN_PENDING], body, sealed.text),
                    &rows, err);
}

int mcp_sign_in_store_get(const struct document_scope *scope, const struct uuid *id,
                          struct mcp_sign_in *sign_in_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(scope->db, SQL_GET, DB_PARAMS(id->text, scope->user_id.text), &rows, err) < 0)
        return -1;
    return read_row(scope, rows, sign_in_out, err);
}

int mcp_sign_in_store_take(const struct document_scope *scope, const char *state,
                           struct mcp_sign_in *sign_in_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    char hash[CRYPTO_HASH_HEX_BYTES];

    keyring_hash_token(scope->keyring, state, hash);
    if (db_query(scope->db, SQL_TAKE,
                 DB_PARAMS(hash, state_names[SIGN_IN_AUTHORIZING], state_names[SIGN_IN_PENDING]),
                 &rows, err) < 0)
        return -1;
    return read_row(scope, rows, sign_in_out, err);
}

int mcp_sign_in_store_finish(const struct document_scope *scope, const struct mcp_sign_in *sign_in,
                             struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    CLEANUP(mem_freep) char *body = json_to_text(sign_in->body);

    append_sealed(scope, sign_in, &sealed);
    return db_query(scope->db, SQL_FINISH,
                    DB_PARAMS(sign_in->id.text, sign_in->user_id.text, state_names[sign_in->status],
                              body, sealed.text, state_names[SIGN_IN_AUTHORIZING]),
                    &rows, err);
}
