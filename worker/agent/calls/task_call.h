/*
 * The tool task: a call that a sub-agent answers. The run that made the call waits without a lease
 * and without a thread; it is claimed again when the sub-agent's run has ended, however it ended.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_TASK_CALL_H
#define DEFT_WORKER_AGENT_CALLS_TASK_CALL_H

#include <stddef.h>

#include "base/attr.h"

struct agent;
struct error;

/*
 * Advances the call at that index of the history by one step: hands the work to a sub-agent and
 * releases the lease (agent->is_over), or stores the outcome. The progress is kept in agent_state
 * (model/conversation/task.h), stored together with the sub-agent, so that no step is repeated
 * after a crash. Errors as pending_call_begin().
 */
int task_call_run(struct agent *agent, size_t action, struct error *err) NONNULL MUST_CHECK;

#endif
