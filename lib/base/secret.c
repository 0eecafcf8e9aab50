#include "base/secret.h"

#include <string.h>

#include <openssl/crypto.h>

#include "base/mem.h"

void secret_done(struct secret *secret)
{
    if (secret == NULL || secret->bytes == NULL)
        return;
    OPENSSL_cleanse(secret->bytes, secret->len);
    mem_free(secret->bytes);
    *secret = (struct secret)SECRET_INIT;
}

void secret_set_bytes(struct secret *secret, const void *bytes, size_t len)
{
    char *copy = mem_dup_bytes(bytes, len);

    secret_done(secret);
    secret->bytes = copy;
    secret->len = len;
}

void secret_set(struct secret *secret, const char *text)
{
    secret_set_bytes(secret, text, strlen(text));
}

bool secret_is_set(const struct secret *secret)
{
    return secret->bytes != NULL && secret->len > 0;
}

const char *secret_reveal(const struct secret *secret)
{
    return secret->bytes != NULL ? secret->bytes : "";
}
