/*
 * Asks the agent's MCP servers for their tools, all at once, before the model's first call, and
 * stores what they offer; a server that did not answer is asked again by the next run, all of them
 * when one says that its tools have changed.
 *
 * Decision: docs/decisions/0092-mcp-servers.md
 */
#ifndef DEFT_WORKER_AGENT_MCP_SERVER_LISTING_H
#define DEFT_WORKER_AGENT_MCP_SERVER_LISTING_H

#include "base/attr.h"

struct agent;
struct error;

/*
 * Does nothing if all is known. Servers that fail do not stop the run: their tools are missing, and
 * the stored event says why. ERROR_CANCELLED after a stop request, and the errors of
 * event_writer_append_once().
 */
int server_listing_settle(struct agent *agent, struct error *err) NONNULL MUST_CHECK;

#endif
