/*
 * A condensation in the middle of a run: the view has become longer than its condenser allows, or
 * than the model reads.
 */
#ifndef DEFT_WORKER_AGENT_LLM_CONDENSE_H
#define DEFT_WORKER_AGENT_LLM_CONDENSE_H

#include <stdbool.h>

#include "base/attr.h"

struct agent;
struct error;
struct llm_failure;

/*
 * Condenses when it is time to; *settled_out when the step is over with it. A view that is only
 * long stays as it is when there is no summary to be had; one that is too long ends the run.
 */
int condense_if_due(struct agent *agent, bool *settled_out, struct error *err) NONNULL MUST_CHECK;
/* Whether a shorter view may be answered where this one has failed. */
bool condense_may_help(const struct agent *agent,
                       const struct llm_failure *failure) NONNULL MUST_CHECK;
/* Stores a CondensationRequest; the next step condenses. */
int condense_request(struct agent *agent, struct error *err) NONNULL MUST_CHECK;

#endif
