/*
 * Long histories: what the newest Condensation made needless leaves the run's memory, and the next
 * claim does not load it.
 *
 * Threading: an agent belongs to its conversation's thread.
 * Decision:  docs/decisions/0082-condensed-views.md
 */
#ifndef DEFT_WORKER_AGENT_CORE_CONDENSED_HISTORY_H
#define DEFT_WORKER_AGENT_CORE_CONDENSED_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct agent;
struct history;

/*
 * Leaves out of a history whose Condensations have been applied all events before the newest one
 * that no query on a history needs: the model's view, open calls, the first user message, the
 * n_recent newest events, what the workspace told and everything after the Condensation stay, and
 * so does the result of each call that stays. False if there is no Condensation since the last
 * time. Invalidates indexes.
 */
bool condensed_history_compact(struct history *history, size_t n_recent) NONNULL MUST_CHECK;

/* Between two steps: compacts the agent's history, and stores what is left for the next claim. */
void condensed_history_settle(struct agent *agent, size_t n_recent) NONNULL;

#endif
