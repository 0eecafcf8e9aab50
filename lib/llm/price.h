/*
 * Internal to lib/llm: the cost of a call.
 */
#ifndef DEFT_LLM_PRICE_H
#define DEFT_LLM_PRICE_H

#include <jansson.h>

#include "base/attr.h"

struct llm_usage;
struct model_facts;

/*
 * Cost in US dollars: the one already in the usage (reported by a proxy), else from the configured
 * prices per token, else from what is known of the model (NULL: nothing); COST_UNKNOWN if there is
 * no price.
 */
double price_of(const json_t *spec, const struct model_facts *facts, const struct llm_usage *usage)
    __attribute__((nonnull(1, 3))) MUST_CHECK;

#endif
