/*
 * Internal to lib/llm: how Anthropic's models are asked to think, whichever server they are called
 * at. An LLM object is that of llm_request.spec.
 * Source: https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking
 */
#ifndef DEFT_LLM_FORMATS_CLAUDE_THINKING_H
#define DEFT_LLM_FORMATS_CLAUDE_THINKING_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct catalogue;
struct llm_request;

/* The reasoning_effort of an LLM object: the contract's default if it is absent, "none" for null.
 */
const char *claude_effort_of(const json_t *spec) NONNULL MUST_CHECK;
/* The most tokens of an answer, with its thinking. */
int64_t claude_max_tokens(const struct catalogue *catalogue, const json_t *spec) NONNULL MUST_CHECK;
/* The beta of the API that the model's thinking needs; NULL: none. Static storage. */
const char *claude_beta_of(const json_t *spec) NONNULL MUST_CHECK;
/*
 * Puts "thinking" and "output_config" into members, as the effort asks for. Returns true if
 * sampling parameters would be refused.
 */
bool claude_put_thinking(json_t *members, const struct llm_request *request,
                         int64_t max_output) NONNULL MUST_CHECK;

#endif
