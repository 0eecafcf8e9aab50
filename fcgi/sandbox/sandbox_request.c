#include "fcgi/sandbox/sandbox_request.h"

#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/runtime_api.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/wait_slots.h"

enum { MAX_ANSWER_BYTES = 16 * 1024 * 1024 };

static int read_answer(const struct http_call *call, json_t **answer_out, struct error *err)
{
    json_auto_t *answer = NULL;
    size_t len = 0;
    const char *body = http_body(call, &len);
    long status = http_status(call);

    if (status == 401)
        return error_set(err, ERROR_UNAUTHENTICATED, "the sandbox rejected the server's key");
    if (status == 404 || status == 405)
        return error_set(
            err, ERROR_UNAVAILABLE,
            "the sandbox was started by an older version; release it, and a new one is started");
    if (json_parse(body, len, &answer, err) < 0 || !json_is_object(answer))
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox's reply is not valid");
    if (status == 504)
        return error_set(err, ERROR_TIMEOUT, "%s", json_text_or(answer, "detail", "too slow"));
    if (status == 409)
        return error_set(err, ERROR_CONFLICT, "%s",
                         json_text_or(answer, "detail", "the sandbox refused the request"));
    if (status >= 400)
        return error_set(err, status < 500 ? ERROR_INVALID : ERROR_UNAVAILABLE, "%s",
                         json_text_or(answer, "detail", "the sandbox refused the request"));
    *answer_out = json_incref(answer);
    return 0;
}

int sandbox_request_send_at(const struct fcgi_context *context,
                            const struct sandbox_request *request,
                            const struct sandbox_endpoint *endpoint, json_t **answer_out,
                            struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf fence = STRBUF_INIT;
    struct http_header headers[] = {{NULL, NULL}, {"X-Deft-Fence", NULL}, {NULL, NULL}};

    strbuf_appendf(&fence, "%lld", (long long)request->fence);
    headers[1].value = fence.text;
    if (request->conversation != NULL)
        headers[0] = (struct http_header){"X-Deft-Conversation", request->conversation};
    if (request->body != NULL)
        json_append_text(&body, request->body);
    if (sandbox_call_start(
            context->http, endpoint,
            &(struct http_request){.method = request->method != NULL ? request->method : "POST",
                                   .url = request->path,
                                   .headers = headers,
                                   .body = request->body != NULL ? body.text : NULL,
                                   .body_len = body.len,
                                   .timeout_ms = request->timeout_ms,
                                   .max_reply_bytes = MAX_ANSWER_BYTES},
            &call, err) < 0 ||
        http_wait(call, err) < 0)
        return -1;
    return read_answer(call, answer_out, err);
}

/* The sandbox may have just gone away, although its row does not say so yet. */
static int start_again(const struct fcgi_context *context, const struct sandbox_request *request,
                       struct sandbox_endpoint *endpoint_out, struct error *err)
{
    if (err->code == ERROR_UNAVAILABLE)
        return sandbox_start_doubted(context, &request->owner, endpoint_out, err);
    if (err->code == ERROR_UNAUTHENTICATED)
        return sandbox_start(context, &request->owner, endpoint_out, err);
    return -1;
}

static int find_and_ask(const struct fcgi_context *context, const struct sandbox_request *request,
                        json_t **answer_out, struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint known = SANDBOX_ENDPOINT_INIT;
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint fresh = SANDBOX_ENDPOINT_INIT;

    if (sandbox_find(context, &request->owner, &known, err) < 0) {
        if (sandbox_start(context, &request->owner, &fresh, err) < 0)
            return -1;
    } else {
        if (sandbox_request_send_at(context, request, &known, answer_out, err) == 0)
            return 0;
        if (start_again(context, request, &fresh, err) < 0)
            return -1;
    }
    return sandbox_request_send_at(context, request, &fresh, answer_out, err);
}

static int ask_running(const struct fcgi_context *context, const struct sandbox_request *request,
                       json_t **answer_out, struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;

    if (sandbox_find(context, &request->owner, &endpoint, err) < 0)
        return -1;
    return sandbox_request_send_at(context, request, &endpoint, answer_out, err);
}

int sandbox_request_send(const struct fcgi_context *context, const struct sandbox_request *request,
                         json_t **answer_out, struct error *err)
{
    const struct uuid *user = &request->owner.principal->user_id;
    int rc = wait_slot_take(context->wait_slots, user, err);

    if (rc < 0)
        return -1;
    rc = find_and_ask(context, request, answer_out, err);
    wait_slot_return(context->wait_slots, user);
    return rc;
}

int sandbox_request_send_running(const struct fcgi_context *context,
                                 const struct sandbox_request *request, json_t **answer_out,
                                 struct error *err)
{
    const struct uuid *user = &request->owner.principal->user_id;
    int rc = wait_slot_take(context->wait_slots, user, err);

    if (rc < 0)
        return -1;
    rc = ask_running(context, request, answer_out, err);
    wait_slot_return(context->wait_slots, user);
    return rc;
}

int sandbox_request_failed(struct reply *reply, const struct error *err)
{
    if (err->code == ERROR_INVALID || err->code == ERROR_CANCELLED ||
        err->code == ERROR_RATE_LIMITED)
        return -1;
    log_warning("sandbox.unreachable", LOG_ERROR(err));
    return reply_exception(reply, 502, err->message);
}
