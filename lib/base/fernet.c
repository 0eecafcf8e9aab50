#include "base/fernet.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"

enum {
    VERSION = 0x80,
    STAMP_BYTES = 8,
    HEAD_BYTES = 1 + STAMP_BYTES + FERNET_IV_BYTES,
    BLOCK_BYTES = 16,
    MAC_BYTES = 32,
    HALF_KEY_BYTES = CRYPTO_KEY_BYTES / 2,
};

/* Version 0x80 and a time before the year 2106 in base64. */
static const char token_start[] = "gAAAA";

static void cipher_freep(EVP_CIPHER_CTX **ctx)
{
    EVP_CIPHER_CTX_free(*ctx);
}

static void append_head(const struct fernet_stamp *stamp, struct strbuf *box)
{
    strbuf_append_char(box, (char)(unsigned char)VERSION);
    for (unsigned shift = 64; shift > 0; shift -= 8)
        strbuf_append_char(box, (char)(unsigned char)((uint64_t)stamp->utc_s >> (shift - 8)));
    strbuf_append_bytes(box, (const char *)stamp->iv, FERNET_IV_BYTES);
}

static void append_cipher(const unsigned char *key, const struct secret *plain,
                          const unsigned char *iv, struct strbuf *box)
{
    CLEANUP(cipher_freep) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    unsigned char *out = NULL;
    int len = 0;
    int rest = 0;

    strbuf_reserve(box, plain->len + BLOCK_BYTES);
    out = (unsigned char *)box->text + box->len;
    if (ctx == NULL || EVP_EncryptInit_ex(ctx, EVP_aes_128_cbc(), NULL, key, iv) != 1 ||
        EVP_EncryptUpdate(ctx, out, &len, (const unsigned char *)secret_reveal(plain),
                          (int)plain->len) != 1 ||
        EVP_EncryptFinal_ex(ctx, out + len, &rest) != 1)
        abort();
    box->len += (size_t)len + (size_t)rest;
    box->text[box->len] = '\0';
}

static void sign(const unsigned char *key, const char *bytes, size_t n, unsigned char *mac_out)
{
    unsigned int len = 0;

    if (HMAC(EVP_sha256(), key, HALF_KEY_BYTES, (const unsigned char *)bytes, n, mac_out, &len) ==
        NULL)
        abort();
}

void fernet_append_stamped(const unsigned char *key, const struct secret *plain,
                           const struct fernet_stamp *stamp, struct strbuf *token_out)
{
    CLEANUP(strbuf_done) struct strbuf box = STRBUF_INIT;
    unsigned char mac[MAC_BYTES];

    append_head(stamp, &box);
    append_cipher(key + HALF_KEY_BYTES, plain, stamp->iv, &box);
    sign(key, box.text, box.len, mac);
    strbuf_append_bytes(&box, (const char *)mac, sizeof(mac));
    base64url_append(token_out, (const unsigned char *)box.text, box.len);
    for (size_t have = box.len % 3; have != 0 && have < 3; have++)
        strbuf_append_char(token_out, '=');
}

void fernet_append(const unsigned char *key, const struct secret *plain, struct strbuf *token_out)
{
    struct fernet_stamp stamp = {.utc_s = clock_utc_us() / 1000000};

    crypto_random(stamp.iv, sizeof(stamp.iv));
    fernet_append_stamped(key, plain, &stamp, token_out);
}

/* Decodes a token; padding is stripped first. */
static int decode(const char *token, struct strbuf *box, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf digits = STRBUF_INIT;
    size_t len = strlen(token);

    while (len > 0 && token[len - 1] == '=')
        len--;
    strbuf_append_bytes(&digits, token, len);
    return base64url_decode(digits.text, box, err);
}

static int open_cipher(const unsigned char *key, struct strbuf *box, struct secret *plain_out,
                       struct error *err)
{
    CLEANUP(cipher_freep) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    unsigned char *iv = (unsigned char *)box->text + 1 + STAMP_BYTES;
    unsigned char *body = (unsigned char *)box->text + HEAD_BYTES;
    int body_len = (int)(box->len - HEAD_BYTES - MAC_BYTES);
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
    unsigned char *out = NULL;
    int len = 0;
    int rest = 0;

    strbuf_reserve(&plain, (size_t)body_len + BLOCK_BYTES);
    out = (unsigned char *)plain.text;
    if (ctx == NULL || EVP_DecryptInit_ex(ctx, EVP_aes_128_cbc(), NULL, key, iv) != 1 ||
        EVP_DecryptUpdate(ctx, out, &len, body, body_len) != 1 ||
        EVP_DecryptFinal_ex(ctx, out + len, &rest) != 1)
        return error_set(err, ERROR_INVALID, "a sealed secret is damaged");
    secret_set_bytes(plain_out, plain.text, (size_t)len + (size_t)rest);
    OPENSSL_cleanse(plain.text, (size_t)len + (size_t)rest);
    return 0;
}

int fernet_open(const unsigned char *key, const char *token, struct secret *plain_out,
                struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf box = STRBUF_INIT;
    unsigned char mac[MAC_BYTES];

    if (decode(token, &box, err) < 0)
        return -1;
    if (box.len < HEAD_BYTES + BLOCK_BYTES + MAC_BYTES || (unsigned char)box.text[0] != VERSION)
        return error_set(err, ERROR_INVALID, "not a sealed secret");
    sign(key, box.text, box.len - MAC_BYTES, mac);
    if (CRYPTO_memcmp(mac, box.text + box.len - MAC_BYTES, MAC_BYTES) != 0)
        return error_set(err, ERROR_INVALID, "a secret that was not sealed by this server");
    return open_cipher(key + HALF_KEY_BYTES, &box, plain_out, err);
}

bool fernet_is_token(const char *text)
{
    return text_starts_with(text, token_start);
}
