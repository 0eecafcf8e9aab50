/*
 * The run of a call (llm_call_run() of llm.h): attempts with a backoff between them, until one
 * succeeds, its failure is final, or the call is cancelled.
 * Decision: docs/decisions/0009-model-calls.md
 */
#include <stddef.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "llm/format.h"
#include "llm/llm_call.h"
#include "llm/llm_error.h"
#include "llm/llm_http.h"
#include "llm/llm_prompt.h"
#include "llm/price.h"
#include "llm/response_builder.h"
#include "llm/route.h"
#include "llm/scripted.h"
#include "llm/window.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/model_table.h"

enum {
    ATTEMPTS_DEFAULT = 5,
    ATTEMPTS_MAX = 20,
    TIMEOUT_DEFAULT_S = 300,
    TIMEOUT_MAX_S = 24 * 3600,
    RETRY_WAIT_MAX_S = 3600,
    MULTIPLIER_DEFAULT_S = 8,
    MIN_WAIT_DEFAULT_S = 8,
    MAX_WAIT_DEFAULT_S = 64,
    /* a longer Retry-After fails the call */
    RETRY_AFTER_MAX_MS = 10 * 60 * 1000,
    TIMEOUT_DEFAULT_MS = TIMEOUT_DEFAULT_S * 1000,
};

static const double MS_PER_S = 1e3;
static const double US_PER_S = 1e6;

/* Backoff parameters. */
struct retry_rule {
    json_int_t n_attempts;
    double multiplier_s;
    double min_wait_s;
    double max_wait_s;
};

/* --- settings in the specification --- */

static json_int_t clamped(json_int_t value, json_int_t low, json_int_t high)
{
    if (value < low)
        return low;
    return value > high ? high : value;
}

static double clamped_real(double value, double low, double high)
{
    if (value < low)
        return low;
    return value > high ? high : value;
}

/* Converts seconds to milliseconds; absent: the fallback; null: none (0). */
static int64_t read_timeout_ms(const json_t *spec, const char *key, int64_t fallback_ms)
{
    const json_t *value = json_object_get(spec, key);

    if (json_is_null(value))
        return 0;
    if (!json_is_number(value))
        return fallback_ms;
    return (int64_t)(clamped_real(json_number_value(value), 0.001, TIMEOUT_MAX_S) * MS_PER_S);
}

static struct llm_plan read_plan(const json_t *spec)
{
    struct llm_plan plan = {0};

    plan.timeout_ms = read_timeout_ms(spec, "timeout", TIMEOUT_DEFAULT_MS);
    plan.idle_timeout_ms = read_timeout_ms(spec, "stream_idle_timeout", plan.timeout_ms);
    plan.is_stream = json_bool_or(spec, "stream", false) != 0;
    return plan;
}

static struct retry_rule read_retry_rule(const json_t *spec)
{
    return (struct retry_rule){
        .n_attempts = clamped(json_int_or(spec, "num_retries", ATTEMPTS_DEFAULT), 1, ATTEMPTS_MAX),
        .multiplier_s = clamped_real(json_number_or(spec, "retry_multiplier", MULTIPLIER_DEFAULT_S),
                                     0, RETRY_WAIT_MAX_S),
        .min_wait_s = clamped_real(json_number_or(spec, "retry_min_wait", MIN_WAIT_DEFAULT_S), 0,
                                   RETRY_WAIT_MAX_S),
        .max_wait_s = clamped_real(json_number_or(spec, "retry_max_wait", MAX_WAIT_DEFAULT_S), 0,
                                   RETRY_WAIT_MAX_S),
    };
}

bool llm_has_default_retries(const json_t *spec)
{
    const struct retry_rule rule = read_retry_rule(spec);

    return rule.n_attempts == ATTEMPTS_DEFAULT && rule.multiplier_s == MULTIPLIER_DEFAULT_S &&
           rule.min_wait_s == MIN_WAIT_DEFAULT_S && rule.max_wait_s == MAX_WAIT_DEFAULT_S;
}

/* --- waiting --- */

/*
 * Exponential backoff with full jitter: the bound doubles with each attempt, and the delay is
 * random up to it so that calls that failed together do not retry together. A Retry-After is used
 * as given, but for 0 and a time that has passed: they say nothing about when the server is back.
 */
static int64_t retry_wait_ms(const struct retry_rule *rule, json_int_t n_failed,
                             int64_t retry_after_ms)
{
    double bound_s = rule->multiplier_s;
    uint32_t random = 0;
    int64_t wait_ms = 0;

    if (retry_after_ms > 0)
        return retry_after_ms;
    for (json_int_t i = 1; i < n_failed && bound_s < rule->max_wait_s; i++)
        bound_s *= 2;
    bound_s = bound_s < rule->min_wait_s ? rule->min_wait_s : bound_s;
    bound_s = bound_s > rule->max_wait_s ? rule->max_wait_s : bound_s;
    crypto_random(&random, sizeof(random));
    wait_ms = (int64_t)(bound_s * MS_PER_S * ((double)random / (double)UINT32_MAX));
    return wait_ms;
}

static bool has_retry(const struct retry_rule *rule, json_int_t n_failed,
                      const struct llm_error *llm_error)
{
    return llm_error_may_retry(llm_error) && n_failed < rule->n_attempts &&
           llm_error->retry_after_ms <= RETRY_AFTER_MAX_MS;
}

