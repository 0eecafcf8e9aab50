#include "worker/agent/llm/hard_reset.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "llm/llm.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/model_view.h"
#include "worker/agent/llm/summary.h"

/* For a condenser that does not say; as in its schema. */
#define TRIES 5
#define SCALING 0.8

/* False for a failure that has nothing to do with what the model was asked. */
static bool may_shorten(const struct llm_failure *failure)
{
    switch (failure->kind) {
    case LLM_FAILURE_CONTEXT_WINDOW:
    case LLM_FAILURE_MALFORMED_HISTORY:
    case LLM_FAILURE_TIMEOUT:
    case LLM_FAILURE_CONTENT_POLICY:
    case LLM_FAILURE_BAD_REQUEST:
    case LLM_FAILURE_NO_RESPONSE:
    case LLM_FAILURE_API:
        return true;
    case LLM_FAILURE_AUTHENTICATION:
    case LLM_FAILURE_RATE_LIMIT:
    case LLM_FAILURE_SERVICE_UNAVAILABLE:
    case LLM_FAILURE_NOT_FOUND:
    case LLM_FAILURE_BAD_GATEWAY:
    case LLM_FAILURE_CANCELLED:
    case LLM_N_FAILURES:
        break;
    }
    return false;
}

/* The next, smaller number of characters per text; 0 if there is none. */
static size_t shorter(const struct agent *agent, const struct summary_request *request)
{
    double scaling =
        json_number_or(request->condenser, "hard_context_reset_context_scaling", SCALING);
    size_t n_chars = request->preview_chars;

    if (n_chars == SUMMARY_PREVIEW_CHARS)
        n_chars = summary_longest_preview(agent, request->range);
    n_chars = (size_t)((double)n_chars * scaling);
    return n_chars < request->preview_chars ? n_chars : 0;
}

/* Widens the range to all that can be summarised. False if it was that already. */
static bool widen(const struct agent *agent, struct summary_request *request)
{
    size_t n_before = request->range->events.n;

    model_view_range_done(request->range);
    *request->range = (struct model_view_range)MODEL_VIEW_RANGE_INIT;
    model_view_take_all(&agent->history, SUMMARY_MAX_EVENTS, request->range);
    return request->range->events.n != n_before;
}

static int ask_for_all(struct agent *agent, struct summary_request *request,
                       struct llm_reply *reply_out, struct llm_failure *failure_out,
                       struct error *err)
{
    json_int_t n_tries = json_int_or(request->condenser, "hard_context_reset_max_retries", TRIES);

    for (json_int_t n = 1; summary_ask(agent, request, reply_out, failure_out, err) < 0; n++) {
        size_t n_chars = shorter(agent, request);

        if (n >= n_tries || n_chars == 0 || !may_shorten(failure_out))
            return -1;
        log_info("condensation.shortened", LOG_INT("preview_chars", (int64_t)n_chars),
                 LOG_ERROR(err));
        request->preview_chars = n_chars;
    }
    return 0;
}

int hard_reset_ask(struct agent *agent, struct summary_request *request,
                   struct llm_reply *reply_out, struct llm_failure *failure_out, struct error *err)
{
    bool was_asked = request->range->events.n > 0;

    if (was_asked && summary_ask(agent, request, reply_out, failure_out, err) == 0)
        return 0;
    if (was_asked && !may_shorten(failure_out))
        return -1;
    if (!widen(agent, request) && was_asked)
        request->preview_chars = shorter(agent, request);
    if (request->range->events.n == 0)
        return error_set(err, ERROR_NOT_FOUND, "nothing to summarise");
    return ask_for_all(agent, request, reply_out, failure_out, err);
}
