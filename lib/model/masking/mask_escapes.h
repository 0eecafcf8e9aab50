/*
 * Decodes the escapes of URLs, JSON and shells at the start of a text of which more may follow.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_MASKING_MASK_ESCAPES_H
#define DEFT_MODEL_MASKING_MASK_ESCAPES_H

#include <stddef.h>

#include "base/attr.h"

/* Maximum number of bytes examined. */
enum { MASK_PERCENT_BYTES = 3, MASK_ESCAPE_MAX_BYTES = 12 };

struct mask_decoded {
    size_t n_read; /* bytes of the text decoded; 0: more text is needed */
    size_t n;      /* number of bytes; 0: left out */
    char bytes[4];
};

typedef struct mask_decoded mask_decode(const char *text, size_t n);

/* %41 is A; + and %2B are both a space, since a + may be a literal plus sign. */
mask_decode mask_decode_percent NONNULL MUST_CHECK;
/* Decodes \n, \u0041, \x41 and \101 as JSON and shells do; quotes are left out. */
mask_decode mask_decode_escape NONNULL MUST_CHECK;

#endif
