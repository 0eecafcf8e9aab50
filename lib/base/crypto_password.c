/* Separate from crypto.c: it looks a digest up by name, which links all of them. */
#include "base/crypto.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/encode.h"
#include "base/secret.h"

void crypto_password_hex(const struct secret *password, const char *salt, int iterations,
                         char hex[CRYPTO_HASH_HEX_BYTES])
{
    const char *text = secret_reveal(password);
    unsigned char key[CRYPTO_HASH_BYTES];

    if (PKCS5_PBKDF2_HMAC(text, (int)strlen(text), (const unsigned char *)salt, (int)strlen(salt),
                          iterations, EVP_sha256(), sizeof(key), key) != 1)
        abort();
    hex_encode(key, sizeof(key), hex);
    explicit_bzero(key, sizeof(key));
}
