/*
 * Stored sessions that a run does not continue: their servers are gone, or configured otherwise.
 *
 * Threading: the conversation's thread.
 * Decision: docs/decisions/0099-living-mcp-servers.md
 */
#ifndef DEFT_WORKER_AGENT_MCP_ENDED_SESSIONS_H
#define DEFT_WORKER_AGENT_MCP_ENDED_SESSIONS_H

#include "base/attr.h"

struct agent;
struct error;

/*
 * Once per run, before it makes new sessions: adds a job that ends them, and forgets them, in one
 * write. Errors as event_writer_append().
 */
int ended_sessions_settle(struct agent *agent, struct error *err) NONNULL MUST_CHECK;

#endif
