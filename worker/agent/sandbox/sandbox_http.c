#include "worker/agent/sandbox/sandbox_http.h"

#include <assert.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "client/runtime_api.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/side_wait.h"
#include "worker/context.h"

#define REPLY_MAX_BYTES ((size_t)(24 * 1024 * 1024))
#define TIMEOUT_SLACK_MS 500
/*
 * A sandbox that did not answer a poll is polled again soon; after this many failures it is
 * considered hung.
 */
#define LOOK_AGAIN_MS 1000
#define SILENCES_MAX 3

int sandbox_http_start(const struct agent *agent, const struct sandbox_endpoint *endpoint,
                       const struct sandbox_http_request *question, struct http_call **call_out,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf fence = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct http_header headers[] = {
        {"X-Deft-Fence", NULL},
        {"X-Deft-Conversation", agent->lease.conversation_id.text},
        {NULL, NULL},
    };
    struct http_request request = {
        .method = question->method,
        .url = question->path,
        .direct = question->is_detached ? NULL : agent->direct,
        .headers = headers,
        .timeout_ms = question->timeout_ms,
        .max_reply_bytes =
            question->max_reply_bytes > 0 ? question->max_reply_bytes : REPLY_MAX_BYTES,
    };

    strbuf_appendf(&fence, "%lld", (long long)agent->lease.fence);
    headers[0].value = fence.text;
    if (question->content != NULL) {
        json_append_text(&body, question->content);
        request.body = body.text;
        request.body_len = body.len;
    }
    return sandbox_call_start(agent->context->http, endpoint, &request, call_out, err);
}

/* The calls that one wait is about. */
struct call_group {
    struct http_call *calls[HTTP_WAIT_MAX];
    size_t n;
    const struct side_wait *side; /* NULL: none */
};

static void cancel_group(void *what)
{
    struct call_group *group = what;

    for (size_t i = 0; i < group->n; i++)
        http_cancel(group->calls[i]);
    if (group->side != NULL)
        group->side->cancel(group->side->what);
}

static void cancel_call(void *call)
{
    http_cancel(call);
}

/* Short requests and connects are fast: their timeouts mean that the sandbox cannot be reached. */
static int unreached_if_late(int rc, struct error *err)
{
    if (rc < 0 && err->code == ERROR_TIMEOUT)
        err->code = ERROR_UNAVAILABLE;
    return rc;
}

int sandbox_http_wait(const struct agent *agent, struct http_call *call, struct error *err)
{
    int rc = 0;

    if (run_control_begin_wait(agent->control, WAIT_TOOL, cancel_call, call, err) < 0)
        return -1;
    rc = http_wait(call, err);
    run_control_end_wait(agent->control);
    return unreached_if_late(rc, err);
}

/* What a poll of an action shows. */
enum poll_result {
    POLL_RUNNING,
    POLL_NOT_RUNNING,
    POLL_SILENT, /* no answer in time */
};

/*
 * Whether the sandbox reports the action as running. A finished action has sent its reply on the
 * call being waited for; if that does not arrive, its connection is dead. ERROR_CANCELLED after a
 * stop request.
 */
static int poll_action(const struct agent *agent, const struct sandbox_endpoint *endpoint,
                       const char *path, enum poll_result *result_out, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct sandbox_http_request question = {
        .method = "GET", .path = path, .timeout_ms = agent->context->settings.sandbox_check_ms};
    json_auto_t *reply = NULL;
    enum sandbox_state state = SANDBOX_UNKNOWN;
    struct error failure = ERROR_INIT;
    const char *body = NULL;
    size_t len = 0;

    *result_out = POLL_SILENT;
    if (sandbox_http_start(agent, endpoint, &question, &call, &failure) < 0 ||
        sandbox_http_wait(agent, call, &failure) < 0) {
        if (failure.code == ERROR_CANCELLED) {
            *err = failure;
            return -1;
        }
        log_warning("sandbox.unresponsive", LOG_ERROR(&failure));
        return 0;
    }
    *result_out = POLL_NOT_RUNNING;
    body = http_body(call, &len);
    if (http_status(call) != 200 || json_parse(body, len, &reply, &failure) < 0 ||
        sandbox_state_read(reply, &state, &failure) < 0 || state != SANDBOX_RUNNING)
        return 0;
    *result_out = POLL_RUNNING;
    crash_point(&agent->context->crash, CRASH_AES_STARTED);
    return 0;
}

int sandbox_exchange_begin(const struct agent *agent, const struct sandbox_endpoint *endpoint,
                           const struct sandbox_http_request *question,
                           struct sandbox_exchange *exchange_out, struct error *err)
{
    int64_t now_ms = clock_monotonic_ms();
    struct sandbox_exchange exchange = {
        .question = question,
        .began_ms = now_ms,
        .look_at_ms = now_ms + agent->context->settings.sandbox_check_ms,
    };

    if (sandbox_http_start(agent, endpoint, question, &exchange.call, err) < 0)
        return -1;
    *exchange_out = exchange;
    return 0;
}

void sandbox_exchange_done(struct sandbox_exchange *exchange)
{
    if (exchange == NULL)
        return;
    http_call_free(TAKE_PTR(exchange->call));
}

static bool is_hung(const struct sandbox_exchange *exchange)
{
    return exchange->n_silences >= SILENCES_MAX;
}

static void note_poll(const struct agent *agent, struct sandbox_exchange *exchange,
                      enum poll_result result)
{
    exchange->n_silences = result == POLL_RUNNING ? 0 : exchange->n_silences + 1;
    exchange->look_at_ms =
        clock_monotonic_ms() +
        (exchange->n_silences == 0 ? agent->context->settings.sandbox_check_ms : LOOK_AGAIN_MS);
}

