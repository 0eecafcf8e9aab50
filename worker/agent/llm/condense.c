#include "worker/agent/llm/condense.h"

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
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
#include "worker/agent/core/token_count.h"
#include "worker/agent/llm/hard_reset.h"
#include "worker/agent/llm/outage.h"
#include "worker/agent/llm/summary.h"
#include "worker/agent/llm/view_tokens.h"

/* Number of further events after which a condenser that failed is used again. */
#define PATIENCE_EVENTS 10
#define TOO_LONG_CODE "LLMContextWindowExceedError"
#define TOO_LONG_TEXT                                                                              \
    "The conversation is longer than the model can read, and nothing in it can be summarised any " \
    "more."
#define NO_ROOM_CODE "LLMBadRequestError"

#define NO_ROOM_FORMAT                                                                             \
    "The condenser's max_tokens of %zu leaves no room for the conversation: the system prompt "    \
    "alone has about %zu tokens. Raise max_tokens."
#define TRUNCATED_FORMAT                                                                           \
    "The server of the model reads only about %lld tokens of a conversation of about %zu, and "    \
    "drops the rest without an error. Give the model a longer context there (Ollama: num_ctx), "   \
    "or set max_input_tokens and a condenser."

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
    change.cost_nanos = cost_to_nanos(reply->usage.cost);
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

static int end_truncated(struct agent *agent, const struct view_tokens *tokens, bool *settled_out,
                         struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    strbuf_appendf(&words, TRUNCATED_FORMAT, (long long)tokens->window, tokens->n_tokens);
    return end_too_long(agent, TOO_LONG_CODE, words.text, settled_out, err);
}

/* Continues without a summary, which cannot be made now. failure: NULL, nothing to summarise. */
static int do_without(struct agent *agent, const struct view_tokens *tokens,
                      const struct llm_failure *failure, bool *settled_out, struct error *err)
{
    if (agent->must_condense)
        return end_too_long(agent, failure == NULL ? TOO_LONG_CODE : llm_failure_code(failure),
                            failure == NULL ? TOO_LONG_TEXT : failure->detail, settled_out, err);
    if (tokens->window > 0 && view_tokens_are_over(tokens))
        return end_truncated(agent, tokens, settled_out, err);
    agent->unsummed_until = model_view_length(&agent->history) + PATIENCE_EVENTS;
    return 0;
}

/* Refuses a limit that not even the system prompt keeps. */
static int refuse_limit(struct agent *agent, const struct view_tokens *tokens, size_t n_system,
                        bool *settled_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    strbuf_appendf(&words, NO_ROOM_FORMAT, tokens->max_tokens, n_system);
    return end_too_long(agent, NO_ROOM_CODE, words.text, settled_out, err);
}

/* The need for a condensation, and what to ask for. */
struct need {
    struct view_tokens tokens;
    bool is_hard; /* a view that is not condensed cannot be sent, or not for long */
    struct summary_request request;
};

static int ask(struct agent *agent, struct need *need, struct llm_reply *reply_out,
               struct llm_failure *failure_out, struct error *err)
{
    if (need->is_hard)
        return hard_reset_ask(agent, &need->request, reply_out, failure_out, err);
    if (need->request.range->events.n == 0)
        return error_set(err, ERROR_NOT_FOUND, "nothing to summarise");
    return summary_ask(agent, &need->request, reply_out, failure_out, err);
}

static int condense(struct agent *agent, struct need *need, bool *settled_out, struct error *err)
{
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    struct llm_failure failure = LLM_FAILURE_INIT;
    struct error cause = ERROR_INIT;
    bool was_asked = true;

    if (ask(agent, need, &reply, &failure, &cause) == 0) {
        *settled_out = true;
        agent->must_condense = false;
        return store(agent, need->request.range, &reply, err);
    }
    if (cause.code == ERROR_CANCELLED) {
        *err = cause;
        return -1;
    }
    /* Without a summary the run could not go on. */
    if (need->is_hard && outage_may_wait(agent, &failure)) {
        *settled_out = true;
        return outage_wait(agent, &failure, err);
    }
    was_asked = failure.detail[0] != '\0' || cause.code != ERROR_NOT_FOUND;
    if (was_asked)
        log_info("condensation.failed", LOG_STR("code", llm_failure_code(&failure)),
                 LOG_ERROR(&cause));
    return do_without(agent, &need->tokens, was_asked ? &failure : NULL, settled_out, err);
}

