/*
 * Regular expressions as clients write them: the form of Python's `re`, matched from a text's
 * beginning as re.match() does. Bytes are matched, so a character beyond ASCII is several.
 *
 * Known: . | ( ) [ ] ^ $ * + ? {m,n} and their lazy forms, (?: (?P<name> (?= (?! and (?i) at the
 * beginning, \d \w \s \b and their opposites, \A \Z, \t \n \r \f \v \xHH. Not known: back
 * references, looking behind, other flags.
 * The work of a match is bounded by the lengths of pattern and text, but where one looks ahead:
 * after PATTERN_MAX_STEPS it is given up, and does not match.
 *
 * Ownership: pattern_free() releases a pattern.
 * Threading: a pattern is immutable; any thread.
 */
#ifndef DEFT_BASE_PATTERN_H
#define DEFT_BASE_PATTERN_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct pattern;

#define PATTERN_MAX_OPS 1000
#define PATTERN_MAX_STEPS 1000000

/* ERROR_INVALID for what is none, ERROR_UNSUPPORTED for what is not known here or too large. */
int pattern_new(const char *text, struct pattern **pattern_out,
                struct error *err) NONNULL MUST_CHECK;
void pattern_free(struct pattern *pattern);
void pattern_freep(struct pattern **pattern) NONNULL;
bool pattern_matches(const struct pattern *pattern, const char *text) NONNULL MUST_CHECK;

#endif
