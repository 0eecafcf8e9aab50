/*
 * What an agent passes to lib/start when it starts a conversation.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_AGENT_START_H
#define DEFT_WORKER_AGENT_CALLS_AGENT_START_H

#include "base/attr.h"
#include "start/start_context.h"

struct agent;
struct conversation;
struct error;
struct start_rows;

/*
 * For the stages from placing on: it has no defaults and no list of problems. The agent is a caller
 * like a sandbox's key: its conversations run in its sandbox. Borrows from the agent.
 */
struct start_context agent_start_context(const struct agent *agent) NONNULL MUST_CHECK;
/* start_rows_plan() for a child in its folder, with the task as its first message. */
int agent_start_plan(const struct catalogue *catalogue, struct conversation *child,
                     const char *task, struct start_rows *rows_out,
                     struct error *err) NONNULL MUST_CHECK;

#endif
