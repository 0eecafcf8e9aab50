/*
 * Internal to lib/llm: the format of Amazon Bedrock's Converse and ConverseStream, a row of the
 * table of formats (format.h).
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 * Decision: docs/decisions/0098-bedrock.md
 */
#ifndef DEFT_LLM_FORMATS_BEDROCK_H
#define DEFT_LLM_FORMATS_BEDROCK_H

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

/* A cache mark, as one more block. */
#define BEDROCK_CACHE_POINT ",{\"cachePoint\":{\"type\":\"default\"}}"

/* The blocks of its messages. */
extern const struct turn_blocks bedrock_blocks;

void bedrock_add_message(struct llm_prompt *prompt, json_t *message) NONNULL;
void bedrock_add_tools(struct llm_prompt *prompt, const json_t *tools) NONNULL;
char *bedrock_request_body(const struct catalogue *catalogue, const struct llm_request *request,
                           const struct llm_route *route,
                           const struct llm_plan *plan) NONNULL MUST_CHECK;
int bedrock_read_event(struct response_builder *builder, const json_t *event, bool *is_last_out,
                       struct llm_error *llm_error) NONNULL MUST_CHECK;
int bedrock_read_answer(struct response_builder *builder, const json_t *answer,
                        struct llm_error *llm_error) NONNULL MUST_CHECK;

/*
 * The endpoint of a model: that of base_url or aws_bedrock_runtime_endpoint, else Bedrock's own in
 * aws_region_name, or in the region that the model's name or ARN has.
 */
int bedrock_locate(const json_t *spec, const char *base_url, struct llm_route *route,
                   struct llm_error *llm_error) __attribute__((nonnull(3, 4))) MUST_CHECK;
/* Refuses a call without credentials, or with those of two kinds. */
int bedrock_check(const struct llm_request *request, const struct llm_route *route,
                  struct llm_error *llm_error) NONNULL MUST_CHECK;
/* An API key, if there is one. */
void bedrock_add_headers(const struct llm_request *request, const struct llm_route *route,
                         struct llm_headers *headers) NONNULL;
/* Signs with the AWS credentials, if there is no API key. */
void bedrock_sign(const struct llm_request *request, const struct llm_route *route,
                  const char *body, struct llm_headers *headers) NONNULL;

#endif
