#include "worker/agent/sandbox/sandbox.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "model/agent/hook_match.h"
#include "model/conversation/worktree.h"
#include "model/tools/mcp.h"
#include "model/tools/toolset.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/sandbox/observation.h"
#include "worker/agent/sandbox/sandbox_address.h"
#include "worker/agent/sandbox/sandbox_http.h"
#include "worker/context.h"

/* For requests off the main path, such as an interrupt, that the user waits for. */
#define ASIDE_TIMEOUT_MS 1000
#define ASK_TIMEOUT_MS 10000
#define ALIVE_TIMEOUT_MS 2000
/* Attempts for a sandbox that does not answer, with growing delays. */
#define ATTEMPTS 6
#define RETRY_FIRST_MS 100
/* Of the text that says why an action was interrupted. */
#define REASON_MAX_CHARS 1000
/* Of the newest reports of all calls that run at once. */
#define PROGRESS_MAX_BYTES ((size_t)(1024 * 1024))
/* Acknowledgements per request; the rest is sent at the end of the run. */
#define ACKNOWLEDGED_TOGETHER 16

struct sandbox {
    const struct agent *agent;
    struct sandbox_address address;
    struct http_call *acknowledging; /* in progress, or NULL */
    json_t *acknowledged;            /* ids to send, or NULL */
    bool has_working_dir;
    bool is_doubted; /* the last call could not reach it */
};

struct sandbox *sandbox_new(const struct agent *agent)
{
    struct sandbox *sandbox = NULL;

    if (!worktree_is_pending(&agent->conversation) && !toolset_needs_sandbox(agent->tools) &&
        !hooks_has_any(json_object_get(agent->conversation.spec, "hook_config")))
        return NULL;
    sandbox = NEW(struct sandbox);
    sandbox->agent = agent;
    sandbox_address_init(&sandbox->address, agent);
    return sandbox;
}

void sandbox_free(struct sandbox *sandbox)
{
    if (sandbox == NULL)
        return;
    sandbox_address_done(&sandbox->address);
    http_call_free(sandbox->acknowledging);
    json_decref(sandbox->acknowledged);
    mem_free(sandbox);
}

void sandbox_begin(struct sandbox *sandbox)
{
    sandbox_address_begin(&sandbox->address);
}

bool sandbox_is_ready(struct sandbox *sandbox)
{
    return sandbox_address_take(&sandbox->address);
}

int sandbox_ready(struct sandbox *sandbox, struct error *err)
{
    return sandbox_address_wait(&sandbox->address, err);
}

const char *sandbox_runtime_id(const struct sandbox *sandbox)
{
    return sandbox->address.endpoint.runtime_id;
}

void action_result_done(struct action_result *result)
{
    json_decref(TAKE_PTR(result->observation));
    mem_freep(&result->reason);
}

struct sandbox_action {
    struct sandbox *sandbox;
    struct action_request order;
    struct strbuf path;
    json_t *content;
    struct sandbox_http_request question; /* borrows path and content */
    struct sandbox_exchange exchange;     /* the first attempt */
    struct error failure;                 /* why that was not sent */
};

static int read_result(struct http_call *call, const struct action_request *order,
                       struct action_result *result_out, struct error *err)
{
    json_auto_t *reply = NULL;
    enum sandbox_state state = SANDBOX_UNKNOWN;
    size_t len = 0;
    const char *body = http_body(call, &len);
    const char *reason = NULL;

    if (http_status(call) != 200)
        return sandbox_http_refusal(call, err);
    if (json_parse(body, len, &reply, err) < 0)
        return error_wrap(err, "the sandbox's reply");
    if (sandbox_state_read(reply, &state, err) < 0)
        return -1;
    if (state == SANDBOX_FINISHED &&
        observation_from_sandbox(json_object_get(reply, "observation"), order->observation_kind,
                                 &result_out->observation, err) < 0)
        return -1;
    reason = json_text_or(reply, "reason", "");
    mem_free(result_out->reason);
    result_out->reason =
        mem_dup_bytes(reason, utf8_offset(reason, strlen(reason), REASON_MAX_CHARS));
    result_out->state = state;
    return 0;
}

/* Checks that the sandbox is there, and that it is the intended one. */
static int check_sandbox(struct sandbox *sandbox, const struct action_request *order,
                         struct error *err)
{
    const struct sandbox_endpoint *endpoint = &sandbox->address.endpoint;