/*
 * Polls the state of the actions that are due. *index_out: one that hangs, or n. A sandbox that
 * does not answer one poll is not asked about the others.
 */
static int look_at_due(const struct agent *agent, const struct sandbox_endpoint *endpoint,
                       struct sandbox_exchange *const *exchanges, size_t n, size_t *index_out,
                       struct error *err)
{
    enum poll_result result = POLL_RUNNING;
    int64_t now_ms = clock_monotonic_ms();

    *index_out = n;
    for (size_t i = 0; i < n; i++) {
        if (now_ms < exchanges[i]->look_at_ms)
            continue;
        if (result != POLL_SILENT &&
            poll_action(agent, endpoint, exchanges[i]->question->path, &result, err) < 0)
            return -1;
        note_poll(agent, exchanges[i], result);
        if (is_hung(exchanges[i]) && *index_out == n)
            *index_out = i;
    }
    return 0;
}

static int64_t ms_until_look(struct sandbox_exchange *const *exchanges, size_t n)
{
    int64_t first_ms = INT64_MAX;
    int64_t now_ms = clock_monotonic_ms();

    for (size_t i = 0; i < n; i++) {
        if (exchanges[i]->look_at_ms < first_ms)
            first_ms = exchanges[i]->look_at_ms;
    }
    return first_ms > now_ms ? first_ms - now_ms : 0;
}

/* Gives side work its turn; returns the time until the next one. */
static int64_t settle_side(struct call_group *group, size_t n_own)
{
    struct http_call *request = NULL;
    int64_t left_ms = INT64_MAX;

    group->n = n_own;
    if (group->side == NULL)
        return left_ms;
    left_ms = group->side->settle(group->side->what, &request);
    if (request != NULL)
        group->calls[group->n++] = request;
    return left_ms;
}

/* Waits until one of the group's calls is over, or the time has passed. */
static int wait_for_group(const struct agent *agent, struct call_group *group, int64_t ms,
                          size_t *index_out, struct error *err)
{
    if (run_control_begin_wait(agent->control, WAIT_TOOL, cancel_group, group, err) < 0)
        return -1;
    *index_out = http_wait_any(agent->direct, group->calls, group->n, ms);
    run_control_end_wait(agent->control);
    return 0;
}

int sandbox_http_watch(const struct agent *agent, const struct sandbox_endpoint *endpoint,
                       struct sandbox_exchange *const *exchanges, size_t n, size_t *index_out,
                       struct error *err)
{
    const struct side_wait *side = agent->side;
    struct call_group group = {.n = n, .side = side};
    size_t index = n;

    assert(n < HTTP_WAIT_MAX);
    for (size_t i = 0; i < n; i++)
        group.calls[i] = exchanges[i]->call;
    while (index == n && (side == NULL || !side->has_ended(side->what))) {
        int64_t side_ms = settle_side(&group, n);
        int64_t look_ms = ms_until_look(exchanges, n);

        if (wait_for_group(agent, &group, look_ms < side_ms ? look_ms : side_ms, &index, err) < 0)
            return -1;
        index = index < n ? index : n;
        if (index == n && look_at_due(agent, endpoint, exchanges, n, &index, err) < 0)
            return -1;
    }
    *index_out = index;
    return 0;
}

int sandbox_exchange_end(const struct sandbox_exchange *exchange, struct error *err)
{
    int64_t took_ms = clock_monotonic_ms() - exchange->began_ms;
    int rc = 0;

    if (is_hung(exchange))
        return error_set(err, ERROR_UNAVAILABLE, "it stopped responding");
    rc = http_wait(exchange->call, err);
    return took_ms < exchange->question->timeout_ms - TIMEOUT_SLACK_MS ? unreached_if_late(rc, err)
                                                                       : rc;
}

/* Appends the text of an error reply, {"detail": text}; nothing if there is none. */
static void append_detail(struct http_call *call, struct strbuf *out)
{
    json_auto_t *reply = NULL;
    struct error ignored = ERROR_INIT;
    size_t len = 0;
    const char *body = http_body(call, &len);

    if (json_parse(body, len, &reply, &ignored) == 0)
        strbuf_append(out, json_text_or(reply, "detail", ""));
}

int sandbox_http_refusal(struct http_call *call, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;
    long status = http_status(call);

    append_detail(call, &detail);
    if (status == 409)
        return error_set(err, ERROR_CONFLICT, "the sandbox refused the call: %s", detail.text);
    if (status == 400 || status == 413 || status == 429)
        return error_set(err, ERROR_INVALID, "the sandbox refused the call: %s", detail.text);
    /* Busy, restarted with another key, or another server at its former address. */
    return error_set(err, ERROR_UNAVAILABLE, "the sandbox replied with status %ld %s", status,
                     detail.text);
}

static const struct {
    const char *word;
    enum sandbox_state state;
} state_words[] = {
    {"unknown", SANDBOX_UNKNOWN},
    {"running", SANDBOX_RUNNING},
    {"finished", SANDBOX_FINISHED},
    {"interrupted", SANDBOX_INTERRUPTED},
};

int sandbox_state_read(json_t *reply, enum sandbox_state *state_out, struct error *err)
{
    const char *word = json_text_or(reply, "state", "");

    for (size_t i = 0; i < ARRAY_SIZE(state_words); i++) {
        if (text_equal(state_words[i].word, word)) {
            *state_out = state_words[i].state;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "the sandbox's reply has no known state");
}
