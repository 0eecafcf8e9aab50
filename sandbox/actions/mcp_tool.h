/*
 * The mcp tool: a call of a conversation's MCP server that is a program in this sandbox, or the
 * list of its tools. Models do not call it by this name.
 *
 * A body has args {"server", "method", "name"}, which identify the action, and next to them
 * {"program", "arguments", "timeout_ms"}, which contain secrets and may differ when it is repeated.
 * Source: docs/api/action-server.md, section 5.5
 */
#ifndef DEFT_SANDBOX_ACTIONS_MCP_TOOL_H
#define DEFT_SANDBOX_ACTIONS_MCP_TOOL_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct mcp_call;
struct mcp_outcome;
struct mcp_programs;
struct mcp_progress;
struct uuid;

struct mcp_tool_call {
    struct mcp_programs *programs;
    const struct uuid *conversation;
    const json_t *body; /* checked */
    const char *working_dir;
    /* As in struct mcp_call_spec. */
    void (*progressed)(void *owner, const struct mcp_progress *progress);
    void (*told)(void *owner, const struct mcp_outcome *outcome);
    void *owner;
};

/* ERROR_INVALID with the reason why the body cannot be run. */
int mcp_tool_check(const json_t *body, struct error *err) NONNULL MUST_CHECK;
/* Begins the call. Errors as mcp_programs_call(). */
int mcp_tool_start(const struct mcp_tool_call *call, struct mcp_call **call_out,
                   struct error *err) NONNULL MUST_CHECK;
/*
 * MCPToolObservation of a call, MCPListObservation of a list; with `error` if it failed. A new
 * reference.
 */
json_t *mcp_tool_observation(const json_t *body,
                             const struct mcp_outcome *outcome) NONNULL MUST_CHECK;

#endif