    if (sandbox_ready(sandbox, err) < 0)
        return -1;
    if (sandbox->is_doubted &&
        sandbox_check_alive(sandbox->agent->context->http, endpoint, ALIVE_TIMEOUT_MS, err) < 0)
        return -1;
    sandbox->is_doubted = false;
    if (!text_equal(endpoint->runtime_id, order->runtime_id))
        return error_set(err, ERROR_NOT_FOUND, "another sandbox replaced this one");
    return 0;
}

static int send_request(struct sandbox *sandbox, const struct sandbox_http_request *question,
                        const struct action_request *order, struct sandbox_exchange *exchange_out,
                        struct error *err)
{
    struct crash_points *crash = &sandbox->agent->context->crash;

    if (check_sandbox(sandbox, order, err) < 0)
        return -1;
    crash_point(crash, CRASH_AES_BEFORE_SEND);
    if (sandbox_exchange_begin(sandbox->agent, &sandbox->address.endpoint, question, exchange_out,
                               err) < 0)
        return -1;
    crash_point(crash, CRASH_AES_SENT);
    return 0;
}

static int wait_for_reply(struct sandbox *sandbox, struct sandbox_exchange *exchange,
                          struct error *err)
{
    size_t index = 0;

    if (!exchange->question->is_watched)
        return sandbox_http_wait(sandbox->agent, exchange->call, err);
    if (sandbox_http_watch(sandbox->agent, &sandbox->address.endpoint, &exchange, 1, &index, err) <
        0)
        return -1;
    return sandbox_exchange_end(exchange, err);
}

/* One attempt: a request and its reply. */
static int try_once(struct sandbox *sandbox, const struct sandbox_http_request *question,
                    const struct action_request *order, struct action_result *result_out,
                    struct error *err)
{
    CLEANUP(sandbox_exchange_done) struct sandbox_exchange exchange = {.call = NULL};

    if (send_request(sandbox, question, order, &exchange, err) < 0 ||
        wait_for_reply(sandbox, &exchange, err) < 0)
        return -1;
    crash_point(&sandbox->agent->context->crash, CRASH_AES_RESULT_READ);
    return read_result(exchange.call, order, result_out, err);
}

/* Pauses before the next attempt; -1 if there is to be none. err: why the last one failed. */
static int rest(struct sandbox *sandbox, int attempt, int64_t wait_ms, struct error *err)
{
    /* Without an address, the start failed, which has its own retries. */
    if (err->code != ERROR_UNAVAILABLE || !sandbox_address_is_known(&sandbox->address))
        return -1;
    if (attempt == ATTEMPTS)
        return error_wrap(err, "The sandbox does not respond");
    log_warning("sandbox.call_failed", LOG_INT("attempt", attempt), LOG_ERROR(err));
    sandbox->is_doubted = true;
    sandbox_address_forget(&sandbox->address);
    return run_control_sleep(sandbox->agent->control, wait_ms, err);
}

/*
 * After a first attempt that failed with `err`. Restarts a sandbox that does not answer: the
 * runtime knows whether it still runs.
 */
static int try_again(struct sandbox *sandbox, const struct sandbox_http_request *question,
                     const struct action_request *order, struct action_result *result_out,
                     struct error *err)
{
    int64_t wait_ms = RETRY_FIRST_MS;

    for (int attempt = 1;; attempt++) {
        if (rest(sandbox, attempt, wait_ms, err) < 0)
            return -1;
        if (try_once(sandbox, question, order, result_out, err) == 0)
            return 0;
        wait_ms *= 2;
    }
}

static json_t *order_content(const struct sandbox *sandbox, const struct action_request *order)
{
    json_t *content = json_object();

    json_put_text(content, "tool", order->tool);
    json_put(content, "args", json_incref(order->args));
    json_put_text(content, "working_dir", conversation_working_dir(&sandbox->agent->conversation));
    json_put(content, "env", json_incref(order->env));
    (void)json_object_update(content, order->more);
    return content;
}

