#include "worker/agent/core/model_view.h"

#include <string.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/json.h"
#include "base/text.h"
#include "store/conversation/event_store.h"

static const char SUMMARY_ENDING[] = "-summary";

bool model_view_is_context(const struct stored_event *event)
{
    const json_t *json = NULL;
    const char *type = NULL;

    /* Asked of every event: calls and results stay packed. */
    if (!stored_event_is(event, "HookExecutionEvent"))
        return false;
    json = stored_event_json(event);
    type = json_text_or(json, "hook_event_type", "");
    return (text_equal(type, "UserPromptSubmit") || text_equal(type, "SessionStart")) &&
           !text_is_blank(json_text_or(json, "additional_context", ""));
}

bool model_view_may_read(const struct stored_event *event)
{
    static const char *const kinds[] = {"SystemPromptEvent", "MessageEvent",
                                        "ActionEvent",       "ObservationEvent",
                                        "AgentErrorEvent",   "UserRejectObservation"};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (stored_event_is(event, kinds[i]))
            return true;
    }
    return model_view_is_context(event);
}

bool model_view_reads(const struct stored_event *event)
{
    return !event->is_forgotten && model_view_may_read(event);
}

/* --- apply --- */

/* The summary of a Condensation has that event's id plus a suffix. */
static void forget_summary(struct history *history, const char *id, size_t len)
{
    for (size_t i = 0; i < history->n; i++) {
        const struct stored_event *event = &history->items[i];
        const json_t *summary = NULL;

        if (!stored_event_is(event, "Condensation") || strncmp(event->id.text, id, len) != 0)
            continue;
        summary = json_object_get(stored_event_json(event), "summary");
        for (size_t j = 0; j < history->n; j++) {
            if (history->items[j].summary == summary)
                history->items[j].summary = NULL;
        }
    }
}

static void forget(struct history *history, const char *id)
{
    size_t len = strlen(id);

    if (text_ends_with(id, SUMMARY_ENDING)) {
        forget_summary(history, id, len - strlen(SUMMARY_ENDING));
        return;
    }
    for (size_t i = history->n; i > 0; i--) {
        if (!text_equal(history->items[i - 1].id.text, id))
            continue;
        history->items[i - 1].is_forgotten = true;
        return;
    }
}

/*
 * Places the summary before the event at that position in the view, else before the Condensation.
 */
static void place_summary(struct history *history, size_t condensation, size_t offset)
{
    const json_t *summary =
        json_object_get(stored_event_json(&history->items[condensation]), "summary");
    size_t place = 0;

    if (!json_is_string(summary))
        return;
    for (size_t i = 0; i < condensation; i++) {
        place += history->items[i].summary != NULL ? 1 : 0;
        if (!model_view_reads(&history->items[i]))
            continue;
        if (place >= offset) {
            history->items[i].summary = summary;
            return;
        }
        place++;
    }
    history->items[condensation].summary = summary;
}

bool model_view_apply(struct history *history, size_t first)
{
    bool has_any = false;

    for (size_t i = first; i < history->n; i++) {
        const json_t *json = NULL;
        const json_t *ids = NULL;

        if (!stored_event_is(&history->items[i], "Condensation"))
            continue;
        has_any = true;
        json = stored_event_json(&history->items[i]);
        ids = json_object_get(json, "forgotten_event_ids");
        for (size_t j = 0; j < json_array_size(ids); j++) {
            const char *id = json_string_value(json_array_get(ids, j));

            if (id != NULL)
                forget(history, id);
        }
        place_summary(history, i, (size_t)json_int_or(json, "summary_offset", 0));
    }
    return has_any;
}

bool model_view_is_condensation_due(const struct history *history)
{
    for (size_t i = history->n; i > 0; i--) {
        if (stored_event_is(&history->items[i - 1], "Condensation"))
            return false;
        if (stored_event_is(&history->items[i - 1], "CondensationRequest"))
            return true;
    }
    return false;
}

bool model_view_owes_condensation(const struct history *history)
{
    for (size_t i = history->n; i > 0; i--) {
        const struct stored_event *event = &history->items[i - 1];

        if (stored_event_is(event, "Condensation") || history_event_begins_run(event))
            return false;
        if (stored_event_is(event, "CondensationRequest") && event->is_of_run)
            return true;
    }
    return false;
}

size_t model_view_condensation_of(const struct history *history, const json_t *summary)
{
    for (size_t i = 0; i < history->n; i++) {
        if (stored_event_is(&history->items[i], "Condensation") &&
            json_object_get(stored_event_json(&history->items[i]), "summary") == summary)
            return i;
    }
    return history->n;
}

size_t model_view_length(const struct history *history)
{
    size_t n = 0;

    for (size_t i = 0; i < history->n; i++)
        n += (size_t)model_view_reads(&history->items[i]) +
             (history->items[i].summary != NULL ? 1 : 0);
    return n;
}

/* --- choose --- */

void model_view_range_done(struct model_view_range *range)
{
    index_list_done(&range->events);
    index_list_done(&range->summaries);
}

/* A view, and the positions at which it may be cut. */
struct cuts {
    struct index_list view;
    struct index_list places; /* positions in the view; the last one is its end */
};

static void cuts_done(struct cuts *cuts)
{
    index_list_done(&cuts->view);
    index_list_done(&cuts->places);
}

/* True for a call of the same answer as an earlier one. */
static bool continues_batch(const struct stored_event *event, const char *response_id)
{
    return stored_event_is(event, "ActionEvent") && response_id[0] != '\0' &&
           text_equal(stored_event_response(event), response_id);
}

