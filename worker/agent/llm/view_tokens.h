/*
 * The length of the model's view in tokens, against the limits on it.
 *
 * Threading: the agent's thread.
 * Decision:  docs/decisions/0093-tokens-of-views.md
 */
#ifndef DEFT_WORKER_AGENT_LLM_VIEW_TOKENS_H
#define DEFT_WORKER_AGENT_LLM_VIEW_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct agent;
struct llm_usage;

/* A plain value. Tokens are those of the messages, the system prompt included, without tools. */
struct view_tokens {
    size_t n_tokens;   /* of the view */
    size_t limit;      /* the lowest that is known; 0: none */
    size_t max_tokens; /* the condenser's; 0: none */
    int64_t window;    /* to which the server cuts prompts without saying so; 0: none known */
    double scale;      /* the model's tokens per token estimated by token_count.h */
};

/* Measures the view. Without any limit it is not counted. */
struct view_tokens view_tokens_measure(struct agent *agent) NONNULL MUST_CHECK;
bool view_tokens_are_over(const struct view_tokens *tokens) NONNULL MUST_CHECK;
/* Estimated tokens (token_count.h) to forget, so that half of the limit is left. */
size_t view_tokens_to_forget(const struct view_tokens *tokens) NONNULL MUST_CHECK;
/* Compares the usage that the agent's own model reported for the prompt as it is with its size. */
void view_tokens_note_usage(struct agent *agent, const struct llm_usage *usage) NONNULL;

#endif
