/*
 * Validates the members of a start request that are stored as the client wrote them.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_START_START_CHECK_H
#define DEFT_MODEL_START_START_CHECK_H

#include <jansson.h>

#include "base/attr.h"

struct json_path;

/*
 * Checks plugins, agent_definitions, hook_config and the agent's filter_tools_regex; errors are
 * appended to problems.
 */
void start_check_extras(json_t *values, const struct json_path *body, json_t *problems) NONNULL;

#endif
