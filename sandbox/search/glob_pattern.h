/*
 * Patterns of paths: *, ? and [a-z] within a part, ** for any number of parts, {a,b} for a choice.
 * A pattern without a slash matches the last part of a path.
 *
 * Ownership: the caller owns the struct until glob_pattern_done().
 */
#ifndef DEFT_SANDBOX_SEARCH_GLOB_PATTERN_H
#define DEFT_SANDBOX_SEARCH_GLOB_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;

enum { GLOB_CHOICES_MAX = 64, GLOB_PATTERN_MAX_BYTES = 1024 };

struct glob_pattern {
    char *choices[GLOB_CHOICES_MAX]; /* the pattern without braces */
    size_t n;
};

/* clang-format off */
#define GLOB_PATTERN_INIT {{NULL}, 0}
/* clang-format on */

void glob_pattern_done(struct glob_pattern *pattern);
/* ERROR_INVALID, with words for the model: too long, or too many choices. */
int glob_pattern_read(struct glob_pattern *pattern, const char *text,
                      struct error *err) NONNULL MUST_CHECK;
/* path: relative, without empty parts. */
bool glob_pattern_matches(const struct glob_pattern *pattern, const char *path) NONNULL MUST_CHECK;

#endif
