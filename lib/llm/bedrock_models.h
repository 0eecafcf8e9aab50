/*
 * What models of Amazon Bedrock take, by the makers in their names.
 *
 * Threading: pure.
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html
 */
#ifndef DEFT_LLM_BEDROCK_MODELS_H
#define DEFT_LLM_BEDROCK_MODELS_H

#include <stdbool.h>

#include "base/attr.h"

/* True for models of Anthropic and Amazon, which take images in results of calls and the status of
 * a call; others refuse both. */
bool bedrock_takes_full_results(const char *model) NONNULL MUST_CHECK;

#endif
