/*
 * Finds which of many words a text contains, ignoring case. One pass over the text finds all of a
 * megabyte of words (Aho and Corasick, 1975), regardless of partial matches.
 *
 * Ownership: the text is borrowed until word_search_free().
 * Threading: one thread.
 */
#ifndef DEFT_MODEL_WORD_SEARCH_H
#define DEFT_MODEL_WORD_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct word_search;

enum word_place {
    WORD_ALONE, /* no adjacent letter or digit: "git" is in "use git!", not in "digital" */
    WORD_ANYWHERE,
};

struct word_search *word_search_new(const char *text, enum word_place place) NONNULL MUST_CHECK;
void word_search_free(struct word_search *search);
void word_search_freep(struct word_search **search) NONNULL;
/* Adds a word to look for; "" is never found. Returns its number: 0, 1, …. */
size_t word_search_add(struct word_search *search, const char *word) NONNULL;
/* True if the text contains the word of that number. */
bool word_search_has(struct word_search *search, size_t number) NONNULL MUST_CHECK;

#endif