static void find_cuts(const struct history *history, struct cuts *cuts)
{
    const char *response_id = "";
    size_t n_open = 0;

    for (size_t i = 0; i < history->n; i++) {
        const struct stored_event *event = &history->items[i];

        if (!model_view_reads(event))
            continue;
        if (n_open == 0 && !continues_batch(event, response_id))
            index_list_add(&cuts->places, cuts->view.n);
        index_list_add(&cuts->view, i);
        if (stored_event_is(event, "ActionEvent")) {
            response_id = stored_event_response(event);
            n_open += history_find_result(history, i) != NULL ? 1 : 0;
        } else if (uuid_is_set(&event->result_of) && n_open > 0) {
            n_open--;
        }
    }
    index_list_add(&cuts->places, cuts->view.n);
}

/* The first cut position at or after `least`; the view's end if there is none. */
static size_t cut_at(const struct cuts *cuts, size_t least)
{
    for (size_t i = 0; i < cuts->places.n; i++) {
        if (cuts->places.items[i] >= least)
            return cuts->places.items[i];
    }
    return cuts->view.n;
}

/* The last cut position at or before `most`; 0 if there is none. */
static size_t cut_before(const struct cuts *cuts, size_t most)
{
    size_t place = 0;

    for (size_t i = 0; i < cuts->places.n && cuts->places.items[i] <= most; i++)
        place = cuts->places.items[i];
    return place;
}

static size_t tail_length(size_t n, size_t keep_first)
{
    return n / 2 > keep_first + 1 ? n / 2 - keep_first - 1 : 0;
}

/*
 * Summaries in the range are forgotten with it; those before it shift the position of the new one.
 */
static void take_summaries(const struct history *history, size_t begin, size_t end,
                           struct model_view_range *range)
{
    size_t place = 0;

    for (size_t i = 0; i < history->n; i++) {
        const json_t *summary = history->items[i].summary;

        if (summary != NULL && place < begin)
            range->offset++;
        else if (summary != NULL && place <= end)
            index_list_add(&range->summaries, model_view_condensation_of(history, summary));
        place += model_view_reads(&history->items[i]) ? 1 : 0;
    }
}

/* Where the newest events to keep may begin, by their number. */
static size_t end_by_length(const struct cuts *cuts, const struct model_view_rule *rule,
                            size_t keep_first)
{
    size_t n = cuts->view.n;
    size_t tail = tail_length(rule->max_size > 0 ? rule->max_size : n, keep_first);

    if (rule->max_size == 0 && rule->forget_tokens > 0)
        return 0;
    return n > tail ? n - tail : 0;
}

/* The same by their tokens, when all from `begin` on is forgotten. */
static size_t end_by_tokens(const struct cuts *cuts, const struct model_view_rule *rule,
                            size_t begin)
{
    size_t end = begin;
    size_t n_tokens = 0;

    if (rule->tokens == NULL)
        return 0;
    while (end < cuts->view.n && n_tokens < rule->forget_tokens)
        n_tokens += rule->tokens[cuts->view.items[end++]];
    return end;
}

/* Fills the range with the view's events from begin to end, at most that many. */
static void fill_range(const struct history *history, const struct cuts *cuts,
                       const size_t places[2], size_t max_events,
                       struct model_view_range *range_out)
{
    size_t begin = places[0];
    size_t end = places[1];

    if (end > begin && end - begin > max_events)
        end = cut_before(cuts, begin + max_events);
    for (size_t i = begin; i < end; i++)
        index_list_add(&range_out->events, cuts->view.items[i]);
    range_out->offset = begin;
    take_summaries(history, begin, end, range_out);
}

void model_view_choose_range(const struct history *history, const struct model_view_rule *rule,
                             struct model_view_range *range_out)
{
    CLEANUP(cuts_done) struct cuts cuts = {INDEX_LIST_INIT, INDEX_LIST_INIT};
    size_t keep_first = rule->keep_first > 0 ? rule->keep_first : 1;
    bool is_soft = rule->max_size > 0 && rule->forget_tokens == 0;
    size_t by_length = 0;
    size_t by_tokens = 0;
    size_t begin = 0;
    size_t end = 0;

    find_cuts(history, &cuts);
    begin = cut_at(&cuts, keep_first);
    by_length = end_by_length(&cuts, rule, keep_first);
    by_tokens = end_by_tokens(&cuts, rule, begin);
    end = cut_at(&cuts, by_tokens > by_length ? by_tokens : by_length);
    if (end <= begin || (double)(end - begin) < rule->minimum_progress * (double)cuts.view.n) {
        begin = cut_at(&cuts, 1);
        end = is_soft ? begin : cuts.view.n;
    }
    fill_range(history, &cuts, (size_t[]){begin, end}, rule->max_events, range_out);
}

void model_view_take_all(const struct history *history, size_t max_events,
                         struct model_view_range *range_out)
{
    CLEANUP(cuts_done) struct cuts cuts = {INDEX_LIST_INIT, INDEX_LIST_INIT};

    find_cuts(history, &cuts);
    fill_range(history, &cuts, (size_t[]){cut_at(&cuts, 1), cuts.view.n}, max_events, range_out);
}

bool model_view_is_fresh(const struct history *history)
{
    for (size_t i = history->n; i > 0; i--) {
        if (stored_event_is(&history->items[i - 1], "Condensation"))
            return true;
        if (model_view_reads(&history->items[i - 1]))
            return false;
    }
    return false;
}
