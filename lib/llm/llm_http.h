/*
 * Internal to lib/llm: one attempt at a model that is an HTTP server, in the wire format of its
 * provider (format.h).
 */
#ifndef DEFT_LLM_LLM_HTTP_H
#define DEFT_LLM_LLM_HTTP_H

#include "base/attr.h"

struct llm_call;
struct llm_error;
struct llm_plan;
struct llm_request;
struct llm_route;
struct response_builder;

/*
 * Sends the request and reads the answer into the builder. A cost reported by the server goes to
 * builder->usage.
 */
int llm_http_attempt(struct llm_call *call, const struct llm_request *request,
                     const struct llm_route *route, const struct llm_plan *plan,
                     struct response_builder *builder,
                     struct llm_error *llm_error) NONNULL MUST_CHECK;

#endif
