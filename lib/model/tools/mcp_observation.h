/*
 * Results of MCP servers' tools as observations.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_TOOLS_MCP_OBSERVATION_H
#define DEFT_MODEL_TOOLS_MCP_OBSERVATION_H

#include <jansson.h>

#include "base/attr.h"

/*
 * The observation of a call's result, a new reference. tool: the server's name for it. What the
 * protocol has and clients do not is described in words; images that are too large for an event are
 * left out.
 */
json_t *mcp_observation(const char *tool, const json_t *result) NONNULL MUST_CHECK;

#endif
