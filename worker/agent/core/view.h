/*
 * What the model reads of a history: all that was said and done, but for what a Condensation has
 * put a summary in the place of.
 *
 * Ownership: a view points into its history and is stale when that changes.
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_CORE_VIEW_H
#define DEFT_WORKER_AGENT_CORE_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "worker/agent/core/history.h"

/*
 * Marks in the history what the Condensations from event `first` on forget, and where their
 * summaries stand. True when there was one: messages made before are void.
 */
bool view_apply(struct history *history, size_t first) NONNULL MUST_CHECK;

/* True when a condensation was asked for and has not come yet. */
bool view_is_condensation_due(const struct history *history) NONNULL MUST_CHECK;

/* How many events the model reads, summaries among them. */
size_t view_length(const struct history *history) NONNULL MUST_CHECK;

/* What of a view is to be forgotten. */
struct view_range {
    struct index_list events;    /* of the history */
    struct index_list summaries; /* Condensations whose summaries go, too */
    size_t offset;               /* where the summary stands in the view */
};

/* clang-format off */
#define VIEW_RANGE_INIT {INDEX_LIST_INIT, INDEX_LIST_INIT, 0}
/* clang-format on */

void view_range_done(struct view_range *range);

/* How a condenser chooses: see the agent specification's LLMSummarizingCondenser. */
struct view_rule {
    size_t max_size;         /* that the view may have; 0: asked for at any size */
    size_t keep_first;       /* events at the head that stay */
    double minimum_progress; /* the least share of the view that is worth a summary */
    size_t max_events;       /* the most that one summary may stand for */
};

/*
 * The middle of the view: behind the head, before its newer half, or before as much as half of
 * max_size has room for; never between a call and its result. Empty when there is nothing to forget
 * or, with a max_size, too little; without one it is then all but the system prompt. Of more than
 * max_events the first, as far as they can be cut off.
 */
void view_choose_range(const struct history *history, const struct view_rule *rule,
                       struct view_range *range_out) NONNULL;

#endif
