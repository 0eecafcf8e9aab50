/*
 * The view: the part of a history that the model reads, with condensed events replaced by their
 * summaries.
 *
 * Ownership: a view points into its history and is invalid once that changes.
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_CORE_MODEL_VIEW_H
#define DEFT_WORKER_AGENT_CORE_MODEL_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "worker/agent/core/history.h"

/* True for the execution of a hook that added text for the model behind a message. */
bool model_view_is_context(const struct stored_event *event) NONNULL MUST_CHECK;
/* True for an event of a kind that the model reads, unless a Condensation removed it. */
bool model_view_may_read(const struct stored_event *event) NONNULL MUST_CHECK;
/* True for an event that the model reads. */
bool model_view_reads(const struct stored_event *event) NONNULL MUST_CHECK;

/*
 * Marks in the history which events the Condensations from event `first` on forget, and where their
 * summaries go. True if there was one: messages made before are invalid.
 */
bool model_view_apply(struct history *history, size_t first) NONNULL MUST_CHECK;

/* True if a condensation was requested and has not happened yet. */
bool model_view_is_condensation_due(const struct history *history) NONNULL MUST_CHECK;

/*
 * True if the run in progress, perhaps in another worker, found its view too long for the model,
 * and has not been condensed since. A client's request does not count: a job serves it.
 */
bool model_view_owes_condensation(const struct history *history) NONNULL MUST_CHECK;

/* The index of the Condensation whose summary that is. */
size_t model_view_condensation_of(const struct history *history,
                                  const json_t *summary) NONNULL MUST_CHECK;

/* Number of events that the model reads, summaries included. */
size_t model_view_length(const struct history *history) NONNULL MUST_CHECK;

/* The part of a view to forget. */
struct model_view_range {
    struct index_list events;    /* indexes into the history */
    struct index_list summaries; /* Condensations whose summaries are also forgotten */
    size_t offset;               /* position of the summary in the view */
};

/* clang-format off */
#define MODEL_VIEW_RANGE_INIT {INDEX_LIST_INIT, INDEX_LIST_INIT, 0}
/* clang-format on */

void model_view_range_done(struct model_view_range *range);

/* How a condenser chooses the range: see LLMSummarizingCondenser in the agent specification. */
struct model_view_rule {
    size_t max_size;         /* limit of the view's length; 0: condense at any length */
    size_t keep_first;       /* events to keep at the head */
    double minimum_progress; /* smallest share of the view worth a summary */
    size_t max_events;       /* most events that one summary may replace */
    size_t forget_tokens;    /* at least as many tokens to forget; 0: no such demand */
    const size_t *tokens;    /* token_count_events() of the history; borrowed; NULL: not counted */
};

/*
 * Chooses the middle of the view, after the head and before the newest events, of which it keeps as
 * many as, with the head and the summary, fill half of max_size (without one, half of the view),
 * but no more than forget_tokens allows; with forget_tokens and no max_size, as many as that
 * allows. Never separates a call from its result. If the range would be too small
 * (minimum_progress), it is empty where only max_size asks for it, else all but the system prompt.
 * A range of more than max_events is shortened at its end.
 */
void model_view_choose_range(const struct history *history, const struct model_view_rule *rule,
                             struct model_view_range *range_out) NONNULL;
/* The range of all events but the system prompt, at most max_events. */
void model_view_take_all(const struct history *history, size_t max_events,
                         struct model_view_range *range_out) NONNULL;
/* True if the model has nothing new to read since the newest Condensation. */
bool model_view_is_fresh(const struct history *history) NONNULL MUST_CHECK;

#endif
