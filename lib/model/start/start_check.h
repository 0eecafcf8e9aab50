/*
 * Members of a start request that are kept as the client wrote them: whether they are what the wire
 * contract says.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_START_START_CHECK_H
#define DEFT_MODEL_START_START_CHECK_H

#include <jansson.h>

#include "base/attr.h"

struct place;

/*
 * Checks plugins, agent_definitions, hook_config and the agent's filter_tools_regex of a request's
 * members; what is wrong is appended to problems.
 */
void start_check_extras(json_t *values, const struct place *body, json_t *problems) NONNULL;

#endif
