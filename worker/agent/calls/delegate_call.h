/*
 * The tool delegate: names sub-agents, and gives work to several of them, which run at once
 * (sub_agent_work.h). One result has the answers of all.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_DELEGATE_CALL_H
#define DEFT_WORKER_AGENT_CALLS_DELEGATE_CALL_H

#include <stddef.h>

#include "base/attr.h"

struct agent;
struct error;
struct sub_agent_waits;

/* Advances the call by one step, as task_call_run(). */
int delegate_call_run(struct agent *agent, size_t action, struct sub_agent_waits *waits,
                      struct error *err) NONNULL MUST_CHECK;

#endif
