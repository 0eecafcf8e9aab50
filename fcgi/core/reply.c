#include "fcgi/core/reply.h"

#include <assert.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/uuid.h"
#include "fcgi/core/request.h"
#include "web/reply_output.h"
#include "web/reply_status.h"

enum { STATUS_LEAST = 200, STATUS_MOST = 599 };

static const char type_json[] = "application/json";

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
    int status = reply_status(err->code);
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
    if (!reply->is_broken)
        reply->is_broken = !reply_output_write(reply->output, &reply->rate, bytes, len);
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
    error_ignore(write_out(reply, head.text, head.len), "is_broken records it");
}

/* Statuses that nginx accepts as final: after a 101 it speaks another protocol. */
static bool is_final_status(int status)
{
    return status >= STATUS_LEAST && status <= STATUS_MOST;
}

int reply_stream_begin(struct reply *reply, int status, const char *content_type, struct error *err)
{
    if (!is_final_status(status))
        return error_set(err, ERROR_INTERNAL, "%d is not a valid status of a reply", status);
    reply->status = status;
    reply->content_type = content_type;
    reply->is_streaming = true;
    send_head(reply);
    if (reply->is_broken)
        return error_set(err, ERROR_CANCELLED, "the client disconnected, or is too slow");
    return 0;
}

int reply_stream_write(struct reply *reply, const char *bytes, size_t len, struct error *err)
{
    if (write_out(reply, bytes, len) < 0)
        return error_set(err, ERROR_CANCELLED, "the client disconnected, or is too slow");
    reply->n_bytes += (int64_t)len;
    return 0;
}

int reply_stream_flush(struct reply *reply, struct error *err)
{
    const struct reply_output *output = reply->output;

    if (!reply->is_broken && output->flush != NULL)
        reply->is_broken = output->flush(output->stream) < 0;
    if (reply->is_broken)
        return error_set(err, ERROR_CANCELLED, "the client disconnected, or is too slow");
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
