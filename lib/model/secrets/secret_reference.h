/*
 * References to secrets in texts: $NAME, ${NAME} and ${NAME:-TEXT}, with at most 1 KB of TEXT.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_SECRETS_SECRET_REFERENCE_H
#define DEFT_MODEL_SECRETS_SECRET_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

/* Borrows from the text. */
struct secret_reference {
    const char *name;
    size_t name_len;
    const char *fallback; /* NULL: none */
    size_t fallback_len;
    size_t len; /* of the whole */
};

/* Reads the reference at a '$'; false if it is none. */
bool secret_reference_read(const char *at,
                           struct secret_reference *reference_out) NONNULL MUST_CHECK;
/* Adds all names to which the texts in a value refer to names, {NAME: true}. */
void secret_reference_add_names(const json_t *value, json_t *names) __attribute__((nonnull(2)));

#endif
