/*
 * The tools of an agent's MCP servers (mcp_listing.h): offered to its model, checked.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_TOOLS_MCP_TOOLS_H
#define DEFT_MODEL_TOOLS_MCP_TOOLS_H

#include <jansson.h>

#include "base/attr.h"
#include "model/tools/agent_tool.h"

#define MCP_OBSERVATION_KIND "MCPToolObservation"
/* The sandbox's observation of a server's list of tools; never an event. */
#define MCP_LIST_OBSERVATION_KIND "MCPListObservation"

/* The tool so listed, with an action_kind that the caller frees. */
struct agent_tool mcp_tool(const json_t *listed) NONNULL MUST_CHECK;
/* Its server's name in the configuration, and its name there. Borrowed. */
const char *mcp_tool_server(const struct agent_tool *tool) NONNULL MUST_CHECK;
const char *mcp_tool_name(const struct agent_tool *tool) NONNULL MUST_CHECK;

#endif
