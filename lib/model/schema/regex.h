/*
 * Clients' regular expressions, in the syntax of Python's `re`, which PCRE2 supports except for
 * details. They match at a text's start, as re.match() does.
 *
 * Ownership: regex_free() releases a pattern.
 * Threading: a pattern is immutable; any thread.
 * Decision: docs/decisions/0031-patterns.md
 */
#ifndef DEFT_MODEL_SCHEMA_REGEX_H
#define DEFT_MODEL_SCHEMA_REGEX_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct regex;

/* ERROR_INVALID with reason and position if the pattern is invalid or too large. */
int regex_new(const char *text, struct regex **regex_out, struct error *err) NONNULL MUST_CHECK;
void regex_free(struct regex *pattern);
void regex_freep(struct regex **pattern) NONNULL;
/* Work is limited: no match within the limit counts as none. */
bool regex_matches(const struct regex *pattern, const char *text) NONNULL MUST_CHECK;

#endif
