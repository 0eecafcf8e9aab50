/* Base64 with padding, as of RFC 4648, section 4. */
#ifndef BASE64_H
#define BASE64_H

#include <stddef.h>

/*
 * Decodes text. Returns the number of bytes, or -1: text has another length than a multiple of four, holds a
 * character outside of the alphabet, has `=` anywhere but at its end, has set bits in what the last character has
 * too much (section 3.5), or needs more than size bytes.
 */
long decode(const char *text, unsigned char *out, size_t size);

#endif
