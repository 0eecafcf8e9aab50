/*
 * Internal to lib/llm: the cost of a call.
 */
#ifndef DEFT_LLM_PRICE_H
#define DEFT_LLM_PRICE_H

#include <jansson.h>

#include "base/attr.h"

struct llm_usage;

/*
 * Cost in US dollars: the one already in the usage (reported by a proxy), else from the configured
 * prices per token, else from the price table; 0 if unknown.
 */
double price_of(const json_t *spec, const char *model,
                const struct llm_usage *usage) NONNULL MUST_CHECK;

#endif
