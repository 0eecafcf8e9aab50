/*
 * Lists of allowed values as text: "a|b|c".
 */
#ifndef DEFT_MODEL_SCHEMA_WORDS_H
#define DEFT_MODEL_SCHEMA_WORDS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

/* True if word is one of words ("a|b|c"). */
bool words_contain(const char *words, const char *word) NONNULL MUST_CHECK;
/* Returns the words as an array of strings; NULL: an empty one. A new reference. */
json_t *words_to_json(const char *words) MUST_CHECK;

#endif
