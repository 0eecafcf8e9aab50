/*
 * Runs the calls of an answer, several at once where the agent's tool_concurrency_limit and their
 * resources allow it. Each result is stored as soon as it is there; the model reads them in the
 * order of the calls.
 *
 * Decision: docs/decisions/0083-calls-at-once.md
 */
#ifndef DEFT_WORKER_AGENT_CALLS_CALL_BATCH_H
#define DEFT_WORKER_AGENT_CALLS_CALL_BATCH_H

#include <stdbool.h>

#include "base/attr.h"
#include "worker/agent/core/run_control.h"

struct agent;
struct error;
struct index_list;

/*
 * Runs the pending calls, indexes into the history, until all have results, the run is over, or a
 * stop request lets no more of them start. Errors as pending_call_begin(); calls that then still
 * run continue in the sandbox, where their results are found by their ids.
 */
int call_batch_run(struct agent *agent, const struct index_list *pending,
                   struct error *err) NONNULL MUST_CHECK;
/* A pause lets the calls of an answer complete; other stops do not. */
bool call_batch_stops(enum stop_kind stop) MUST_CHECK;

#endif
