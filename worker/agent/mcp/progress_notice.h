/*
 * Tells subscribers how far a call at an MCP server is. Nothing is stored.
 *
 * Threading: the conversation's thread.
 * Decision: docs/decisions/0110-progress-of-mcp-calls.md
 */
#ifndef DEFT_WORKER_AGENT_MCP_PROGRESS_NOTICE_H
#define DEFT_WORKER_AGENT_MCP_PROGRESS_NOTICE_H

#include <stddef.h>

#include "base/attr.h"

struct agent;
struct mcp_progress;

enum {
    /* Between two notices of a call: a page shows no more, and a server may report any number. */
    PROGRESS_NOTICE_MS = 500,
    PROGRESS_NEVER_MS = 3600000, /* no notice is to be sent: until the next turn */
};

/* action: index of the call's event in the history. The message is masked, then shortened. */
void progress_notice_send(const struct agent *agent, size_t action,
                          const struct mcp_progress *progress) NONNULL;

#endif
