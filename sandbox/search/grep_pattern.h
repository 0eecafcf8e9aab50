/*
 * Patterns of lines: POSIX extended regular expressions, with what models write beyond them:
 * \d, \w, \s and their opposites, (?:…) and a leading (?i). Letters match in any case.
 *
 * Ownership: the caller owns the struct until grep_pattern_done().
 */
#ifndef DEFT_SANDBOX_SEARCH_GREP_PATTERN_H
#define DEFT_SANDBOX_SEARCH_GREP_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;
struct strbuf;

struct grep_pattern {
    regex_t regex;
    bool is_set;
};

void grep_pattern_done(struct grep_pattern *pattern);
/* Rewrites the pattern as a POSIX expression. ERROR_INVALID for look-around, with words. */
int grep_pattern_translate(const char *text, struct strbuf *out,
                           struct error *err) NONNULL MUST_CHECK;
/* ERROR_INVALID, with words for the model. */
int grep_pattern_read(struct grep_pattern *pattern, const char *text,
                      struct error *err) NONNULL MUST_CHECK;
/* Whether a line of the text, of len bytes, matches; of long lines the first 8 KiB count. */
bool grep_pattern_finds(const struct grep_pattern *pattern, const char *text,
                        size_t len) NONNULL MUST_CHECK;

#endif
