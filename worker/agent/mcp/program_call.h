/*
 * MCP servers that are programs of the sandbox: their calls and lists are actions there. The
 * sandbox keeps the program from call to call, and each call's result by the action's id, so that a
 * take-over neither loses nor repeats a call.
 *
 * Threading: the conversation's thread.
 * Decision: docs/decisions/0099-living-mcp-servers.md
 * Source: docs/api/action-server.md, section 5.5
 */
#ifndef DEFT_WORKER_AGENT_MCP_PROGRAM_CALL_H
#define DEFT_WORKER_AGENT_MCP_PROGRAM_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct agent_tool;
struct error;
struct sandbox_tool_call;
struct server_connection;
struct strbuf;

/* Whether the tool's server is a program, and the agent has a sandbox for it. */
bool program_call_is_possible(struct agent *agent,
                              const struct agent_tool *tool) NONNULL MUST_CHECK;
/* As sandbox_call_begin(), if it is possible. */
struct sandbox_tool_call *program_call_begin(struct agent *agent, size_t action,
                                             const struct agent_tool *tool) NONNULL MUST_CHECK;
/*
 * After sandbox_call_end(): an observation that says that the call failed becomes the problem, and
 * a changed list is noted.
 */
void program_call_settle(struct agent *agent, const struct agent_tool *tool, json_t **observation,
                         struct strbuf *problem) NONNULL;
/*
 * Asks a program for its tools, which are appended to `tools`. ERROR_INVALID with the reason why
 * there is no list, and the errors of own_action_run().
 */
int program_list(struct agent *agent, const struct server_connection *connection,
                 int64_t timeout_ms, json_t *tools, struct error *err) NONNULL MUST_CHECK;

#endif
