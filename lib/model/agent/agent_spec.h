/*
 * The agent of a conversation as its creator described it: model, tools, condenser, context; with
 * all defaults filled in. Secrets are not yet removed.
 */
#ifndef DEFT_MODEL_AGENT_AGENT_SPEC_H
#define DEFT_MODEL_AGENT_AGENT_SPEC_H

#include <jansson.h>

#include "base/attr.h"

struct conversation_defaults;
struct json_path;

/* Reads an `agent` member. Returns a new reference; errors are appended to problems. */
json_t *agent_spec_read(json_t *input, const struct conversation_defaults *defaults,
                        const struct json_path *path, json_t *problems) NONNULL MUST_CHECK;
/* Builds the agent that an `agent_settings` member describes. As agent_spec_read(). */
json_t *agent_spec_from_settings(json_t *input, const struct conversation_defaults *defaults,
                                 const struct json_path *path, json_t *problems) NONNULL MUST_CHECK;

#endif
