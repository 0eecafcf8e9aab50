/*
 * Internal to lib/llm: one attempt in the format of OpenAI's Chat Completions, over HTTP.
 */
#ifndef DEFT_LLM_CHAT_H
#define DEFT_LLM_CHAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct response_builder;
struct llm_call;
struct llm_request;
struct llm_error;
struct llm_route;

/* Values that a call reads from its specification. */
struct llm_plan {
    int64_t timeout_ms;      /* of one attempt; 0: none */
    int64_t idle_timeout_ms; /* between two pieces of a stream; 0: none */
    bool is_stream;
    bool is_warm; /* always send temperature 1.0 */
};

/* The request body; the caller frees it with mem_free(). */
char *chat_request_body(const struct llm_request *request, const struct llm_route *route,
                        const struct llm_plan *plan) NONNULL MUST_CHECK;
/*
 * Sends the request and reads the answer into the builder. A cost reported by the server goes to
 * builder->usage.
 */
int chat_attempt(struct llm_call *call, const struct llm_request *request,
                 const struct llm_route *route, const struct llm_plan *plan,
                 struct response_builder *builder, struct llm_error *llm_error) NONNULL MUST_CHECK;

#endif