struct sandbox_action *sandbox_begin_action(struct sandbox *sandbox,
                                            const struct action_request *order)
{
    struct sandbox_action *action = NEW(struct sandbox_action);

    action->sandbox = sandbox;
    action->order = *order;
    action->path = (struct strbuf)STRBUF_INIT;
    strbuf_appendf(&action->path, "/actions/%s", order->action_id.text);
    action->content = order_content(sandbox, order);
    action->question = (struct sandbox_http_request){.method = "PUT",
                                                     .path = action->path.text,
                                                     .content = action->content,
                                                     .timeout_ms = order->timeout_ms,
                                                     .is_watched = true};
    error_ignore(send_request(sandbox, &action->question, &action->order, &action->exchange,
                              &action->failure),
                 "sandbox_end_action() reports it");
    return action;
}

bool sandbox_action_is_sent(const struct sandbox_action *action)
{
    return action->exchange.call != NULL;
}

void sandbox_action_free(struct sandbox_action *action)
{
    if (action == NULL)
        return;
    sandbox_exchange_done(&action->exchange);
    strbuf_done(&action->path);
    json_decref(action->content);
    mem_free(action);
}

int sandbox_wait_action(struct sandbox *sandbox, struct sandbox_action *const *actions, size_t n,
                        size_t *index_out, struct error *err)
{
    struct sandbox_exchange *exchanges[HTTP_WAIT_MAX] = {NULL};

    assert(n < HTTP_WAIT_MAX);
    for (size_t i = 0; i < n; i++)
        exchanges[i] = &actions[i]->exchange;
    return sandbox_http_watch(sandbox->agent, &sandbox->address.endpoint, exchanges, n, index_out,
                              err);
}

static int end_first_attempt(struct sandbox_action *action, struct action_result *result_out,
                             struct error *err)
{
    if (action->exchange.call == NULL) {
        *err = action->failure;
        return -1;
    }
    if (sandbox_exchange_end(&action->exchange, err) < 0)
        return -1;
    crash_point(&action->sandbox->agent->context->crash, CRASH_AES_RESULT_READ);
    return read_result(action->exchange.call, &action->order, result_out, err);
}

int sandbox_end_action(struct sandbox_action *action, struct action_result *result_out,
                       struct error *err)
{
    if (end_first_attempt(action, result_out, err) < 0) {
        sandbox_exchange_done(&action->exchange);
        if (try_again(action->sandbox, &action->question, &action->order, result_out, err) < 0)
            return -1;
    }
    if (result_out->state != SANDBOX_FINISHED && result_out->state != SANDBOX_INTERRUPTED)
        return error_set(err, ERROR_INVALID, "the sandbox's reply to a call has no result");
    return 0;
}

static struct sandbox_http_request question_of(const struct sandbox_order *order)
{
    return (struct sandbox_http_request){.method = "POST",
                                         .path = order->path,
                                         .content = order->content,
                                         .timeout_ms = order->timeout_ms};
}

int sandbox_ask_read(struct http_call *call, json_t **reply_out, struct error *err)
{
    const char *body = NULL;
    size_t len = 0;

    if (http_status(call) != 200)
        return sandbox_http_refusal(call, err);
    body = http_body(call, &len);
    return json_parse(body, len, reply_out, err);
}

int sandbox_ask(struct sandbox *sandbox, const struct sandbox_order *order, json_t **reply_out,
                struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct sandbox_http_request question = question_of(order);

    if (sandbox_ready(sandbox, err) < 0 ||
        sandbox_http_start(sandbox->agent, &sandbox->address.endpoint, &question, &call, err) < 0 ||
        sandbox_http_wait(sandbox->agent, call, err) < 0)
        return -1;
    return sandbox_ask_read(call, reply_out, err);
}

int sandbox_ask_begin(struct sandbox *sandbox, const struct sandbox_order *order,
                      struct http_call **call_out, struct error *err)
{
    struct sandbox_http_request question = question_of(order);

    question.is_detached = true;
    if (sandbox_ready(sandbox, err) < 0)
        return -1;
    return sandbox_http_start(sandbox->agent, &sandbox->address.endpoint, &question, call_out, err);
}

int sandbox_ask_progress(struct sandbox *sandbox, int64_t after, struct http_call **call_out,
                         struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct sandbox_http_request question = {
        .method = "GET", .timeout_ms = MCP_CALL_MAX_MS, .max_reply_bytes = PROGRESS_MAX_BYTES};

    if (!sandbox_address_is_known(&sandbox->address))
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox's address is not known");
    strbuf_appendf(&path, "/conversations/%s/progress?after=%lld",
                   sandbox->agent->lease.conversation_id.text, (long long)after);
    question.path = path.text;
    return sandbox_http_start(sandbox->agent, &sandbox->address.endpoint, &question, call_out, err);
}

