/*
 * The tool start_child_conversation: a conversation that goes on by itself, beside the one whose
 * agent started it.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_START_CHILD_H
#define DEFT_WORKER_AGENT_CALLS_START_CHILD_H

#include <stddef.h>

#include "base/attr.h"

struct agent;
struct error;

/*
 * Runs the call at that index of the history. The child and the call's result are stored at once,
 * so that it is started once, whoever dies. Errors as call_run().
 */
int start_child_run(struct agent *agent, size_t action, struct error *err) NONNULL MUST_CHECK;

#endif
