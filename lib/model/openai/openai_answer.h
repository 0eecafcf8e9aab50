/*
 * Responses of the OpenAI-compatible API: a finished conversation's last message, and its token
 * usage.
 *
 * Threading: pure.
 * Source:    https://platform.openai.com/docs/api-reference/chat/object, …/responses/object
 */
#ifndef DEFT_MODEL_OPENAI_OPENAI_ANSWER_H
#define DEFT_MODEL_OPENAI_OPENAI_ANSWER_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct openai_usage {
    int64_t input_tokens;
    int64_t cached_tokens; /* of the input */
    int64_t output_tokens;
    int64_t reasoning_tokens; /* of the output */
};

struct openai_answer {
    const char *model; /* as requested */
    const char *text;
    struct openai_usage usage;
    int64_t begun_s; /* unix seconds */
    int64_t ended_s;
};

/* Sums the tokens of a conversation's models from its stats; all zero if there are no calls. */
struct openai_usage openai_usage_of(const json_t *stats) MUST_CHECK;
/* The usage since `before`. */
struct openai_usage openai_usage_since(const struct openai_usage *now,
                                       const struct openai_usage *before) NONNULL MUST_CHECK;

/* Returns a profile's object in the list of models. A new reference. */
json_t *openai_model(const char *profile) NONNULL MUST_CHECK;
/* Returns a chat.completion with a new id. A new reference. */
json_t *openai_chat_completion(const struct openai_answer *answer) NONNULL MUST_CHECK;
/* Returns a response with a new id. asked: the request's values, some of which are echoed. */
json_t *openai_response(const struct openai_answer *answer, const json_t *asked) NONNULL MUST_CHECK;

#endif
