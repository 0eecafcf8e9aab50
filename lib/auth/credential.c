#include "auth/credential.h"

#include <string.h>

#include "base/crypto.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/runtime/runtime_key_store.h"
#include "store/user/user_store.h"

int credential_new_key(struct db *db, const struct keyring *keyring, const char *name,
                       struct strbuf *key_out, struct error *err)
{
    CLEANUP(user_done) struct user owner = USER_INIT;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    char token[CRYPTO_TOKEN_BYTES];
    char hash[CRYPTO_HASH_HEX_BYTES];

    crypto_random_token(token);
    strbuf_appendf(&key, "%s%s", CREDENTIAL_KEY_PREFIX, token);
    keyring_hash_token(keyring, key.text, hash);
    if (user_store_ensure(db, CREDENTIAL_OWNER_EMAIL, &owner, err) < 0)
        return -1;
    if (user_store_add_key(db, &owner.id, name, hash, err) < 0)
        return -1;
    strbuf_append(key_out, key.text);
    return 0;
}

int credential_new_runtime_key(struct db *db, const struct keyring *keyring, const char *name,
                               struct strbuf *key_out, struct error *err)
{
    CLEANUP(user_done) struct user owner = USER_INIT;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    struct tenant tenant = TENANT_INIT;
    char token[CRYPTO_TOKEN_BYTES];
    char hash[CRYPTO_HASH_HEX_BYTES];

    crypto_random_token(token);
    strbuf_appendf(&key, "%s%s", CREDENTIAL_RUNTIME_KEY_PREFIX, token);
    keyring_hash_token(keyring, key.text, hash);
    if (user_store_ensure(db, CREDENTIAL_OWNER_EMAIL, &owner, err) < 0)
        return -1;
    tenant.user_id = owner.id;
    if (runtime_key_store_add(db, &tenant, name, hash, err) < 0)
        return -1;
    strbuf_append(key_out, key.text);
    return 0;
}

int credential_list_keys(struct db *db, struct api_key_list *list_out, struct error *err)
{
    CLEANUP(user_done) struct user owner = USER_INIT;

    if (user_store_ensure(db, CREDENTIAL_OWNER_EMAIL, &owner, err) < 0)
        return -1;
    return user_store_list_keys(db, &owner.id, list_out, err);
}

size_t credential_pick_key(const struct api_key_list *list, const char *id_or_name,
                           const struct api_key **key_out)
{
    const struct api_key *named = NULL;
    size_t len = strlen(id_or_name);
    size_t n_with_id = 0;
    size_t n_named = 0;

    *key_out = NULL;
    for (size_t i = 0; i < list->n; i++) {
        const struct api_key *key = &list->items[i];

        if (key->revoked_at[0] != '\0')
            continue;
        if (len >= CREDENTIAL_KEY_ID_CHARS && strncmp(key->id.text, id_or_name, len) == 0) {
            *key_out = key;
            n_with_id++;
        }
        if (text_equal(key->name, id_or_name)) {
            named = key;
            n_named++;
        }
    }
    if (n_with_id > 0)
        return n_with_id;
    *key_out = named;
    return n_named;
}

int credential_revoke_key(struct db *db, const struct uuid *key_id, struct error *err)
{
    CLEANUP(user_done) struct user owner = USER_INIT;

    if (user_store_ensure(db, CREDENTIAL_OWNER_EMAIL, &owner, err) < 0)
        return -1;
    return user_store_revoke_key(db, &owner.id, key_id, err);
}

int credential_new_link(struct db *db, const struct keyring *keyring, struct strbuf *token_out,
                        struct error *err)
{
    CLEANUP(user_done) struct user owner = USER_INIT;
    char token[CRYPTO_TOKEN_BYTES];
    char hash[CRYPTO_HASH_HEX_BYTES];

    crypto_random_token(token);
    keyring_hash_token(keyring, token, hash);
    if (user_store_ensure(db, CREDENTIAL_OWNER_EMAIL, &owner, err) < 0)
        return -1;
    if (user_store_add_link(db, &owner.id, hash, CREDENTIAL_LINK_VALID_S, err) < 0)
        return -1;
    strbuf_append(token_out, token);
    return 0;
}
