/*
 * What the escapes of URLs, of JSON and of shells mean, read from the beginning of a text that may
 * go on.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_MASKING_MASK_VIEWS_H
#define DEFT_MODEL_MASKING_MASK_VIEWS_H

#include <stddef.h>

#include "base/attr.h"

/* As many bytes are looked at, at most. */
enum { MASK_PERCENT_BYTES = 3, MASK_ESCAPE_MAX_BYTES = 12 };

struct mask_meaning {
    size_t n_read; /* bytes of the text that have this meaning; 0: more of it is needed */
    size_t n;      /* of bytes; 0: they are left out */
    char bytes[4];
};

typedef struct mask_meaning mask_meaning_of(const char *text, size_t n);

/* %41 is A; + and %2B are a blank, as what stands for one may be a plus sign. */
mask_meaning_of mask_percent_meaning NONNULL MUST_CHECK;
/* \n, \u0041, \x41 and \101 are what they mean in JSON and in shells; quotes are left out. */
mask_meaning_of mask_escape_meaning NONNULL MUST_CHECK;

#endif
