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

struct strbuf;

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
    const char *id;      /* NULL: a new one */
    const char *item_id; /* of a response's message; NULL: a new one */
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

/* --- parts, also of streams; new references --- */

/* Appends a new id with that prefix. */
void openai_append_id(const char *prefix, struct strbuf *out) NONNULL;
json_t *openai_completion_usage(const struct openai_usage *usage) NONNULL MUST_CHECK;
json_t *openai_response_usage(const struct openai_usage *usage) NONNULL MUST_CHECK;
/* A response's completed message; id NULL: a new one. */
json_t *openai_message(const char *id, const char *text) __attribute__((nonnull(2))) MUST_CHECK;
/* Its only part. */
json_t *openai_text_part(const char *text) NONNULL MUST_CHECK;

#endif
