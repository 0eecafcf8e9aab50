/*
 * Separate from crypto.c, and on the library's low-level functions: the newer ones look ciphers up
 * by name, which links all of them (4 MB) into a static program.
 */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/crypto.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/sha.h>

#include "base/encode.h"

enum { INNER_PAD = 0x36, OUTER_PAD = 0x5c };

static void hash(const void *bytes, size_t len, unsigned char digest[CRYPTO_HASH_BYTES])
{
    SHA256_CTX state;

    if (SHA256_Init(&state) != 1 || SHA256_Update(&state, bytes, len) != 1 ||
        SHA256_Final(digest, &state) != 1)
        abort();
    explicit_bzero(&state, sizeof(state));
}

/* Hash of the key's block, padded by `pad`, followed by the text. */
static void hash_padded(const unsigned char block[SHA256_CBLOCK], unsigned char pad,
                        const void *bytes, size_t len, unsigned char digest[CRYPTO_HASH_BYTES])
{
    unsigned char padded[SHA256_CBLOCK];
    SHA256_CTX state;

    for (size_t i = 0; i < sizeof(padded); i++)
        padded[i] = block[i] ^ pad;
    if (SHA256_Init(&state) != 1 || SHA256_Update(&state, padded, sizeof(padded)) != 1 ||
        SHA256_Update(&state, bytes, len) != 1 || SHA256_Final(digest, &state) != 1)
        abort();
    explicit_bzero(padded, sizeof(padded));
    explicit_bzero(&state, sizeof(state));
}

void crypto_hmac(const void *key, size_t key_len, const char *text,
                 unsigned char digest[CRYPTO_HASH_BYTES])
{
    unsigned char block[SHA256_CBLOCK] = {0};

    if (key_len > sizeof(block))
        hash(key, key_len, block);
    else
        memcpy(block, key, key_len);
    hash_padded(block, INNER_PAD, text, strlen(text), digest);
    hash_padded(block, OUTER_PAD, digest, CRYPTO_HASH_BYTES, digest);
    explicit_bzero(block, sizeof(block));
}

void crypto_hmac_hex(const char *key, const char *text, char hex[CRYPTO_HASH_HEX_BYTES])
{
    unsigned char digest[CRYPTO_HASH_BYTES];

    crypto_hmac(key, strlen(key), text, digest);
    hex_encode(digest, sizeof(digest), hex);
}

void crypto_sha256_hex(const void *bytes, size_t len, char hex[CRYPTO_HASH_HEX_BYTES])
{
    unsigned char digest[CRYPTO_HASH_BYTES];

    hash(bytes, len, digest);
    hex_encode(digest, sizeof(digest), hex);
}
