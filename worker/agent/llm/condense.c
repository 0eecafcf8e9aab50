#include "worker/agent/llm/condense.h"

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "llm/llm.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "store/conversation/event_store.h"
#include "worker/agent/calls/run_end.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/model_view.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/llm/summary.h"

/* Number of further events after which a condenser that failed is used again. */
#define PATIENCE_EVENTS 10
#define TOO_LONG_CODE "LLMContextWindowExceedError"
#define TOO_LONG_TEXT                                                                              \
    "The conversation is longer than the model can read, and nothing in it can be summarised any " \
    "more."

static size_t max_size(const struct agent *agent)
{
    const json_t *spec = conversation_agent(&agent->conversation);
    const json_t *condenser = conversation_find_condenser(json_object_get(spec, "condenser"));

    return condenser == NULL ? 0 : (size_t)json_int_or(condenser, "max_size", 0);
}

static bool is_long(const struct agent *agent)
{
    size_t most = max_size(agent);
    size_t n = most > 0 ? model_view_length(&agent->history) : 0;

    return n > most && n > agent->unsummed_until;
}

/* --- store --- */

static bool has_condensation_behind(const struct history *history, size_t n)
{
    for (size_t i = n; i < history->n; i++) {
        if (stored_event_is(&history->items[i], "Condensation"))
            return true;
    }
    return false;
}

/*
 * A client's condensation that was stored in the meantime takes precedence; the cost of ours is
 * still counted.
 */
static int store_once(struct agent *agent, const struct model_view_range *range,
                      const struct llm_reply *reply, size_t n_seen, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf stats = STRBUF_INIT;
    json_auto_t *snapshot = stats_snapshot(agent->stats);
    struct conversation_write change = {.made_progress = true};

    stats_append_text(agent->stats, &stats);
    change.stats = stats.text;
    event_add_state(&events, "stats", snapshot);
    if (!has_condensation_behind(&agent->history, n_seen))
        summary_add(agent, range, reply, &events);
    return event_writer_append_once(agent, &events, &change, err);
}

static int store(struct agent *agent, const struct model_view_range *range,
                 const struct llm_reply *reply, struct error *err)
{
    size_t n_seen = agent->history.n;
    int rc = event_writer_refresh_row(agent, err);

    if (rc < 0)
        return -1;
    stats_add(agent->stats, &reply->usage);
    rc = store_once(agent, range, reply, n_seen, err);
    while (rc < 0 && err->code == ERROR_CONFLICT) {
        bool is_counted = !agent->has_foreign_stats && !agent->is_row_stale;

        if (event_writer_refresh_row(agent, err) < 0)
            return -1;
        if (!is_counted)
            stats_add(agent->stats, &reply->usage);
        rc = store_once(agent, range, reply, n_seen, err);
    }
    return rc;
}

/* --- condense --- */

static int end_too_long(struct agent *agent, const char *code, const char *words, bool *settled_out,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;

    agent->must_condense = false;
    *settled_out = true;
    secret_list_mask_text(&agent->secrets, words, &detail);
    return run_end_error(agent, code, detail.text, err);
}

/* Continues without a summary, which cannot be made now. */
static int do_without(struct agent *agent, const struct llm_failure *failure, bool *settled_out,
                      struct error *err)
{
    if (agent->must_condense)
        return end_too_long(agent, failure == NULL ? TOO_LONG_CODE : llm_failure_code(failure),
                            failure == NULL ? TOO_LONG_TEXT : failure->detail, settled_out, err);
    agent->unsummed_until = model_view_length(&agent->history) + PATIENCE_EVENTS;
    return 0;
}

static int condense(struct agent *agent, const json_t *condenser,
                    const struct model_view_range *range, bool *settled_out, struct error *err)
{
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    struct llm_failure failure = LLM_FAILURE_INIT;
    struct error cause = ERROR_INIT;

    if (summary_ask(agent, condenser, range, &reply, &failure, &cause) == 0) {
        *settled_out = true;
        agent->must_condense = false;
        return store(agent, range, &reply, err);
    }
    if (cause.code == ERROR_CANCELLED) {
        *err = cause;
        return -1;
    }
    log_info("condensation.failed", LOG_STR("code", llm_failure_code(&failure)), LOG_ERROR(&cause));
    return do_without(agent, &failure, settled_out, err);
}

int condense_if_due(struct agent *agent, bool *settled_out, struct error *err)
{
    CLEANUP(model_view_range_done) struct model_view_range range = MODEL_VIEW_RANGE_INIT;
    json_auto_t *condenser = NULL;
    struct model_view_rule rule = {.max_size = 0};

    *settled_out = false;
    /* A client's request was served by a condensation, so ours is no longer needed. */
    if (agent->must_condense && !model_view_is_condensation_due(&agent->history))
        agent->must_condense = false;
    if (!agent->must_condense && !is_long(agent))
        return 0;
    condenser = summary_condenser(agent);
    if (condenser == NULL)
        return 0;
    rule = summary_rule(condenser);
    rule.max_size = agent->must_condense ? 0 : max_size(agent);
    model_view_choose_range(&agent->history, &rule, &range);
    if (range.events.n == 0)
        return do_without(agent, NULL, settled_out, err);
    return condense(agent, condenser, &range, settled_out, err);
}

bool condense_may_help(const struct agent *agent, const struct llm_failure *failure)
{
    return (failure->kind == LLM_FAILURE_CONTEXT_WINDOW ||
            failure->kind == LLM_FAILURE_MALFORMED_HISTORY) &&
           max_size(agent) > 0;
}

int condense_request(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;

    event_add_condensation_request(&events);
    agent->must_condense = true;
    return event_writer_append(agent, &events, NULL, err);
}
