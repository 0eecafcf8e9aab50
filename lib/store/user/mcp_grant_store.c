#include "store/user/mcp_grant_store.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "store/db/db_query.h"
#include "store/user/document_store.h"

#define ROOT                                                                                       \
    "COALESCE((SELECT root_hash FROM mcp_grant_tokens WHERE user_id = $1::uuid"                    \
    "  AND token_hash = $2), $2)"

/* Waits for another transaction that adds the same grant. */
static const char SQL_ADD[] = "INSERT INTO mcp_grants (user_id, root_hash) VALUES ($1::uuid, " ROOT
                              ") ON CONFLICT DO NOTHING";
static const char SQL_LOCK[] =
    "SELECT root_hash, sealed FROM mcp_grants WHERE user_id = $1::uuid AND root_hash = " ROOT
    " FOR UPDATE";
static const char SQL_PUT[] = "UPDATE mcp_grants SET sealed = $3, renewed_at = now()"
                              " WHERE user_id = $1::uuid AND root_hash = $2";
static const char SQL_ADD_TOKEN[] =
    "INSERT INTO mcp_grant_tokens (user_id, root_hash, token_hash) VALUES ($1::uuid, $2, $3)"
    " ON CONFLICT DO NOTHING";
static const char SQL_FORGET[] =
    "WITH tokens AS (DELETE FROM mcp_grant_tokens WHERE user_id = $1::uuid AND token_hash IN"
    "  (SELECT token_hash FROM mcp_grant_tokens WHERE user_id = $1::uuid AND root_hash = $2"
    "   ORDER BY created_at DESC OFFSET $3::integer))"
    " DELETE FROM mcp_grants WHERE user_id = $1::uuid AND root_hash IN (SELECT root_hash"
    "  FROM mcp_grants WHERE user_id = $1::uuid AND root_hash IN (SELECT root_hash FROM mcp_grants"
    "   WHERE user_id = $1::uuid ORDER BY renewed_at DESC OFFSET $4::integer)"
    "  FOR UPDATE SKIP LOCKED)";

struct mcp_grant {
    const struct document_scope *scope;
    struct db_tx tx;
    char *root_hash;
    json_t *state; /* NULL: never renewed */
};

void mcp_grant_free(struct mcp_grant *grant)
{
    if (grant == NULL)
        return;
    db_tx_end(&grant->tx);
    mem_free(grant->root_hash);
    json_decref(grant->state);
    mem_free(grant);
}

void mcp_grant_freep(struct mcp_grant **grant)
{
    mcp_grant_free(*grant);
    *grant = NULL;
}

const json_t *mcp_grant_state(const struct mcp_grant *grant)
{
    return grant->state;
}

static void append_seal_context(const struct mcp_grant *grant, struct strbuf *out)
{
    strbuf_appendf(out, "mcp_grants.sealed:%s:%s", grant->scope->user_id.text, grant->root_hash);
}

static int open_state(struct mcp_grant *grant, const char *sealed, struct error *err)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;

    if (sealed == NULL)
        return 0;
    append_seal_context(grant, &context);
    if (keyring_open(grant->scope->keyring, context.text, sealed, &plain, err) < 0)
        return -1;
    return json_parse_own(secret_reveal(&plain), plain.len, &grant->state, err);
}

static void append_sealed(const struct mcp_grant *grant, const json_t *state, struct strbuf *out)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = json_to_text(state);

    secret_set(&plain, text);
    explicit_bzero(text, strlen(text));
    append_seal_context(grant, &context);
    keyring_seal(grant->scope->keyring, context.text, &plain, out);
}

static int lock_row(struct mcp_grant *grant, const char *token_hash, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *none = NULL;
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    const char *user = grant->scope->user_id.text;

    if (db_tx_query(&grant->tx, SQL_ADD, DB_PARAMS(user, token_hash), &none, err) < 0 ||
        db_tx_query(&grant->tx, SQL_LOCK, DB_PARAMS(user, token_hash), &rows, err) < 0)
        return -1;
    /* Forgotten between the two, as one of too many. */
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_UNAVAILABLE, "the tokens of this sign-in were forgotten");
    grant->root_hash = db_dup(rows, 0, 0);
    return open_state(grant, db_text(rows, 0, 1), err);
}

int mcp_grant_store_lock(const struct document_scope *scope, const char *refresh_token,
                         struct mcp_grant **grant_out, struct error *err)
{
    CLEANUP(mcp_grant_freep) struct mcp_grant *grant = NEW(struct mcp_grant);
    char hash[CRYPTO_HASH_HEX_BYTES];

    grant->scope = scope;
    grant->tx = (struct db_tx)DB_TX_INIT;
    keyring_hash_token(scope->keyring, refresh_token, hash);
    if (db_tx_begin(scope->db, &grant->tx, err) < 0 || lock_row(grant, hash, err) < 0)
        return -1;
    *grant_out = TAKE_PTR(grant);
    return 0;
}

static int put_rows(struct mcp_grant *grant, const char *token_hash, const char *sealed,
                    struct error *err)
{
    CLEANUP(db_rows_done) PGresult *put = NULL;
    CLEANUP(db_rows_done) PGresult *added = NULL;
    CLEANUP(db_rows_done) PGresult *forgotten = NULL;
    const char *user = grant->scope->user_id.text;
    const struct db_int n_tokens = db_int(MCP_GRANT_TOKENS_MAX);
    const struct db_int n_grants = db_int(MCP_GRANTS_MAX);

    if (db_tx_query(&grant->tx, SQL_PUT, DB_PARAMS(user, grant->root_hash, sealed), &put, err) <
            0 ||
        db_tx_query(&grant->tx, SQL_ADD_TOKEN, DB_PARAMS(user, grant->root_hash, token_hash),
                    &added, err) < 0)
        return -1;
    return db_tx_query(&grant->tx, SQL_FORGET,
                       DB_PARAMS(user, grant->root_hash, n_tokens.text, n_grants.text), &forgotten,
                       err);
}

int mcp_grant_store_put(struct mcp_grant *grant, const char *refresh_token, const json_t *state,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES];

    append_sealed(grant, state, &sealed);
    keyring_hash_token(grant->scope->keyring, refresh_token, hash);
    if (put_rows(grant, hash, sealed.text, err) < 0)
        return -1;
    return db_tx_commit(&grant->tx, err);
}
