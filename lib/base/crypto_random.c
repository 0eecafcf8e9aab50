/*
 * Separate from crypto.c, so that a program that needs nothing else does not link OpenSSL's
 * ciphers.
 */
#include "base/crypto.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/encode.h"
#include "base/strbuf.h"

void crypto_random(void *buffer, size_t len)
{
    unsigned char *at = buffer;

    /*
     * The kernel's generator: needs no library state, which would cost the small processes memory.
     */
    while (len > 0) {
        ssize_t n = getrandom(at, len, 0);

        if (n < 0 && errno != EINTR)
            abort();
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

void crypto_random_token(char token[CRYPTO_TOKEN_BYTES])
{
    unsigned char bytes[32];
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    crypto_random(bytes, sizeof(bytes));
    base64url_append(&text, bytes, sizeof(bytes));
    assert(text.len == CRYPTO_TOKEN_BYTES - 1);
    memcpy(token, text.text, CRYPTO_TOKEN_BYTES);
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(text.text, text.len);
}
