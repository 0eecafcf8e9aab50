/*
 * The text of a search's observation.
 */
#ifndef DEFT_SANDBOX_SEARCH_SEARCH_WORDS_H
#define DEFT_SANDBOX_SEARCH_SEARCH_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct strbuf;

struct search_words {
    size_t n;         /* files found */
    const char *what; /* "matching", "containing" */
    const char *pattern;
    const char *folder;
    const json_t *paths; /* those that are listed */
    bool is_cut;         /* a limit ended the search */
};

void search_words_append(struct strbuf *out, const struct search_words *words) NONNULL;

#endif
