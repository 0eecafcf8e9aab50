#include "fcgi/sandbox/sandbox_proxy.h"

#include <stdint.h>

#include "auth/principal.h"
#include "base/clock.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/runtime_api.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/core/router.h"
#include "fcgi/core/wait_slots.h"
#include "fcgi/sandbox/sandbox_response.h"
#include "store/runtime/runtime_store.h"
#include "web/transfer_rate.h"

enum { CHUNK_BYTES = 65536, SILENCE_MS = 60000, PROBE_MS = 5000, HEADERS_MAX = 8 };
/* Interval for marking a sandbox as used, far below any idle limit. */
enum { USE_MS = 30000 };

struct header_list {
    struct http_header items[HEADERS_MAX];
    size_t n;
};

static void add_header(struct header_list *list, const char *name, const char *value)
{
    if (value != NULL && list->n < HEADERS_MAX - 1)
        list->items[list->n++] = (struct http_header){name, value};
}

static bool streams_body(const struct request *request, const struct sandbox_call *call)
{
    return call->body == NULL && request->route->body_max_bytes == BODY_STREAM;
}

static int start_call(const struct request *request, const struct sandbox_call *call,
                      const struct sandbox_endpoint *endpoint, struct http_call **http_call_out,
                      struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf inside = STRBUF_INIT;
    struct header_list headers = {0};
    struct http_request out = {.method = call->method != NULL ? call->method : request->method_text,
                               .headers = headers.items,
                               .body = call->body != NULL ? call->body : request->body.text,
                               .body_len = call->body != NULL ? call->body_len : request->body.len,
                               .content_type = request_param(request, "CONTENT_TYPE"),
                               .idle_timeout_ms =
                                   call->silence_ms > 0 ? call->silence_ms : SILENCE_MS,
                               .max_reply_bytes = SIZE_MAX,
                               .stream = true};

    strbuf_append(&url, call->path);
    if (call->query != NULL && call->query[0] != '\0')
        strbuf_appendf(&url, "?%s", call->query);
    out.url = url.text;
    add_header(&headers, "X-Deft-Scope", call->scope);
    if (call->inside != NULL) {
        percent_append(&inside, call->inside);
        add_header(&headers, "X-Deft-Inside", inside.text);
    }
    add_header(&headers, "Range", request_param(request, "HTTP_RANGE"));
    add_header(&headers, "If-Range", request_param(request, "HTTP_IF_RANGE"));
    if (streams_body(request, call)) {
        out.send_stream = true;
        out.body = NULL;
        out.body_len = request->content_length > 0 ? (size_t)request->content_length : 0;
    } else if (out.body_len == 0) {
        out.body = NULL;
    }
    return sandbox_call_start(request->context->http, endpoint, &out, http_call_out, err);
}

/* A long transfer counts as use while bytes flow. */
static void note_use(const struct request *request, const struct sandbox_endpoint *endpoint,
                     int64_t *next_ms)
{
    int64_t now_ms = clock_monotonic_ms();
    struct error ignored = ERROR_INIT;

    if (now_ms < *next_ms)
        return;
    if (*next_ms > 0)
        error_ignore(runtime_store_touch(request->context->db, endpoint->runtime_id, &ignored),
                     "the next call checks it");
    *next_ms = now_ms + USE_MS;
}

/* Counts bytes to or from the sandbox for the sandbox's rate, not the client's. */
static int check_sandbox_rate(struct transfer_rate *rate, int64_t begun_ms, size_t n_bytes,
                              struct error *err)
{
    if (!transfer_rate_is_too_slow(rate, begun_ms, n_bytes))
        return 0;
    return error_set(err, ERROR_TIMEOUT, "the sandbox sends less than %d bytes a second",
                     TRANSFER_MIN_BYTES_PER_S);
}

static int send_piece(struct http_call *http_call, struct transfer_rate *rate, const char *bytes,
                      size_t len, struct error *err)
{
    int64_t begun_ms = clock_monotonic_ms();

    if (http_call_write(http_call, bytes, len, err) < 0)
        return -1;
    return check_sandbox_rate(rate, begun_ms, len, err);
}

/* Streams the client's body; the sandbox's rate is measured here. */
static int send_body(const struct request *request, const struct sandbox_endpoint *endpoint,
                     struct http_call *http_call, struct error *err)
{
    struct transfer_rate client = {.grace_ms = TRANSFER_CLIENT_GRACE_MS};
    struct transfer_rate sandbox = {.grace_ms = TRANSFER_SANDBOX_GRACE_MS};
    int64_t next_use_ms = 0;
    char chunk[CHUNK_BYTES];
    int64_t left = request->content_length > 0 ? request->content_length : INT64_MAX;
    int n = 0;

    do {
        n = request_read(request, &client, chunk, sizeof(chunk), err);
        if (n < 0 || (n > 0 && send_piece(http_call, &sandbox, chunk, (size_t)n, err) < 0))
            return -1;
        left -= n;
        note_use(request, endpoint, &next_use_ms);
    } while (n > 0 && left > 0);
    if (request->content_length > 0 && left > 0)
        return error_set(err, ERROR_CANCELLED, "the request body was cut off");
    return http_call_write(http_call, NULL, 0, err);
}

static int read_piece(struct http_call *http_call, struct transfer_rate *rate,
                      const char **bytes_out, size_t *len_out, struct error *err)
{
    int64_t begun_ms = clock_monotonic_ms();

    if (http_call_read(http_call, bytes_out, len_out, err) < 0)
        return -1;
    return check_sandbox_rate(rate, begun_ms, *len_out, err);
}

