/*
 * The tool task: a call that a sub-agent answers (sub_agent_work.h).
 */
#ifndef DEFT_WORKER_AGENT_CALLS_TASK_CALL_H
#define DEFT_WORKER_AGENT_CALLS_TASK_CALL_H

#include <stddef.h>

#include "base/attr.h"

struct agent;
struct error;
struct sub_agent_waits;

/*
 * Advances the call at that index of the history by one step: gives the work to a sub-agent, or
 * stores the outcome; *waits gets the sub-agent as long as it runs. The progress is kept in
 * agent_state (model/conversation/task.h), stored together with the sub-agent, so that no step is
 * repeated after a crash. Errors as pending_call_begin().
 */
int task_call_run(struct agent *agent, size_t action, struct sub_agent_waits *waits,
                  struct error *err) NONNULL MUST_CHECK;

#endif
