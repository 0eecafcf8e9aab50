/*
 * The MCP servers that the workspace names: stored with what a run learns of its project, and read
 * again at the beginning of each later run if there were any. A server that has changed is shown to
 * the user anew, and is not the agent's until the user has consented to it.
 *
 * Threading: the conversation's thread.
 * Decision: docs/decisions/0100-servers-of-a-workspace.md
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_SERVER_READING_H
#define DEFT_WORKER_AGENT_SANDBOX_SERVER_READING_H

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct error;
struct event_list;

/*
 * Puts the servers that were found (project_servers_read()) into the specification, with their
 * secrets masked where clients see them, and appends the event that shows them if they are others
 * than before.
 */
void server_reading_take(struct agent *agent, json_t *found, struct event_list *events) NONNULL;
/*
 * Reads them again if that is due; a sandbox that does not answer leaves them as they are.
 * ERROR_CANCELLED after a stop request, and the errors of event_writer_append_once().
 */
int server_reading_settle(struct agent *agent, struct error *err) NONNULL MUST_CHECK;

#endif
