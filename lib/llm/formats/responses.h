/*
 * Internal to lib/llm: the format of OpenAI's Responses, a row of the table of formats (format.h).
 * deft sends the whole conversation with each call and lets the server store nothing.
 * Source: https://platform.openai.com/docs/api-reference/responses
 */
#ifndef DEFT_LLM_FORMATS_RESPONSES_H
#define DEFT_LLM_FORMATS_RESPONSES_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct catalogue;
struct llm_error;
struct llm_plan;
struct llm_prompt;
struct llm_request;
struct llm_route;
struct response_builder;

/* The system text of a prompt is plain text: the request has it as one string. */
void responses_add_message(struct llm_prompt *prompt, json_t *message) NONNULL;
void responses_add_tools(struct llm_prompt *prompt, const json_t *tools) NONNULL;
char *responses_request_body(const struct catalogue *catalogue, const struct llm_request *request,
                             const struct llm_route *route,
                             const struct llm_plan *plan) NONNULL MUST_CHECK;
int responses_read_event(struct response_builder *builder, const json_t *event, bool *is_last_out,
                         struct llm_error *llm_error) NONNULL MUST_CHECK;
int responses_read_answer(struct response_builder *builder, const json_t *answer,
                          struct llm_error *llm_error) NONNULL MUST_CHECK;

#endif
