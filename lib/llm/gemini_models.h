/*
 * Internal to lib/llm: what Google's Gemini models take, by name, whichever server they are called
 * at. Source: https://ai.google.dev/gemini-api/docs/thinking
 */
#ifndef DEFT_LLM_GEMINI_MODELS_H
#define DEFT_LLM_GEMINI_MODELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

enum gemini_thinking {
    GEMINI_THINKING_NONE,
    GEMINI_THINKING_BY_BUDGET, /* tokens: generation 2.5 */
    GEMINI_THINKING_BY_LEVEL,  /* a word; all newer ones */
};

struct gemini_model {
    const char *name; /* beginning of the name without provider */
    enum gemini_thinking thinking;
    int64_t budget_min; /* least number of tokens, if it thinks */
    int64_t budget_max;
    bool may_not_think; /* a budget of 0 is allowed */
    bool has_minimal;   /* a level below "low" */
    bool has_no_medium; /* a level between "low" and "high" */
};

/* The entry for a model; NULL if it is not a Gemini model. Static storage. */
const struct gemini_model *gemini_find(const char *model) NONNULL MUST_CHECK;
/* True if the model refuses a call of its history without a signature. */
bool gemini_needs_signatures(const char *model) NONNULL MUST_CHECK;
/* True if a result of a call may have images. */
bool gemini_takes_result_images(const char *model) NONNULL MUST_CHECK;

#endif
