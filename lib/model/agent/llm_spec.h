/*
 * A language model as the creator of a conversation described it, with all defaults filled in.
 * Secrets are not yet removed.
 */
#ifndef DEFT_MODEL_AGENT_LLM_SPEC_H
#define DEFT_MODEL_AGENT_LLM_SPEC_H

#include <jansson.h>

#include "base/attr.h"

struct conversation_defaults;
struct json_path;

/* Reads one LLM object. Returns a new reference; errors are appended to problems. */
json_t *llm_spec_read(json_t *input, const struct conversation_defaults *defaults,
                      const struct json_path *path, json_t *problems) NONNULL MUST_CHECK;

#endif
