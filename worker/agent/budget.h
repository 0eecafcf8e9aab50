/*
 * The budget of a run: what its conversation may have cost when the model is called.
 *
 * Threading: the agent's thread.
 * Decision:  docs/decisions/0086-errors-and-budgets.md
 */
#ifndef DEFT_WORKER_AGENT_BUDGET_H
#define DEFT_WORKER_AGENT_BUDGET_H

#include <stdbool.h>

#include "base/attr.h"

struct agent;
struct strbuf;

/*
 * True if the budget does not allow a further call: it is spent, or the price of the model is
 * unknown. Then appends to *detail_out, for the user, why.
 */
bool budget_forbids_call(const struct agent *agent, struct strbuf *detail_out) NONNULL MUST_CHECK;

#endif
