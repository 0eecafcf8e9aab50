/*
 * Calls of MCP servers' tools. A server keeps no results, so the action is noted before it is sent:
 * a call that was noted and has no result is in doubt, and is only repeated if its tool says that
 * it reads, or that repeating has no effect.
 *
 * Decision: docs/decisions/0092-mcp-servers.md
 */
#ifndef DEFT_WORKER_AGENT_MCP_SERVER_CALL_H
#define DEFT_WORKER_AGENT_MCP_SERVER_CALL_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct agent_tool;
struct error;
struct strbuf;

/*
 * Runs the call at that index of the history: *observation_out is a new reference, or *problem_out
 * has the reason why there is none, for the model. ERROR_CANCELLED after a stop request,
 * ERROR_STALE if the lease is lost.
 */
int server_call_run(struct agent *agent, size_t action, const struct agent_tool *tool,
                    json_t **observation_out, struct strbuf *problem_out,
                    struct error *err) NONNULL MUST_CHECK;

#endif
