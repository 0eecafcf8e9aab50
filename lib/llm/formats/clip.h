/*
 * Internal to lib/llm: the length of a tool's output that a model is shown.
 */
#ifndef DEFT_LLM_FORMATS_CLIP_H
#define DEFT_LLM_FORMATS_CLIP_H

#include <jansson.h>

#include "base/attr.h"

/* Head and tail of a text that is too long, a new reference; NULL if it is not too long. */
json_t *clip_tool_text(const char *text) NONNULL MUST_CHECK;

#endif
