#include "fcgi/sandbox_ask.h"

#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/runtime_api.h"
#include "fcgi/context.h"
#include "fcgi/reply.h"
#include "fcgi/waits.h"

enum { MAX_ANSWER_BYTES = 16 * 1024 * 1024 };

static int read_answer(const struct http_call *call, json_t **answer_out, struct error *err)
{
    json_auto_t *answer = NULL;
    size_t len = 0;
    const char *body = http_body(call, &len);
    long status = http_status(call);

    if (status == 401)
        return error_set(err, ERROR_UNAUTHENTICATED, "the sandbox does not know our key");
    if (status == 404 || status == 405)
        return error_set(err, ERROR_UNAVAILABLE,
                         "the sandbox was started by an older version; release it to renew it");
    if (json_parse(body, len, &answer, err) < 0 || !json_is_object(answer))
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox answers nonsense");
    if (status == 504)
        return error_set(err, ERROR_TIMEOUT, "%s", json_text_or(answer, "detail", "too slow"));
    if (status == 409)
        return error_set(err, ERROR_CONFLICT, "%s",
                         json_text_or(answer, "detail", "the sandbox refuses"));
    if (status >= 400)
        return error_set(err, status < 500 ? ERROR_INVALID : ERROR_UNAVAILABLE, "%s",
                         json_text_or(answer, "detail", "the sandbox refuses"));
    *answer_out = json_incref(answer);
    return 0;
}

int sandbox_ask_at(const struct fcgi_context *context, const struct sandbox_question *question,
                   const struct sandbox_endpoint *endpoint, json_t **answer_out, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf fence = STRBUF_INIT;
    struct http_header headers[] = {{NULL, NULL}, {"X-Deft-Fence", NULL}, {NULL, NULL}};

    strbuf_appendf(&fence, "%lld", (long long)question->fence);
    headers[1].value = fence.text;
    if (question->conversation != NULL)
        headers[0] = (struct http_header){"X-Deft-Conversation", question->conversation};
    if (question->body != NULL)
        json_append_text(&body, question->body);
    if (sandbox_call_start(
            context->http, endpoint,
            &(struct http_request){.method = question->method != NULL ? question->method : "POST",
                                   .url = question->path,
                                   .headers = headers,
                                   .body = question->body != NULL ? body.text : NULL,
                                   .body_len = body.len,
                                   .timeout_ms = question->timeout_ms,
                                   .max_reply_bytes = MAX_ANSWER_BYTES},
            &call, err) < 0 ||
        http_wait(call, err) < 0)
        return -1;
    return read_answer(call, answer_out, err);
}

/* The sandbox may have just gone away, although its row does not say so yet. */
static int start_again(const struct fcgi_context *context, const struct sandbox_question *question,
                       struct sandbox_endpoint *endpoint_out, struct error *err)
{
    if (err->code == ERROR_UNAVAILABLE)
        return sandbox_start_doubted(context, &question->owner, endpoint_out, err);
    if (err->code == ERROR_UNAUTHENTICATED)
        return sandbox_start(context, &question->owner, endpoint_out, err);
    return -1;
}

static int find_and_ask(const struct fcgi_context *context, const struct sandbox_question *question,
                        json_t **answer_out, struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint known = SANDBOX_ENDPOINT_INIT;
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint fresh = SANDBOX_ENDPOINT_INIT;

    if (sandbox_find(context, &question->owner, &known, err) < 0) {
        if (sandbox_start(context, &question->owner, &fresh, err) < 0)
            return -1;
    } else {
        if (sandbox_ask_at(context, question, &known, answer_out, err) == 0)
            return 0;
        if (start_again(context, question, &fresh, err) < 0)
            return -1;
    }
    return sandbox_ask_at(context, question, &fresh, answer_out, err);
}

static int ask_running(const struct fcgi_context *context, const struct sandbox_question *question,
                       json_t **answer_out, struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;

    if (sandbox_find(context, &question->owner, &endpoint, err) < 0)
        return -1;
    return sandbox_ask_at(context, question, &endpoint, answer_out, err);
}

int sandbox_ask(const struct fcgi_context *context, const struct sandbox_question *question,
                json_t **answer_out, struct error *err)
{
    const struct uuid *user = &question->owner.principal->user_id;
    int rc = waits_begin(context->waits, user, err);

    if (rc < 0)
        return -1;
    rc = find_and_ask(context, question, answer_out, err);
    waits_end(context->waits, user);
    return rc;
}

int sandbox_ask_running(const struct fcgi_context *context, const struct sandbox_question *question,
                        json_t **answer_out, struct error *err)
{
    const struct uuid *user = &question->owner.principal->user_id;
    int rc = waits_begin(context->waits, user, err);

    if (rc < 0)
        return -1;
    rc = ask_running(context, question, answer_out, err);
    waits_end(context->waits, user);
    return rc;
}

int sandbox_ask_failed(struct reply *reply, const struct error *err)
{
    if (err->code == ERROR_INVALID || err->code == ERROR_CANCELLED ||
        err->code == ERROR_RATE_LIMITED)
        return -1;
    log_warning("sandbox.unreachable", LOG_ERROR(err));
    return reply_exception(reply, 502, err->message);
}
