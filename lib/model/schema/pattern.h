/*
 * Regular expressions as clients write them: the form of Python's `re`, which PCRE2 knows but for
 * details, matched from a text's beginning as re.match() does.
 *
 * Ownership: pattern_free() releases a pattern.
 * Threading: a pattern is immutable; any thread.
 */
#ifndef DEFT_MODEL_SCHEMA_PATTERN_H
#define DEFT_MODEL_SCHEMA_PATTERN_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct pattern;

/* ERROR_INVALID, in words and with the place, for what is none or too large. */
int pattern_new(const char *text, struct pattern **pattern_out,
                struct error *err) NONNULL MUST_CHECK;
void pattern_free(struct pattern *pattern);
void pattern_freep(struct pattern **pattern) NONNULL;
/* The work is bounded: what is not found by then does not match. */
bool pattern_matches(const struct pattern *pattern, const char *text) NONNULL MUST_CHECK;

#endif
