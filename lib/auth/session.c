#include "auth/session.h"

#include <string.h>

#include "store/user/user_store.h"

int session_open(struct db *db, const struct keyring *keyring, const char *link_token,
                 char token_out[CRYPTO_TOKEN_BYTES], struct error *err)
{
    char link_hash[CRYPTO_HASH_HEX_BYTES];
    char session_hash[CRYPTO_HASH_HEX_BYTES];
    char token[CRYPTO_TOKEN_BYTES];

    crypto_random_token(token);
    keyring_hash_token(keyring, link_token, link_hash);
    keyring_hash_token(keyring, token, session_hash);
    if (user_store_use_link(db, link_hash, session_hash, SESSION_VALID_S, err) < 0)
        return -1;
    memcpy(token_out, token, sizeof(token));
    return 0;
}

int session_link_owner(struct db *db, const struct keyring *keyring, const char *link_token,
                       struct user *owner_out, struct error *err)
{
    char hash[CRYPTO_HASH_HEX_BYTES];

    keyring_hash_token(keyring, link_token, hash);
    return user_store_find_link(db, hash, owner_out, err);
}

int session_close(struct db *db, const struct keyring *keyring, const char *token,
                  struct error *err)
{
    char hash[CRYPTO_HASH_HEX_BYTES];

    keyring_hash_token(keyring, token, hash);
    return user_store_end_session(db, hash, err);
}
