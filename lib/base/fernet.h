/*
 * Secrets that a client carries for us: it may keep one and send it back, and only we can open it.
 * Fernet tokens (the published specification, version 0x80), for which clients have libraries.
 *
 * Threading: no state.
 * Decision: docs/decisions/0056-fernet.md
 */
#ifndef DEFT_BASE_FERNET_H
#define DEFT_BASE_FERNET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct secret;
struct strbuf;

enum { FERNET_IV_BYTES = 16 };

/* The parts of a token other than its text: creation time and initialization vector. */
struct fernet_stamp {
    int64_t utc_s;
    unsigned char iv[FERNET_IV_BYTES];
};

/*
 * key: CRYPTO_KEY_BYTES, the first half signs, the second encrypts. Stamped with the current time.
 */
void fernet_append(const unsigned char *key, const struct secret *plain,
                   struct strbuf *token_out) NONNULL;
/* The same with a given stamp. */
void fernet_append_stamped(const unsigned char *key, const struct secret *plain,
                           const struct fernet_stamp *stamp, struct strbuf *token_out) NONNULL;
/* Opens a token of any age. ERROR_INVALID when it was not made with this key. */
int fernet_open(const unsigned char *key, const char *token, struct secret *plain_out,
                struct error *err) NONNULL MUST_CHECK;
/* True when text begins like a token, and so must be opened rather than used as it is. */
bool fernet_is_token(const char *text) NONNULL MUST_CHECK;

#endif
