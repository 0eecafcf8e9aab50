/*
 * The grammar of UTF-8. Functions on whole texts are in base/text.h.
 *
 * Source:    RFC 3629, section 4
 * Threading: no state.
 */
#ifndef DEFT_BASE_UTF8_H
#define DEFT_BASE_UTF8_H

#include <stddef.h>

#include "base/attr.h"

/*
 * The length of the valid sequence at bytes, of which there is at least one; 0 if there is none: a
 * stray byte, an overlong form, a surrogate, a truncated sequence.
 */
size_t utf8_sequence_length(const char *bytes, size_t len) NONNULL MUST_CHECK;

#endif
