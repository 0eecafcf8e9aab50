#include "worker/agent/core/condensed_history.h"

#include <malloc.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/prompt/project_knowledge.h"
#include "store/conversation/condensed_view_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/model_view.h"
#include "worker/agent/core/transcript.h"
#include "worker/context.h"

/* That many events take megabytes, in fragments that only malloc_trim() returns. */
enum { MANY_EVENTS = 2000 };

/* --- what stays --- */

/* The position of the newest Condensation; history->n if there is none after the gap's. */
static size_t find_condensation(const struct history *history)
{
    for (size_t i = history->n; i > 0 && history->items[i - 1].seq > history->gap.seq; i--) {
        if (stored_event_is(&history->items[i - 1], "Condensation"))
            return i - 1;
    }
    return history->n;
}

static void keep_view(const struct history *history, bool *kept)
{
    for (size_t i = 0; i < history->n; i++) {
        const struct stored_event *event = &history->items[i];

        kept[i] = kept[i] || model_view_reads(event) || event->summary != NULL;
        if (event->summary != NULL)
            kept[model_view_condensation_of(history, event->summary)] = true;
    }
}

static void keep_recent(const struct history *history, size_t n_recent, bool *kept)
{
    for (size_t i = history->n; i > 0 && n_recent > 0; i--) {
        if (!model_view_may_read(&history->items[i - 1]))
            continue;
        kept[i - 1] = true;
        /* Only the model reads the texts of hooks. */
        if (!model_view_is_context(&history->items[i - 1]))
            n_recent--;
    }
}

static void keep_first_words(const struct history *history, bool *kept)
{
    const struct stored_event *first = history_first_user_message(history);

    if (first != NULL)
        kept[first - history->items] = true;
}

/* True if a reading adds to a message of the view; the others can be many. */
static bool adds_to_view(const struct history *history, const json_t *knowledge)
{
    if (!project_knowledge_has_extra(knowledge))
        return false;
    for (size_t i = 0; i < history->n; i++) {
        const struct stored_event *event = &history->items[i];

        if (stored_event_is(event, "MessageEvent") && model_view_reads(event) &&
            project_knowledge_extra(knowledge, event->id.text) != NULL)
            return true;
    }
    return false;
}

/*
 * The newest reading of the workspace, and those that add to messages of the view; also the first,
 * which workers of the release before need, and a hook's request for another one.
 */
static void keep_knowledge(const struct history *history, bool *kept)
{
    const json_t *newest = history_find_knowledge(history);
    size_t request = history_find_hook_request(history);
    bool is_first = true;

    if (request < history->n)
        kept[request] = true;
    for (size_t i = 0; i < history->n; i++) {
        const json_t *knowledge = stored_event_knowledge(&history->items[i]);

        if (knowledge == NULL)
            continue;
        if (is_first || knowledge == newest || adds_to_view(history, knowledge))
            kept[i] = true;
        is_first = false;
    }
}

/* Hooks before a run's end are about the last status, or about their last execution after it. */
static void keep_end(const struct history *history, bool *kept)
{
    const struct stored_event *status = history_find_status(history);
    size_t i = status != NULL ? (size_t)(status - history->items) : history->n;

    for (; i < history->n; i++) {
        const struct stored_event *event = &history->items[i];

        kept[i] = kept[i] || event == status || stored_event_is(event, "HookExecutionEvent");
    }
}

/* A call without its result would be run again. */
static void keep_calls_whole(const struct history *history, bool *kept)
{
    for (size_t i = 0; i < history->n; i++) {
        const struct stored_event *result = NULL;

        if (!stored_event_is(&history->items[i], "ActionEvent"))
            continue;
        result = history_find_result(history, i);
        if (result == NULL)
            kept[i] = true;
        else if (kept[i])
            kept[result - history->items] = true;
    }
}

/* --- compact --- */

static void leave_out(struct history *history, const bool *kept)
{
    size_t n = 0;

    for (size_t i = 0; i < history->n; i++) {
        struct stored_event *event = &history->items[i];

        if (kept[i]) {
            history->items[n++] = *event;
            continue;
        }
        history_note_ids(&history->gap, event);
        stored_event_drop(event);
    }
    history->n = n;
    history->size = n;
    history->items = mem_resize(history->items, n * sizeof(*history->items));
}

bool condensed_history_compact(struct history *history, size_t n_recent)
{
    size_t condensation = find_condensation(history);
    bool *kept = NULL;

    if (condensation == history->n)
        return false;
    kept = mem_alloc_array(history->n, sizeof(*kept));
    for (size_t i = condensation; i < history->n; i++)
        kept[i] = true;
    keep_view(history, kept);
    keep_recent(history, n_recent, kept);
    keep_first_words(history, kept);
    keep_knowledge(history, kept);
    keep_end(history, kept);
    keep_calls_whole(history, kept);
    history->gap.n_iterations = history_count_iterations_until(history, condensation + 1);
    history->gap.seq = history->items[condensation].seq;
    leave_out(history, kept);
    mem_free(kept);
    return true;
}

void condensed_history_settle(struct agent *agent, size_t n_recent)
{
    size_t n_before = agent->history.n;
    struct error err = ERROR_INIT;

    if (!agent->is_condensed)
        return;
    agent->is_condensed = false;
    if (!condensed_history_compact(&agent->history, n_recent))
        return;
    transcript_restart(&agent->transcript);
    if (condensed_view_store_save(agent->context->db, &agent->lease, &agent->history, &err) < 0)
        log_info("view.not_stored", LOG_ERROR(&err));
    if (n_before - agent->history.n > MANY_EVENTS)
        (void)malloc_trim(0);
}
