/*
 * The answers of OpenAI's interfaces: a finished conversation's last words, and what they cost.
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
    const char *model; /* as it was asked for */
    const char *text;
    struct openai_usage usage;
    int64_t begun_s; /* unix seconds */
    int64_t ended_s;
};

/* What a conversation's models have used, by its stats; no calls: all zero. */
struct openai_usage openai_usage_of(const json_t *stats) MUST_CHECK;
/* What was used since. */
struct openai_usage openai_usage_since(const struct openai_usage *now,
                                       const struct openai_usage *before) NONNULL MUST_CHECK;

/* The object of a profile in the list of models. A new reference. */
json_t *openai_model(const char *profile) NONNULL MUST_CHECK;
/* A chat.completion with a fresh id. A new reference. */
json_t *openai_chat_completion(const struct openai_answer *answer) NONNULL MUST_CHECK;
/* A response with a fresh id; asked: the request's values, some of which come back. */
json_t *openai_response(const struct openai_answer *answer, const json_t *asked) NONNULL MUST_CHECK;

#endif