/* Reports the failure and sleeps before the next attempt; false if there is none. */
static bool wait_for_retry(struct llm_call *call, const struct retry_rule *rule,
                           json_int_t n_failed, const struct llm_listener *listener,
                           struct llm_error *llm_error)
{
    bool is_last = !has_retry(rule, n_failed, llm_error);
    int64_t wait_ms = is_last ? 0 : retry_wait_ms(rule, n_failed, llm_error->retry_after_ms);
    const struct llm_attempt failed = {
        .reason = llm_error->detail,
        .n_attempts = is_last ? 0 : rule->n_attempts,
        .retry_in_ms = wait_ms,
    };

    if (listener != NULL)
        listener->failed(listener->owner, &failed);
    if (is_last)
        return false;
    log_debug("llm.retried", LOG_STR("error", llm_error->detail), LOG_INT("attempt", n_failed),
              LOG_INT("wait_ms", wait_ms));
    if (llm_call_sleep(call, wait_ms))
        return true;
    llm_error_set(llm_error, LLM_CAUSE_CANCELLED, "The model call was cancelled.");
    return false;
}

/* --- attempts --- */

static void complete_usage(const struct llm_call *call, const struct llm_request *request,
                           int64_t began_us, struct llm_reply *reply)
{
    const char *model = json_text_or(request->spec, "model", "");
    const struct model_facts *facts =
        catalogue_find_model(call->llm->options.catalogue, catalogue_model_name(request->spec));
    struct llm_usage *usage = &reply->usage;
    json_t *block = NULL;
    size_t i = 0;

    reply->model = mem_dup_text(model);
    json_array_foreach (reply->thinking, i, block)
        json_put_text(block, "model", model);
    if (reply->reasoning_item != NULL)
        json_put_text(reply->reasoning_item, "model", model);
    usage->usage_id = request->usage_id;
    usage->model = reply->model;
    usage->latency_s = (double)(clock_monotonic_us() - began_us) / US_PER_S;
    usage->at_s = (double)clock_utc_us() / US_PER_S;
    usage->cost = price_of(request->spec, facts, usage);
    usage->context_window = window_of(request->spec, facts);
}

static int attempt(struct llm_call *call, const struct llm_request *request,
                   const struct llm_route *route, const struct llm_plan *plan,
                   struct llm_reply *reply_out, struct llm_error *llm_error)
{
    CLEANUP(response_builder_done) struct response_builder builder = RESPONSE_BUILDER_INIT;
    int64_t began_us = clock_monotonic_us();
    int rc = 0;

    if (route->format == LLM_FORMAT_SCRIPTED)
        rc = scripted_attempt(call, request, route->model, &builder, llm_error);
    else
        rc = llm_http_attempt(call, request, route, plan, &builder, llm_error);
    if (rc < 0 || response_builder_finish(&builder, reply_out, llm_error) < 0)
        return -1;
    complete_usage(call, request, began_us, reply_out);
    return 0;
}

/* A model that returned nothing at temperature 0 would return nothing again. */
static bool must_warm(const struct llm_request *request, const struct llm_error *llm_error)
{
    const json_t *temperature = json_object_get(request->spec, "temperature");

    return llm_error->cause == LLM_CAUSE_NO_RESPONSE && json_is_number(temperature) &&
           json_number_value(temperature) <= 0;
}

static int run_attempts(struct llm_call *call, const struct llm_request *request,
                        const struct llm_route *route, struct llm_reply *reply_out,
                        struct llm_error *llm_error)
{
    struct llm_plan plan = read_plan(request->spec);
    struct retry_rule rule = read_retry_rule(request->spec);

    if (request->is_single_attempt)
        rule.n_attempts = 1;
    for (json_int_t n = 1;; n++) {
        if (attempt(call, request, route, &plan, reply_out, llm_error) == 0)
            return 0;
        plan.is_warm = plan.is_warm || must_warm(request, llm_error);
        if (!wait_for_retry(call, &rule, n, request->listener, llm_error)) {
            llm_error_note_wait(llm_error);
            return -1;
        }
    }
}

/* --- the call --- */

static int run_route(struct llm_call *call, const struct llm_request *request,
                     struct llm_reply *reply_out, struct llm_error *llm_error)
{
    CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
    const struct llm_format *format = NULL;

    if (llm_route_choose(call->llm->options.catalogue, request->spec, &route, llm_error) < 0)
        return -1;
    format = llm_format_of(route.format);
    if (format->check != NULL && format->check(request, &route, llm_error) < 0)
        return -1;
    return run_attempts(call, request, &route, reply_out, llm_error);
}

/* Words that may turn out to be a call are not for the user. */
static void leave_out(void *owner, const struct llm_piece *piece)
{
    (void)owner;
    (void)piece;
}

int llm_call_run(struct llm_call *call, const struct llm_request *request,
                 struct llm_reply *reply_out, struct llm_failure *failure_out, struct error *err)
{
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct llm_listener without_pieces = {.piece = leave_out};
    struct llm_request own = *request;
    int rc = 0;

    if (request->listener != NULL && request->prompt->calls.functions != NULL) {
        without_pieces.failed = request->listener->failed;
        without_pieces.owner = request->listener->owner;
        own.listener = &without_pieces;
    }
    llm_error.request = request;
    rc = run_route(call, &own, reply_out, &llm_error);
    if (rc < 0)
        return llm_error_report(&llm_error, failure_out, err);
    text_calls_take(&request->prompt->calls, &request->prompt->end.calls, reply_out);
    return 0;
}
