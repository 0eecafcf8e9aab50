/*
 * Clients' regular expressions, in the syntax of Python's `re`, which PCRE2 supports except for
 * details. They match at a text's start, as re.match() does.
 *
 * Ownership: pattern_free() releases a pattern.
 * Threading: a pattern is immutable; any thread.
 * Decision: docs/decisions/0031-patterns.md
 */
#ifndef DEFT_MODEL_SCHEMA_PATTERN_H
#define DEFT_MODEL_SCHEMA_PATTERN_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct pattern;

/* ERROR_INVALID with reason and position if the pattern is invalid or too large. */
int pattern_new(const char *text, struct pattern **pattern_out,
                struct error *err) NONNULL MUST_CHECK;
void pattern_free(struct pattern *pattern);
void pattern_freep(struct pattern **pattern) NONNULL;
/* Work is limited: no match within the limit counts as none. */
bool pattern_matches(const struct pattern *pattern, const char *text) NONNULL MUST_CHECK;

#endif
