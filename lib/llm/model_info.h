/*
 * Internal to lib/llm: features and prices of known models, by name.
 */
#ifndef DEFT_LLM_MODEL_INFO_H
#define DEFT_LLM_MODEL_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

/* Message content must be one string rather than a list of parts. */
bool model_info_wants_plain_text(const char *model) NONNULL MUST_CHECK;
/* reasoning_content of earlier turns must be sent back. */
bool model_info_wants_reasoning_back(const char *model) NONNULL MUST_CHECK;
/* Whether the model is known to take it. */
enum model_info_answer { MODEL_INFO_NO, MODEL_INFO_YES, MODEL_INFO_UNKNOWN };
enum model_info_answer model_info_takes_effort(const char *model) NONNULL MUST_CHECK;
bool model_info_takes_cache_retention(const char *model) NONNULL MUST_CHECK;

struct model_info_price {
    const char *prefix; /* of the model's name without provider */
    int64_t context_tokens;
    double input_per_million; /* US dollars */
    double cached_per_million;
    double output_per_million;
};

/* The entry for a model, or NULL. Static storage. */
const struct model_info_price *model_info_price_of(const char *model) NONNULL MUST_CHECK;

#endif
