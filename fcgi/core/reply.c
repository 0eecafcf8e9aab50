#include "fcgi/reply.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/uuid.h"
#include "fcgi/pace.h"
#include "fcgi/request.h"

enum { STATUS_LEAST = 200, STATUS_MOST = 599 };

/* Small, so that a client's rate is checked often. */
enum { PIECE_BYTES = 16384 };

static const char type_json[] = "application/json";

/* The one table from an error to its status. Below 500 the message is for the client. */
static const int error_status[] = {
    [ERROR_NONE] = 500,        [ERROR_INVALID] = 422,    [ERROR_UNAUTHENTICATED] = 401,
    [ERROR_FORBIDDEN] = 403,   [ERROR_NOT_FOUND] = 404,  [ERROR_CONFLICT] = 409,
    [ERROR_STALE] = 409,       [ERROR_TOO_LARGE] = 413,  [ERROR_RATE_LIMITED] = 429,
    [ERROR_TIMEOUT] = 504,     [ERROR_CANCELLED] = 503,  [ERROR_UNAVAILABLE] = 503,
    [ERROR_UNSUPPORTED] = 501, [ERROR_MEDIA_TYPE] = 415, [ERROR_SLOW_CLIENT] = 408,
    [ERROR_INTERNAL] = 500,
};

struct status_phrase {
    int status;
    const char *phrase;
};