/*
 * The usual range; none where the last condensation did not suffice, or nothing but a hard reset
 * will.
 */
static void choose_range(const struct agent *agent, const struct need *need, const size_t *tokens)
{
    struct model_view_rule rule = summary_rule(need->request.condenser);

    if (need->is_hard && model_view_is_fresh(&agent->history))
        return;
    rule.forget_tokens = view_tokens_to_forget(&need->tokens);
    rule.tokens = tokens;
    if (is_long(agent))
        rule.max_size = max_size(agent);
    if (agent->must_condense)
        rule.max_size = rule.forget_tokens > 0 ? model_view_length(&agent->history) : 0;
    model_view_choose_range(&agent->history, &rule, need->request.range);
}

/* The model's tokens of the system prompt, which is never forgotten. */
static size_t system_tokens(const struct agent *agent, const struct need *need,
                            const size_t *tokens)
{
    for (size_t i = 0; i < agent->history.n; i++) {
        if (stored_event_is(&agent->history.items[i], "SystemPromptEvent"))
            return (size_t)((double)tokens[i] * need->tokens.scale);
    }
    return 0;
}

/* The limit is too low for any conversation. An estimate alone does not end a run. */
static int settle_hopeless(struct agent *agent, struct need *need, size_t n_system,
                           bool *settled_out, struct error *err)
{
    if (need->tokens.max_tokens > 0 && n_system >= need->tokens.max_tokens)
        return refuse_limit(agent, &need->tokens, n_system, settled_out, err);
    if (need->tokens.window > 0)
        return end_truncated(agent, &need->tokens, settled_out, err);
    need->tokens.limit = 0;
    return 0;
}

/* tokens: of the history's events, see token_count_events(). */
static int condense_counted(struct agent *agent, struct need *need, const size_t *tokens,
                            bool *settled_out, struct error *err)
{
    size_t n_system = system_tokens(agent, need, tokens);

    if (view_tokens_are_over(&need->tokens) && n_system >= need->tokens.limit) {
        if (settle_hopeless(agent, need, n_system, settled_out, err) < 0)
            return -1;
        need->is_hard = agent->must_condense;
        if (*settled_out || (!need->is_hard && !is_long(agent)))
            return 0;
    }
    choose_range(agent, need, tokens);
    return condense(agent, need, settled_out, err);
}

static int condense_view(struct agent *agent, struct need *need, bool *settled_out,
                         struct error *err)
{
    size_t *tokens = mem_alloc_array(agent->history.n, sizeof(*tokens));
    int rc = 0;

    token_count_events(&agent->history, tokens);
    rc = condense_counted(agent, need, tokens, settled_out, err);
    mem_free(tokens);
    return rc;
}

int condense_if_due(struct agent *agent, bool *settled_out, struct error *err)
{
    CLEANUP(model_view_range_done) struct model_view_range range = MODEL_VIEW_RANGE_INIT;
    json_auto_t *condenser = NULL;
    struct need need = {.tokens = view_tokens_measure(agent)};
    bool is_over = view_tokens_are_over(&need.tokens) &&
                   model_view_length(&agent->history) > agent->unsummed_until;

    *settled_out = false;
    /* A client's request was served by a condensation, so ours is no longer needed. */
    if (agent->must_condense && !model_view_is_condensation_due(&agent->history))
        agent->must_condense = false;
    if (!agent->must_condense && !is_over && !is_long(agent))
        return 0;
    condenser = summary_condenser(agent);
    if (condenser == NULL)
        return is_over && need.tokens.window > 0
                   ? end_truncated(agent, &need.tokens, settled_out, err)
                   : 0;
    need.is_hard = agent->must_condense || is_over;
    need.request = (struct summary_request){condenser, &range, SUMMARY_PREVIEW_CHARS};
    return condense_view(agent, &need, settled_out, err);
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
