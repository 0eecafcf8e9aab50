/*
 * Messages of the Model Context Protocol that a client needs to list a server's tools and call one.
 *
 * Source: Model Context Protocol, revision 2025-06-18; JSON-RPC 2.0.
 * Threading: no state.
 */
#ifndef DEFT_MODEL_TOOLS_MCP_H
#define DEFT_MODEL_TOOLS_MCP_H

#include <jansson.h>

#include "base/attr.h"

struct error;

#define MCP_VERSION "2025-06-18"

/* Each returns a new reference. */
json_t *mcp_initialize(json_int_t id) MUST_CHECK;
json_t *mcp_initialized(void) MUST_CHECK;
/* cursor: from the previous page, or NULL. */
json_t *mcp_list_tools(json_int_t id, const char *cursor) MUST_CHECK;
/* arguments may be NULL. */
json_t *mcp_call_tool(json_int_t id, const char *name, json_t *arguments)
    __attribute__((nonnull(2))) MUST_CHECK;

/* Gives a reply's result, borrowed; ERROR_INVALID with the server's message if it is an error. */
int mcp_result(const json_t *reply, const json_t **result_out,
               struct error *err) NONNULL MUST_CHECK;
/* Appends the tool names in a list result to `names`. */
void mcp_add_tool_names(const json_t *result, json_t *names) NONNULL;
/* Returns {"is_error","text"} of a call's result. A new reference. */
json_t *mcp_call_outcome(const json_t *result) NONNULL MUST_CHECK;

#endif
