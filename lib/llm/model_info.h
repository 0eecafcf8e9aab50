/*
 * Internal to lib/llm: features and prices of known models, by name.
 */
#ifndef DEFT_LLM_FEATURES_H
#define DEFT_LLM_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

/* Message content must be one string rather than a list of parts. */
bool features_wants_plain_text(const char *model) NONNULL MUST_CHECK;
/* reasoning_content of earlier turns must be sent back. */
bool features_wants_reasoning_back(const char *model) NONNULL MUST_CHECK;
/* Whether the model is known to take it. */
enum features_answer { FEATURES_NO, FEATURES_YES, FEATURES_UNKNOWN };
enum features_answer features_takes_effort(const char *model) NONNULL MUST_CHECK;
bool features_takes_cache_retention(const char *model) NONNULL MUST_CHECK;

struct features_price {
    const char *prefix; /* of the model's name without provider */
    int64_t context_tokens;
    double input_per_million; /* US dollars */
    double cached_per_million;
    double output_per_million;
};

/* The entry for a model, or NULL. Static storage. */
const struct features_price *features_price_of(const char *model) NONNULL MUST_CHECK;

#endif
