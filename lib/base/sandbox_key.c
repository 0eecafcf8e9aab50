#include "base/sandbox_key.h"

#include <string.h>

#include "base/encode.h"
#include "base/secret.h"
#include "base/strbuf.h"

static const char *const labels[] = {
    [SANDBOX_KEY_CALL] = "deft sandbox call 1",
    [SANDBOX_KEY_PROOF] = "deft sandbox proof 1",
};

void sandbox_key_derive(const char *base, enum sandbox_key_use use, struct secret *key_out)
{
    char hex[CRYPTO_HASH_HEX_BYTES] = "";

    crypto_hmac_hex(base, labels[use], hex);
    secret_set(key_out, hex);
    explicit_bzero(hex, sizeof(hex));
}

void sandbox_nonce_make(char nonce[SANDBOX_NONCE_BYTES])
{
    unsigned char bytes[SANDBOX_NONCE_CHARS / 2];

    crypto_random(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), nonce);
}

bool sandbox_nonce_is_valid(const char *nonce)
{
    return strspn(nonce, "0123456789abcdef") == SANDBOX_NONCE_CHARS &&
           nonce[SANDBOX_NONCE_CHARS] == '\0';
}

void sandbox_proof_make(const struct secret *proof_key, const char *nonce, const char *address,
                        char proof[CRYPTO_HASH_HEX_BYTES])
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text, "deft proof 1:%s:%s", nonce, address);
    crypto_hmac_hex(secret_reveal(proof_key), text.text, proof);
}
