/*
 * A run that gives its lease and its thread back although it goes on being wanted.
 *
 * Threading: that of the conversation.
 */
#ifndef DEFT_WORKER_AGENT_CORE_RUN_WAIT_H
#define DEFT_WORKER_AGENT_CORE_RUN_WAIT_H

#include "base/attr.h"

struct agent;
struct error;

/*
 * The store has refused to let the run wait, in *err: nothing was stored, and the step is decided
 * again. stop: the stop request that it found, if that was the reason. Returns -1; replaces *err
 * where the run can tell more: ERROR_CONFLICT where the lease is still the run's.
 */
int run_wait_refused(struct agent *agent, const char *stop, struct error *err) NONNULL MUST_CHECK;

#endif
