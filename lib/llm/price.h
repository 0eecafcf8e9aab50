/*
 * Inside of lib/llm: what a call has cost.
 */
#ifndef DEFT_LLM_PRICE_H
#define DEFT_LLM_PRICE_H

#include <jansson.h>

#include "base/attr.h"

struct llm_usage;

/*
 * US dollars: the cost that is in the usage already (a proxy said it), else by the configured
 * prices per token, else by the price table; 0 when nobody knows.
 */
double price_of(const json_t *spec, const char *model,
                const struct llm_usage *usage) NONNULL MUST_CHECK;

#endif
