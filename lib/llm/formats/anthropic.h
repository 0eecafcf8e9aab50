/*
 * Internal to lib/llm: the format of Anthropic's Messages, a row of the table of formats
 * (format.h). Source: https://docs.anthropic.com/en/api/messages
 */
#ifndef DEFT_LLM_FORMATS_ANTHROPIC_H
#define DEFT_LLM_FORMATS_ANTHROPIC_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct catalogue;
struct llm_error;
struct llm_headers;
struct llm_plan;
struct llm_prompt;
struct llm_request;
struct llm_route;
struct response_builder;
struct turn_blocks;

/* The blocks of its messages. */
extern const struct turn_blocks anthropic_blocks;

void anthropic_add_message(struct llm_prompt *prompt, json_t *message) NONNULL;
void anthropic_add_tools(struct llm_prompt *prompt, const json_t *tools) NONNULL;
void anthropic_add_headers(const struct llm_request *request, const struct llm_route *route,
                           struct llm_headers *headers) NONNULL;
char *anthropic_request_body(const struct catalogue *catalogue, const struct llm_request *request,
                             const struct llm_route *route,
                             const struct llm_plan *plan) NONNULL MUST_CHECK;
int anthropic_read_event(struct response_builder *builder, const json_t *event, bool *is_last_out,
                         struct llm_error *llm_error) NONNULL MUST_CHECK;
int anthropic_read_answer(struct response_builder *builder, const json_t *answer,
                          struct llm_error *llm_error) NONNULL MUST_CHECK;

#endif
