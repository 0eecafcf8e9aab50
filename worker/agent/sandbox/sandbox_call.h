/*
 * Runs a stored tool call in the conversation's sandbox: once, whichever worker began it.
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_SANDBOX_CALL_H
#define DEFT_WORKER_AGENT_SANDBOX_SANDBOX_CALL_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct agent_tool;
struct error;
struct strbuf;

/*
 * action: index of its event in the history. Returns an observation (a new reference), or appends
 * to *problem_out, for the model, why there is none. ERROR_CANCELLED after a stop request,
 * ERROR_STALE if the lease is lost, ERROR_UNAVAILABLE if there is no sandbox, with a message for
 * the user.
 */
int sandbox_call_run(struct agent *agent, size_t action, const struct agent_tool *tool,
                     json_t **observation_out, struct strbuf *problem_out,
                     struct error *err) NONNULL MUST_CHECK;

#endif
