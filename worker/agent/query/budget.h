/*
 * Budgets: what a conversation, and the conversations of its user, may have cost when the model is
 * called.
 *
 * Threading: the agent's thread.
 * Decision:  docs/decisions/0086-errors-and-budgets.md, 0095-budgets-of-users.md
 */
#ifndef DEFT_WORKER_AGENT_QUERY_BUDGET_H
#define DEFT_WORKER_AGENT_QUERY_BUDGET_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

/* Within this time a budget that a user is given counts in runs that are under way. */
enum { BUDGET_UNLIMITED_MS = 10000 };

struct agent;
struct error;
struct strbuf;

/*
 * Checks that a further call is within the budgets of the conversation, of its user, and of the
 * user's day. If it is not, or a budget cannot be kept because the price of the model is unknown,
 * appends to *detail_out, for the user, why. That a user has no budget is remembered for
 * BUDGET_UNLIMITED_MS. Errors: of the database.
 */
int budget_check_call(struct agent *agent, struct strbuf *detail_out,
                      struct error *err) NONNULL MUST_CHECK;
/*
 * False if the conversation has a budget that could not be kept with this model, another one than
 * its own: its price is unknown.
 */
bool budget_allows_model(const struct agent *agent, const json_t *llm) NONNULL MUST_CHECK;

#endif
