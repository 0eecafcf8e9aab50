/*
 * The tool start_child_conversation: starts a conversation that runs independently of its parent.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_START_CHILD_H
#define DEFT_WORKER_AGENT_CALLS_START_CHILD_H

#include <stddef.h>

#include "base/attr.h"

struct agent;
struct error;

/*
 * Runs the call at that index of the history. The child and the call's result are stored in one
 * transaction, so a crash never starts it twice. Errors as pending_call_begin().
 */
int start_child_run(struct agent *agent, size_t action, struct error *err) NONNULL MUST_CHECK;

#endif
