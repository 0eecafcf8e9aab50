/*
 * A key or token in memory: it cannot be printed, and its bytes are wiped when it is released.
 *
 * Ownership: the struct owns its bytes until secret_done().
 */
#ifndef DEFT_BASE_SECRET_H
#define DEFT_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct secret {
    char *bytes; /* NUL-terminated copy, or NULL when unset; only secret.c accesses it */
    size_t len;
};

/* clang-format off */
#define SECRET_INIT {NULL, 0}
/* clang-format on */

/* Copies text; the previous content is wiped. */
void secret_set(struct secret *secret, const char *text) NONNULL;
void secret_set_bytes(struct secret *secret, const void *bytes, size_t len) NONNULL;
bool secret_is_set(const struct secret *secret) NONNULL MUST_CHECK;
/*
 * The text itself, "" when unset; valid until the secret changes. Only for the last step before
 * sending.
 */
const char *secret_reveal(const struct secret *secret) NONNULL MUST_CHECK;
/* Wipes and releases; NULL is fine. */
void secret_done(struct secret *secret);

#endif
