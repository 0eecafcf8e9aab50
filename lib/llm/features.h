/*
 * Inside of lib/llm: what a model is known to take, judged by its name, and what it costs.
 */
#ifndef DEFT_LLM_FEATURES_H
#define DEFT_LLM_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

/* Content as one text instead of a list of parts. */
bool features_wants_plain_text(const char *model) NONNULL MUST_CHECK;
/* reasoning_content of earlier turns is sent back. */
bool features_wants_reasoning_back(const char *model) NONNULL MUST_CHECK;
/* True, false, or unknown to us. */
enum features_answer { FEATURES_NO, FEATURES_YES, FEATURES_UNKNOWN };
enum features_answer features_takes_effort(const char *model) NONNULL MUST_CHECK;
bool features_takes_cache_retention(const char *model) NONNULL MUST_CHECK;

struct features_price {
    const char *prefix; /* of the model's name, without provider */
    int64_t context_tokens;
    double input_per_million; /* US dollars */
    double cached_per_million;
    double output_per_million;
};

/* The entry for a model, or NULL. Lives for ever. */
const struct features_price *features_price_of(const char *model) NONNULL MUST_CHECK;

#endif
