#include "base/crypto.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { NONCE_BYTES = 12, TAG_BYTES = 16 };

static const char seal_prefix[] = "v1.";

/* RFC 5869 with an empty salt and one block of output: T(1) = HMAC(PRK, info | 0x01). */
static void derive(const unsigned char *root, const char *label, unsigned char *key_out)
{
    static const unsigned char salt[CRYPTO_HASH_BYTES] = {0};
    unsigned char prk[CRYPTO_HASH_BYTES];
    unsigned char info[64];
    size_t label_len = strlen(label);
    unsigned int len = 0;

    assert(label_len < sizeof(info) - 1);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, followed by a terminator */
    memcpy(info, label, label_len);
    info[label_len] = 0x01;
    if (HMAC(EVP_sha256(), salt, sizeof(salt), root, CRYPTO_KEY_BYTES, prk, &len) == NULL ||
        HMAC(EVP_sha256(), prk, sizeof(prk), info, label_len + 1, key_out, &len) == NULL)
        abort();
    OPENSSL_cleanse(prk, sizeof(prk));
}

int keyring_init(struct keyring *keyring, const struct secret *root, struct error *err)
{
    unsigned char bytes[CRYPTO_KEY_BYTES];

    if (hex_decode(secret_reveal(root), bytes, sizeof(bytes), err) < 0)
        return error_wrap(err, "the root key must be 64 hex digits");
    derive(bytes, "deft seal", keyring->seal);
    derive(bytes, "deft key hash", keyring->hash);
    derive(bytes, "deft fernet", keyring->fernet);
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return 0;
}

int keyring_init_hash(struct keyring *keyring, const struct secret *hash_key, struct error *err)
{
    /* Random keys make sealing useless and opening fail. */
    crypto_random(keyring->seal, sizeof(keyring->seal));
    crypto_random(keyring->fernet, sizeof(keyring->fernet));
    if (hex_decode(secret_reveal(hash_key), keyring->hash, sizeof(keyring->hash), err) < 0)
        return error_wrap(err, "the hash key must be 64 hex digits");
    return 0;
}

void keyring_hash_key(const struct keyring *keyring, char hex[CRYPTO_HASH_HEX_BYTES])
{
    hex_encode(keyring->hash, sizeof(keyring->hash), hex);
}

void keyring_hash_token(const struct keyring *keyring, const char *token,
                        char hex[CRYPTO_HASH_HEX_BYTES])
{
    unsigned char digest[CRYPTO_HASH_BYTES];

    crypto_hmac(keyring->hash, sizeof(keyring->hash), token, digest);
    hex_encode(digest, sizeof(digest), hex);
}

static void cipher_freep(EVP_CIPHER_CTX **ctx)
{
    EVP_CIPHER_CTX_free(*ctx);
}

void keyring_seal(const struct keyring *keyring, const char *context, const struct secret *plain,
                  struct strbuf *sealed_out)
{
    CLEANUP(cipher_freep) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    CLEANUP(strbuf_done) struct strbuf box = STRBUF_INIT;
    unsigned char *nonce = NULL;
    unsigned char *body = NULL;
    int len = 0;

    strbuf_reserve(&box, NONCE_BYTES + plain->len + TAG_BYTES);
    nonce = (unsigned char *)box.text;
    body = nonce + NONCE_BYTES;
    crypto_random(nonce, NONCE_BYTES);
    if (ctx == NULL ||
        EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, keyring->seal, nonce) != 1 ||
        EVP_EncryptUpdate(ctx, NULL, &len, (const unsigned char *)context, (int)strlen(context)) !=
            1 ||
        EVP_EncryptUpdate(ctx, body, &len, (const unsigned char *)secret_reveal(plain),
                          (int)plain->len) != 1 ||
        EVP_EncryptFinal_ex(ctx, body + len, &len) != 1 ||
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, body + plain->len) != 1)
        abort();
    strbuf_append(sealed_out, seal_prefix);
    base64url_append(sealed_out, nonce, NONCE_BYTES + plain->len + TAG_BYTES);
}

static int open_box(const struct keyring *keyring, const char *context, struct strbuf *box,
                    struct error *err)
{
    CLEANUP(cipher_freep) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    unsigned char *nonce = (unsigned char *)box->text;
    unsigned char *body = nonce + NONCE_BYTES;
    int body_len = (int)(box->len - NONCE_BYTES - TAG_BYTES);
    int len = 0;

    if (ctx == NULL)
        abort();
    if (EVP_DecryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, keyring->seal, nonce) != 1 ||
        EVP_DecryptUpdate(ctx, NULL, &len, (const unsigned char *)context, (int)strlen(context)) !=
            1 ||
        EVP_DecryptUpdate(ctx, body, &len, body, body_len) != 1 ||
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, body + body_len) != 1 ||
        EVP_DecryptFinal_ex(ctx, body + len, &len) != 1)
        return error_set(err, ERROR_INTERNAL, "not sealed with this key for this record");
    return 0;
}

int keyring_open(const struct keyring *keyring, const char *context, const char *sealed,
                 struct secret *plain_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf box = STRBUF_INIT;

    if (!text_starts_with(sealed, seal_prefix))
        return error_set(err, ERROR_INTERNAL, "not a sealed value");
    if (base64url_decode(sealed + strlen(seal_prefix), &box, err) < 0) {
        err->code = ERROR_INTERNAL;
        return error_wrap(err, "a sealed value");
    }
    if (box.len < NONCE_BYTES + TAG_BYTES)
        return error_set(err, ERROR_INTERNAL, "a sealed value is too short");
    if (open_box(keyring, context, &box, err) < 0)
        return -1;
    secret_set_bytes(plain_out, box.text + NONCE_BYTES, box.len - NONCE_BYTES - TAG_BYTES);
    OPENSSL_cleanse(box.text, box.len);
    return 0;
}
