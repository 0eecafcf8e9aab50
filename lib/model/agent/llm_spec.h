/*
 * A language model as the creator of a conversation described it, with all defaults filled in.
 * Secrets are not yet removed.
 */
#ifndef DEFT_MODEL_AGENT_LLM_SPEC_H
#define DEFT_MODEL_AGENT_LLM_SPEC_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation_defaults;
struct json_path;

/* Reads one LLM object. Returns a new reference; errors are appended to problems. */
json_t *llm_spec_read(json_t *input, const struct conversation_defaults *defaults,
                      const struct json_path *path, json_t *problems) NONNULL MUST_CHECK;

/*
 * True if an LLM object of a model of Bedrock, or of none, has credentials or an address of AWS: it
 * is then not called with the server's key, even if it names the server's model.
 */
bool llm_spec_has_aws(const json_t *llm) MUST_CHECK;

#endif
