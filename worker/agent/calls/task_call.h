/*
 * The tool task: a call that a sub-agent answers. The run that made the call waits without a lease
 * and without a thread; it is claimed again when the sub-agent's run has ended, however it did.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_TASK_CALL_H
#define DEFT_WORKER_AGENT_CALLS_TASK_CALL_H

#include <stddef.h>

#include "base/attr.h"

struct agent;
struct error;

/*
 * Takes the call at that index of the history one step on: gives the work to a sub-agent and the
 * lease back (agent->is_over), or stores what came of it. What was done stands in agent_state
 * (model/conversation/task.h) with the sub-agent itself, so that it is done once, whoever dies.
 * Errors as call_run().
 */
int task_call_run(struct agent *agent, size_t action, struct error *err) NONNULL MUST_CHECK;

#endif
