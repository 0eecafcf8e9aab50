/*
 * Apart from crypto.c, and by the plain functions of the library: its newer ones load ciphers by
 * their names, and so bring all of them (4 MB) into a static program.
 */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/crypto.h"

#include <stdlib.h>

#include <openssl/sha.h>

#include "base/encode.h"

void crypto_sha256_hex(const void *bytes, size_t len, char hex[CRYPTO_HASH_HEX_BYTES])
{
    unsigned char digest[CRYPTO_HASH_BYTES];
    SHA256_CTX state;

    if (SHA256_Init(&state) != 1 || SHA256_Update(&state, bytes, len) != 1 ||
        SHA256_Final(digest, &state) != 1)
        abort();
    hex_encode(digest, sizeof(digest), hex);
}
