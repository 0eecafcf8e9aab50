/*
 * Condensation during a run, when the view exceeds its condenser's limit or the model's context.
 */
#ifndef DEFT_WORKER_AGENT_LLM_CONDENSE_H
#define DEFT_WORKER_AGENT_LLM_CONDENSE_H

#include <stdbool.h>

#include "base/attr.h"

struct agent;
struct error;
struct llm_failure;

/*
 * Condenses if due; sets *settled_out if that completes the step. If no summary can be made, a view
 * over the condenser's limit is kept as it is, and one over the model's context ends the run.
 */
int condense_if_due(struct agent *agent, bool *settled_out, struct error *err) NONNULL MUST_CHECK;
/* Whether a shorter view may succeed after this failure. */
bool condense_may_help(const struct agent *agent,
                       const struct llm_failure *failure) NONNULL MUST_CHECK;
/* Stores a CondensationRequest; the next step condenses. */
int condense_request(struct agent *agent, struct error *err) NONNULL MUST_CHECK;

#endif
