/*
 * Internal to lib/llm: the cost of a call, and the model's window.
 */
#ifndef DEFT_LLM_PRICE_H
#define DEFT_LLM_PRICE_H

#include <stdint.h>

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

/*
 * Most tokens that the model reads: as its LLM object says, else as is known of it (NULL: nothing);
 * 0: unknown.
 */
int64_t window_of(const json_t *spec, const struct model_facts *facts)
    __attribute__((nonnull(1))) MUST_CHECK;

#endif