int sandbox_execute(struct sandbox *sandbox, const char *command, int64_t timeout_s,
                    json_t **answer_out, struct error *err)
{
    json_auto_t *content = json_object();
    const struct sandbox_order order = {.path = "/api/bash/execute_bash_command",
                                        .content = content,
                                        .timeout_ms = timeout_s * 1000 + ASK_TIMEOUT_MS};

    json_put_text(content, "command", command);
    json_put(content, "timeout", json_integer((json_int_t)timeout_s));
    return sandbox_ask(sandbox, &order, answer_out, err);
}

int sandbox_query_action(struct sandbox *sandbox, const struct action_request *order,
                         struct action_result *result_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct sandbox_http_request question = {.method = "GET", .timeout_ms = ASK_TIMEOUT_MS};

    strbuf_appendf(&path, "/actions/%s", order->action_id.text);
    question.path = path.text;
    if (try_once(sandbox, &question, order, result_out, err) == 0)
        return 0;
    return try_again(sandbox, &question, order, result_out, err);
}

/*
 * Makes a request whose reply does not matter, and waits for its end, at most ASIDE_TIMEOUT_MS.
 * Finds the address first: a worker that took over may not have it yet, while an action still runs.
 */
static void ask_aside(struct sandbox *sandbox, const char *method, const char *path)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct sandbox_http_request question = {
        .method = method, .path = path, .timeout_ms = ASIDE_TIMEOUT_MS};
    struct error err = ERROR_INIT;

    if (sandbox_address_find(&sandbox->address, ASIDE_TIMEOUT_MS, &err) < 0 ||
        sandbox_http_start(sandbox->agent, &sandbox->address.endpoint, &question, &call, &err) <
            0 ||
        http_wait(call, &err) < 0)
        log_warning("sandbox.call_failed", LOG_STR("method", method), LOG_ERROR(&err));
}

void sandbox_interrupt(struct sandbox *sandbox)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/conversations/%s/interrupt",
                   sandbox->agent->lease.conversation_id.text);
    ask_aside(sandbox, "POST", path.text);
}

void sandbox_forget(struct sandbox *sandbox)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/conversations/%s", sandbox->agent->lease.conversation_id.text);
    ask_aside(sandbox, "DELETE", path.text);
}

void sandbox_make_working_dir(struct sandbox *sandbox)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (sandbox->has_working_dir)
        return;
    sandbox->has_working_dir = true;
    strbuf_append(&path, "/api/file/create_directory?path=");
    percent_append(&path, conversation_working_dir(&sandbox->agent->conversation));
    ask_aside(sandbox, "POST", path.text);
}

void sandbox_settle(struct sandbox *sandbox)
{
    struct error ignored = ERROR_INIT;

    if (sandbox->acknowledging == NULL)
        return;
    error_ignore(http_wait(sandbox->acknowledging, &ignored),
                 "an unacknowledged result only uses space");
    http_call_free(TAKE_PTR(sandbox->acknowledging));
}

void sandbox_send_acknowledged(struct sandbox *sandbox)
{
    json_auto_t *content = NULL;
    struct sandbox_http_request question = {
        .method = "POST", .path = "/actions/acknowledge", .timeout_ms = ASIDE_TIMEOUT_MS};
    struct error ignored = ERROR_INIT;

    if (sandbox->acknowledged == NULL || !sandbox_address_is_known(&sandbox->address))
        return;
    sandbox_settle(sandbox);
    content = json_object();
    json_put(content, "ids", TAKE_PTR(sandbox->acknowledged));
    question.content = content;
    error_ignore(sandbox_http_start(sandbox->agent, &sandbox->address.endpoint, &question,
                                    &sandbox->acknowledging, &ignored),
                 "an unacknowledged result only uses space");
}

void sandbox_acknowledge(struct sandbox *sandbox, const struct uuid *action_id)
{
    if (sandbox->acknowledged == NULL)
        sandbox->acknowledged = json_array();
    json_push(sandbox->acknowledged, json_text_of(action_id->text));
    if (json_array_size(sandbox->acknowledged) >= ACKNOWLEDGED_TOGETHER)
        sandbox_send_acknowledged(sandbox);
}