static int pass_reply(const struct request *request, struct reply *reply,
                      const struct sandbox_endpoint *endpoint, struct http_call *http_call,
                      struct error *err)
{
    struct transfer_rate sandbox = {.grace_ms = TRANSFER_SANDBOX_GRACE_MS};
    int64_t next_use_ms = 0;
    const char *bytes = NULL;
    size_t len = 0;

    if (http_call_read(http_call, &bytes, &len, err) < 0)
        return -1;
    if (http_status(http_call) == 401)
        return error_set(err, ERROR_UNAUTHENTICATED, "the sandbox rejected the server's key");
    if (sandbox_response_begin(reply, http_call, err) < 0)
        return -1;
    while (len > 0) {
        if (reply_stream_write(reply, bytes, len, err) < 0 ||
            read_piece(http_call, &sandbox, &bytes, &len, err) < 0)
            return -1;
        note_use(request, endpoint, &next_use_ms);
    }
    return 0;
}

/* Why an attempt failed. */
struct proxy_failure {
    struct error why;
    bool is_unreached; /* no part of the call can have reached a server */
};

static int attempt(const struct request *request, struct reply *reply,
                   const struct sandbox_call *call, const struct sandbox_endpoint *endpoint,
                   struct proxy_failure *failure)
{
    CLEANUP(http_call_freep) struct http_call *http_call = NULL;
    struct error *err = &failure->why;

    if (start_call(request, call, endpoint, &http_call, err) < 0)
        return -1;
    if ((!streams_body(request, call) || send_body(request, endpoint, http_call, err) == 0) &&
        pass_reply(request, reply, endpoint, http_call, err) == 0)
        return 0;
    failure->is_unreached = http_is_unreached(http_call);
    return -1;
}

/* Replies with the reason why there is no sandbox, as text for a user. */
static int answer_no_sandbox(struct reply *reply, const struct error *why)
{
    log_warning("sandbox.unreachable", LOG_ERROR(why));
    return reply_exception(reply, 502, why->message);
}

/*
 * Repeats a call only if it cannot take effect twice: a refused key and an unreachable server had
 * no effect, and reading changes nothing. A streamed body can be read only once.
 */
static bool may_retry(const struct request *request, const struct reply *reply,
                      const struct sandbox_call *call, const struct proxy_failure *failure)
{
    if (reply->is_streaming || streams_body(request, call))
        return false;
    return failure->why.code == ERROR_UNAUTHENTICATED || failure->is_unreached ||
           (request->method == HTTP_GET && error_is_transient(&failure->why));
}

static int make_directory(const struct request *request, const struct sandbox_endpoint *endpoint,
                          const char *directory, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *http_call = NULL;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_append(&path, "/api/file/create_directory?path=");
    percent_append(&path, directory);
    if (sandbox_call_start(
            request->context->http, endpoint,
            &(struct http_request){.method = "POST", .url = path.text, .timeout_ms = PROBE_MS},
            &http_call, err) < 0)
        return -1;
    return http_wait(http_call, err);
}

/*
 * Starts the sandbox, or finds its current address. The row may still name a server that has just
 * ended: after a call got no response the service checks the sandbox itself.
 */
static int start_again(const struct request *request, const struct sandbox_call *call,
                       struct sandbox_endpoint *endpoint_out, struct error *err)
{
    if (error_is_transient(err))
        return sandbox_start_doubted(request->context, &call->owner, endpoint_out, err);
    return sandbox_start(request->context, &call->owner, endpoint_out, err);
}

static int start_and_attempt(const struct request *request, struct reply *reply,
                             const struct sandbox_call *call, struct proxy_failure *failure)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    struct error *err = &failure->why;

    if (start_again(request, call, &endpoint, err) < 0)
        return -1;
    if (call->directory != NULL && make_directory(request, &endpoint, call->directory, err) < 0)
        return -1;
    return attempt(request, reply, call, &endpoint, failure);
}

/*
 * A call that changes state is not repeated: the sandbox must be known to respond before it is
 * sent.
 */
static int find_answering(const struct request *request, const struct sandbox_call *call,
                          struct sandbox_endpoint *endpoint, struct error *err)
{
    if (sandbox_find(request->context, &call->owner, endpoint, err) < 0)
        return -1;
    if (call->directory != NULL)
        return make_directory(request, endpoint, call->directory, err);
    if (http_method_is_unsafe(request->method))
        return sandbox_check_alive(request->context->http, endpoint, PROBE_MS, err);
    return 0;
}

static int pass(const struct request *request, struct reply *reply, const struct sandbox_call *call,
                struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    struct proxy_failure failure = {.why = ERROR_INIT};
    int rc = -1;

    if (find_answering(request, call, &endpoint, &failure.why) < 0) {
        rc = start_and_attempt(request, reply, call, &failure);
    } else {
        rc = attempt(request, reply, call, &endpoint, &failure);
        if (rc < 0 && may_retry(request, reply, call, &failure))
            rc = start_and_attempt(request, reply, call, &failure);
    }
    if (rc == 0)
        return 0;
    /* The limit of running sandboxes is not a failure: it is reported as 429. */
    if (!reply->is_streaming && failure.why.code != ERROR_CANCELLED &&
        failure.why.code != ERROR_RATE_LIMITED && failure.why.code != ERROR_SLOW_CLIENT)
        return answer_no_sandbox(reply, &failure.why);
    *err = failure.why;
    return -1;
}

int sandbox_proxy(const struct request *request, struct reply *reply,
                  const struct sandbox_call *call, struct error *err)
{
    struct wait_slots *slots = request->context->wait_slots;
    const struct uuid *user = &call->owner.principal->user_id;
    int rc = wait_slot_take(slots, user, err);

    if (rc < 0)
        return -1;
    rc = pass(request, reply, call, err);
    wait_slot_return(slots, user);
    return rc;
}
