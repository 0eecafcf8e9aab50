/*
 * Internal to lib/llm: Google's native format, generateContent and streamGenerateContent, a row of
 * the table of formats (format.h). Source: https://ai.google.dev/api/generate-content
 */
#ifndef DEFT_LLM_FORMATS_GEMINI_H
#define DEFT_LLM_FORMATS_GEMINI_H

#include <stdbool.h>
#include <stddef.h>

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

/* The last content of a prompt stays open, without the "]}" of its parts: more may join it. */
void gemini_add_message(struct llm_prompt *prompt, json_t *message) NONNULL;
void gemini_add_tools(struct llm_prompt *prompt, const json_t *tools) NONNULL;
void gemini_add_headers(const struct llm_request *request, const struct llm_route *route,
                        struct llm_headers *headers) NONNULL;
char *gemini_request_body(const struct catalogue *catalogue, const struct llm_request *request,
                          const struct llm_route *route,
                          const struct llm_plan *plan) NONNULL MUST_CHECK;
int gemini_read_event(struct response_builder *builder, const json_t *event, bool *is_last_out,
                      struct llm_error *llm_error) NONNULL MUST_CHECK;
int gemini_read_answer(struct response_builder *builder, const json_t *answer,
                       struct llm_error *llm_error) NONNULL MUST_CHECK;
int gemini_read_error(struct llm_error *llm_error, long status, const char *body,
                      size_t len) NONNULL;

#endif
