/*
 * Which of many words a text has; letters compare without regard to case. One pass over the text
 * finds all of a megabyte of words (Aho and Corasick, 1975), however often they almost occur.
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
    WORD_ALONE, /* no letter or digit beside it: "git" is in "use git!", not in "digital" */
    WORD_ANYWHERE,
};

struct word_search *word_search_new(const char *text, enum word_place place) NONNULL MUST_CHECK;
void word_search_free(struct word_search *search);
void word_search_freep(struct word_search **search) NONNULL;
/* Asks for a word; "" is in no text. Returns its number: 0, 1, …. */
size_t word_search_add(struct word_search *search, const char *word) NONNULL;
/* Whether the text has the word of that number. */
bool word_search_has(struct word_search *search, size_t number) NONNULL MUST_CHECK;

#endif
