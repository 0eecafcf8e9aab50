/*
 * Internal to lib/llm: how much a model reads. See also llm_window_tokens() in llm.h.
 *
 * Threading: pure.
 */
#ifndef DEFT_LLM_WINDOW_H
#define DEFT_LLM_WINDOW_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct model_facts;

/*
 * Most tokens that the model reads: as its LLM object says, else as is known of it (NULL: nothing);
 * 0: unknown.
 */
int64_t window_of(const json_t *spec, const struct model_facts *facts)
    __attribute__((nonnull(1))) MUST_CHECK;

#endif
