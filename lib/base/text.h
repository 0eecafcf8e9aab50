/*
 * Predicates on text: equality, prefixes, UTF-8; and numbers read from text.
 *
 * Threading: no state.
 */
#ifndef DEFT_BASE_TEXT_H
#define DEFT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct strbuf;

/* True if both have the same bytes. */
bool text_equal(const char *a, const char *b) NONNULL MUST_CHECK;
/* ASCII letters compare without regard to case. */
bool text_equal_nocase(const char *a, const char *b) NONNULL MUST_CHECK;
bool text_starts_with(const char *text, const char *prefix) NONNULL MUST_CHECK;
bool text_ends_with(const char *text, const char *suffix) NONNULL MUST_CHECK;
/* True for "" and for text of white space alone. */
bool text_is_blank(const char *text) NONNULL MUST_CHECK;
/* Constant-time equality: the time does not depend on where they differ. */
bool text_equal_secret(const char *a, const char *b) NONNULL MUST_CHECK;

/* A whole decimal number within min..max; ERROR_INVALID with the text's name otherwise. */
int text_parse_int(const char *text, int64_t min, int64_t max, int64_t *value_out,
                   struct error *err) NONNULL MUST_CHECK;

/* True when bytes are valid UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool utf8_is_valid(const char *bytes, size_t len) NONNULL MUST_CHECK;
/* Number of code points of valid UTF-8. */
size_t utf8_length(const char *text, size_t len) NONNULL MUST_CHECK;
/* Byte offset of the n-th code point; len when there are fewer. */
size_t utf8_offset(const char *text, size_t len, size_t n) NONNULL MUST_CHECK;
/* Appends bytes to out, each broken sequence and each NUL replaced by U+FFFD. */
void utf8_append_repaired(struct strbuf *out, const char *bytes, size_t len);

#endif
