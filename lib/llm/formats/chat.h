/*
 * Internal to lib/llm: the format of OpenAI's Chat Completions, a row of the table of formats
 * (format.h), and known variants of compatible servers.
 */
#ifndef DEFT_LLM_FORMATS_CHAT_H
#define DEFT_LLM_FORMATS_CHAT_H

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

void chat_add_message(struct llm_prompt *prompt, json_t *message) NONNULL;
void chat_add_tools(struct llm_prompt *prompt, const json_t *tools) NONNULL;
void chat_add_headers(const struct llm_request *request, const struct llm_route *route,
                      struct llm_headers *headers) NONNULL;
char *chat_request_body(const struct catalogue *catalogue, const struct llm_request *request,
                        const struct llm_route *route,
                        const struct llm_plan *plan) NONNULL MUST_CHECK;
int chat_read_event(struct response_builder *builder, const json_t *event, bool *is_last_out,
                    struct llm_error *llm_error) NONNULL MUST_CHECK;
/* Takes a whole answer ("message") or a piece of one ("delta"); the member says which. */
int chat_read_answer(struct response_builder *builder, const json_t *answer,
                     struct llm_error *llm_error) NONNULL MUST_CHECK;

#endif
