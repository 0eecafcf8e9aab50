/*
 * Estimates of how many tokens a model reads, from the size of neutral messages (llm/llm_prompt.h):
 * deft has no tokenizers. token_gauge.h corrects them by what the model's server reports.
 *
 * Threading: pure.
 * Decision:  docs/decisions/0093-tokens-of-views.md
 */
#ifndef DEFT_WORKER_AGENT_CORE_TOKEN_COUNT_H
#define DEFT_WORKER_AGENT_CORE_TOKEN_COUNT_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct history;

/* Images are counted apart, since not every model is sent them. */
struct token_count {
    size_t n_tokens; /* of text */
    size_t n_images;
};

/* Adds one message. Reasoning does not count: few models read it again. */
void token_count_add(struct token_count *count, const json_t *message) NONNULL;
/* Tokens of tools in the form of llm_prompt_set_tools(). */
size_t token_count_tools(const json_t *tools) NONNULL MUST_CHECK;
/* The count as one number, in which each image weighs the same. */
size_t token_count_sum(const struct token_count *count) NONNULL MUST_CHECK;
/*
 * Sets tokens[i] to the weight of the history's event i in the model's view, without its summary: a
 * call weighs as much as it and its result, and the result nothing. tokens: history->n places.
 */
void token_count_events(const struct history *history, size_t *tokens) NONNULL;

#endif
