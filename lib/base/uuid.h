/*
 * UUIDs as text (RFC 9562). Requests may write 36 characters with dashes or 32 hex digits;
 * deft keeps the dashed lower-case form.
 *
 * Decision: docs/decisions/0065-uuid.md
 */
#ifndef DEFT_BASE_UUID_H
#define DEFT_BASE_UUID_H

#include <stdbool.h>

#include "base/attr.h"

#define UUID_TEXT_BYTES 37
#define UUID_HEX_BYTES 33

struct uuid {
    char text[UUID_TEXT_BYTES]; /* dashed, lower case; "" when unset */
};

/* clang-format off */
#define UUID_INIT {""}
/* clang-format on */

/* A random one (version 4). */
struct uuid uuid_random(void) MUST_CHECK;
/* The same id for the same name, without a time or an order: the start of its SHA-256 hash. */
struct uuid uuid_from_name(const char *name) NONNULL MUST_CHECK;
/* Parses either form; false when it is neither. */
bool uuid_parse(const char *text, struct uuid *uuid_out) NONNULL MUST_CHECK;
/* The 32 digits without dashes. */
void uuid_to_hex(const struct uuid *uuid, char hex[UUID_HEX_BYTES]) NONNULL;
bool uuid_is_set(const struct uuid *uuid) NONNULL MUST_CHECK;

#endif
