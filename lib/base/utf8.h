/*
 * The grammar of UTF-8. What is asked of whole texts is in base/text.h.
 *
 * Source:    RFC 3629, section 4
 * Threading: no state.
 */
#ifndef DEFT_BASE_UTF8_H
#define DEFT_BASE_UTF8_H

#include <stddef.h>

#include "base/attr.h"

/*
 * The length of the valid sequence that begins at bytes, which has at least one; 0 where none does:
 * a stray byte, an overlong form, a surrogate, a sequence that ends too early.
 */
size_t utf8_sequence_length(const char *bytes, size_t len) NONNULL MUST_CHECK;

#endif
