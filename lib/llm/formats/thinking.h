/*
 * Internal to lib/llm: thinking blocks of earlier answers that are sent back.
 */
#ifndef DEFT_LLM_FORMATS_THINKING_H
#define DEFT_LLM_FORMATS_THINKING_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

/*
 * The blocks that this model made, without their member "model", in a new array: another model's
 * server cannot check their signatures. A block that names no model counts as its own.
 */
json_t *thinking_of_model(const json_t *blocks, const char *model)
    __attribute__((nonnull(2))) MUST_CHECK;

/* True if this model made one of the blocks, as above. */
bool thinking_has_model(const json_t *blocks, const char *model)
    __attribute__((nonnull(2))) MUST_CHECK;

#endif
