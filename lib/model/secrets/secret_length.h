/*
 * Which values are long enough to be hidden. A module of its own, since deft-action needs it and
 * nothing else of this room, which links ciphers.
 */
#ifndef DEFT_MODEL_SECRETS_SECRET_LENGTH_H
#define DEFT_MODEL_SECRETS_SECRET_LENGTH_H

#include <stdbool.h>

#include "base/attr.h"

/*
 * True if a secret's value is hidden in events and replies. A value shorter than
 * SECRET_MASKED_MIN_CHARS, without surrounding white space, is stored and exported but not hidden,
 * since it occurs in too many ordinary words.
 */
bool secret_is_masked(const char *value) NONNULL MUST_CHECK;

#endif
