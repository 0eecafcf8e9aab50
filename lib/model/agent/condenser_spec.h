/*
 * The condenser of an agent, as a client described it.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_AGENT_CONDENSER_SPEC_H
#define DEFT_MODEL_AGENT_CONDENSER_SPEC_H

#include <jansson.h>

#include "base/attr.h"

struct conversation_defaults;
struct json_path;

/*
 * Reads a condenser: LLMSummarizingCondenser, NoOpCondenser, or a PipelineCondenser of these. Other
 * kinds, and members out of range, go to `problems`. A new reference.
 */
json_t *condenser_read(json_t *input, const struct conversation_defaults *defaults,
                       const struct json_path *path, json_t *problems) NONNULL MUST_CHECK;
/* Checks the shares among the members of a condenser, which are above 0 and below 1. */
void condenser_check_shares(json_t *condenser, const struct json_path *path, json_t *problems)
    __attribute__((nonnull(2, 3)));

#endif