static const struct status_phrase phrases[] = {
    {200, "OK"},
    {201, "Created"},
    {204, "No Content"},
    {206, "Partial Content"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

/*
 * Retry-After in seconds: a busy or unreachable process recovers quickly, a run slot becomes free
 * only when a run has ended.
 */
#define BUSY_RETRY_S "1"
#define FULL_RETRY_S "5"

/* On every reply: nothing here is a page; nothing may be cached, framed or sniffed. */
static const char common_headers[] = "Cache-Control: no-store\r\n"
                                     "X-Content-Type-Options: nosniff\r\n"
                                     "Referrer-Policy: no-referrer\r\n";
static const char strict_policy[] = "default-src 'none'; object-src 'none'; base-uri 'none'; "
                                    "form-action 'none'; frame-ancestors 'none'";

const char *reply_phrase(int status)
{
    for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
        if (phrases[i].status == status)
            return phrases[i].phrase;
    }
    return "Unknown";
}

void reply_done(struct reply *reply)
{
    if (reply == NULL)
        return;
    strbuf_done(&reply->headers);
    strbuf_done(&reply->body);
}

void reply_header(struct reply *reply, const char *name, const char *value)
{
    strbuf_appendf(&reply->headers, "%s: ", name);
    for (const char *at = value; *at != '\0'; at++) {
        if ((unsigned char)*at >= ' ' && *at != 0x7f)
            strbuf_append_char(&reply->headers, *at);
    }
    strbuf_append(&reply->headers, "\r\n");
}

int reply_json(struct reply *reply, int status, const json_t *json)
{
    reply->status = status;
    reply->content_type = type_json;
    strbuf_reset(&reply->body);
    json_append_text(&reply->body, json);
    return 0;
}

int reply_json_text(struct reply *reply, int status, struct strbuf *text)
{
    reply->status = status;
    reply->content_type = type_json;
    strbuf_done(&reply->body);
    reply->body = *text;
    *text = (struct strbuf)STRBUF_INIT;
    return 0;
}

int reply_success(struct reply *reply)
{
    json_auto_t *json = json_object();

    json_put(json, "success", json_true());
    return reply_json(reply, 200, json);
}

int reply_text(struct reply *reply, int status, const char *text)
{
    reply->status = status;
    reply->content_type = "text/plain; charset=utf-8";
    strbuf_reset(&reply->body);
    strbuf_append(&reply->body, text);
    return 0;
}

int reply_empty(struct reply *reply, int status)
{
    reply->status = status;
    reply->content_type = NULL;
    strbuf_reset(&reply->body);
    return 0;
}

int reply_detail(struct reply *reply, int status, const char *text)
{
    json_auto_t *json = json_object();

    json_put_text(json, "detail", text);
    return reply_json(reply, status, json);
}

int reply_exception(struct reply *reply, int status, const char *reason)
{
    CLEANUP(strbuf_done) struct strbuf exception = STRBUF_INIT;
    json_auto_t *json = json_object();

    strbuf_appendf(&exception, "%d: %s", status, reason);
    json_put_text(json, "detail", "Internal Server Error");
    json_put_text(json, "exception", exception.text);
    return reply_json(reply, status, json);
}

/* An internal error: the client gets an id that is also in the log. */
static void reply_internal_error(struct reply *reply, const struct error *err)
{
    struct uuid id = uuid_random();
    char hex[UUID_HEX_BYTES];
    json_auto_t *json = json_object();

    uuid_to_hex(&id, hex);
    log_error("request.failed", LOG_STR("error_id", hex), LOG_ERROR(err));
    json_put_text(json, "detail", "Internal Server Error");
    json_put_text(json, "exception", "500: Internal Server Error");
    json_put_text(json, "error_id", hex);
    error_ignore(reply_json(reply, 500, json), "cannot fail");
}

static void reply_server_error(struct reply *reply, int status, const struct error *err)
{
    if (status == 500) {
        reply_internal_error(reply, err);
        return;
    }
    if (err->code != ERROR_UNSUPPORTED)
        log_warning("request.refused", LOG_INT("status", status), LOG_ERROR(err));
    if (status == 503)
        reply_header(reply, "Retry-After", BUSY_RETRY_S);
    error_ignore(
        reply_exception(reply, status,
                        err->code == ERROR_UNSUPPORTED ? err->message : reply_phrase(status)),
        "cannot fail");
}

void reply_error(struct reply *reply, const struct request *request, const struct error *err)
{
    int status = error_status[err->code];
    json_auto_t *json = NULL;

    if (status >= 500) {
        reply_server_error(reply, status, err);
        return;
    }
    if (status == 422 && json_array_size(request->problems) > 0) {
        json = json_object();
        json_put(json, "detail", json_incref(request->problems));
        error_ignore(reply_json(reply, status, json), "cannot fail");
        return;
    }
    if (status == 429)
        reply_header(reply, "Retry-After", FULL_RETRY_S);
    error_ignore(reply_detail(reply, status, status == 401 ? reply_phrase(401) : err->message),
                 "cannot fail");
}

static int write_out(struct reply *reply, const char *bytes, size_t len)
{
    while (len > 0 && !reply->is_broken) {
        int64_t begun_ms = clock_monotonic_ms();
        int n = len > PIECE_BYTES ? PIECE_BYTES : (int)len;

        reply->is_broken = reply->output->write(reply->output->stream, bytes, n) < 0 ||
                           pace_is_too_slow(&reply->pace, begun_ms, (size_t)n);
        bytes += n;
        len -= (size_t)n;
    }
    return reply->is_broken ? -1 : 0;
}

static void send_head(struct reply *reply)
{
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;

    strbuf_appendf(&head, "Status: %d %s\r\n", reply->status, reply_phrase(reply->status));
    if (reply->content_type != NULL)
        strbuf_appendf(&head, "Content-Type: %s\r\n", reply->content_type);
    if (!reply->is_streaming && reply->content_type != NULL)
        strbuf_appendf(&head, "Content-Length: %zu\r\n", reply->body.len);
    strbuf_append(&head, common_headers);
    strbuf_appendf(&head, "Content-Security-Policy: %s\r\n",
                   reply->content_policy != NULL ? reply->content_policy : strict_policy);
    strbuf_append_bytes(&head, reply->headers.text, reply->headers.len);
    strbuf_append(&head, "\r\n");
    error_ignore(write_out(reply, head.text, head.len), "is_broken says it");
}

/* Statuses that nginx accepts as final: after a 101 it speaks another protocol. */
static bool is_final_status(int status)
{
    return status >= STATUS_LEAST && status <= STATUS_MOST;
}

int reply_stream_begin(struct reply *reply, int status, const char *content_type, struct error *err)
{
    if (!is_final_status(status))
        return error_set(err, ERROR_INTERNAL, "%d is no status of an answer", status);
    reply->status = status;
    reply->content_type = content_type;
    reply->is_streaming = true;
    send_head(reply);
    if (reply->is_broken)
        return error_set(err, ERROR_CANCELLED, "the client is gone, or too slow");
    return 0;
}

int reply_stream_write(struct reply *reply, const char *bytes, size_t len, struct error *err)
{
    if (write_out(reply, bytes, len) < 0)
        return error_set(err, ERROR_CANCELLED, "the client is gone, or too slow");
    reply->n_bytes += (int64_t)len;
    return 0;
}

void reply_send(struct reply *reply)
{
    if (reply->is_streaming)
        return;
    assert(is_final_status(reply->status));
    send_head(reply);
    if (write_out(reply, reply->body.text, reply->body.len) == 0)
        reply->n_bytes = (int64_t)reply->body.len;
}
