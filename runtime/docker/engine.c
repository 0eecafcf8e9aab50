#include "runtime/docker/engine.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "client/http.h"

#define CALL_TIMEOUT_MS 30000
#define PULL_TIMEOUT_MS (15LL * 60 * 1000)
/* For a build's output, which is processed as it arrives. */
#define STREAM_MAX_BYTES (1024UL * 1024 * 1024)
#define REPLY_MAX_BYTES (16UL * 1024 * 1024)

struct status_code {
    long status;
    enum error_code code;
};

static const struct status_code status_codes[] = {
    {400, ERROR_INVALID},
    {403, ERROR_INVALID},
    {404, ERROR_NOT_FOUND},
    {409, ERROR_CONFLICT},
};

static enum error_code code_of_status(long status)
{
    for (size_t i = 0; i < ARRAY_SIZE(status_codes); i++) {
        if (status_codes[i].status == status)
            return status_codes[i].code;
    }
    return ERROR_INTERNAL;
}

static void append_url(const struct engine *engine, const char *path, struct strbuf *url)
{
    strbuf_appendf(url, "http://engine/v%s%s", engine->version, path);
}

/* The engine's error is in {"message": …}. */
static int error_from_reply(long status, const char *body, size_t len, struct error *err)
{
    json_auto_t *reply = NULL;
    struct error ignored = ERROR_INIT;

    error_ignore(json_parse(body, len, &reply, &ignored), "without JSON there is no message");
    return error_set(err, code_of_status(status), "the container engine replied %ld: %s", status,
                     json_text_or(reply, "message", "nothing"));
}

/* Durations of calls, for profiling. */
static void log_call(const struct http_request *request, const char *path, long status,
                     int64_t begun_us)
{
    log_debug("engine.called", LOG_STR("method", request->method), LOG_STR("path", path),
              LOG_INT("status", status), LOG_INT("duration_us", clock_monotonic_us() - begun_us));
}

static int engine_send(const struct engine *engine, struct http_request *request, const char *path,
                       struct http_call **call_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    int64_t begun_us = clock_monotonic_us();
    const char *body = NULL;
    size_t len = 0;

    append_url(engine, path, &url);
    request->url = url.text;
    request->unix_socket = engine->socket;
    request->address_of = ADDRESS_OF_DEFT;
    request->max_reply_bytes = REPLY_MAX_BYTES;
    /*
     * An engine that is shutting down accepts no new connections, but responds on existing ones
     * while its containers end. Changes made then may be incomplete (Docker 20.10: a network
     * without its addresses, with which every later start fails).
     */
    request->own_connection = true;
    if (http_start(engine->http, request, &call, err) < 0 || http_wait(call, err) < 0)
        return error_wrap(err, "container engine");
    log_call(request, path, http_status(call), begun_us);
    body = http_body(call, &len);
    if (http_status(call) >= 400)
        return error_from_reply(http_status(call), body, len, err);
    *call_out = call;
    call = NULL;
    return 0;
}

int engine_call(const struct engine *engine, const struct engine_request *request,
                json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct http_request http = {.method = request->method, .timeout_ms = request->timeout_ms};
    const char *body = NULL;
    size_t len = 0;

    if (http.timeout_ms == 0)
        http.timeout_ms = CALL_TIMEOUT_MS;
    if (request->body != NULL) {
        json_append_text(&text, request->body);
        http.body = text.text;
        http.body_len = text.len;
    }
    if (engine_send(engine, &http, request->path, &call, err) < 0)
        return -1;
    assert(call != NULL);
    if (reply_out == NULL)
        return 0;
    *reply_out = NULL;
    body = http_body(call, &len);
    if (len == 0)
        return 0;
    if (json_parse(body, len, reply_out, err) < 0)
        return error_wrap(err, "container engine's answer to %s", request->path);
    return 0;
}

int engine_put_archive(const struct engine *engine, const char *path, const struct strbuf *archive,
                       struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct http_request http = {.method = "PUT",
                                .body = archive->text,
                                .body_len = archive->len,
                                .content_type = "application/x-tar",
                                .timeout_ms = CALL_TIMEOUT_MS};

    return engine_send(engine, &http, path, &call, err);
}

/* A failure after the first byte is in the stream, as its last object. */
static int check_progress(const char *body, size_t len, struct error *err)
{
    const char *end = body + len;

    while (body < end) {
        const char *newline = memchr(body, '\n', (size_t)(end - body));
        const char *line_end = newline != NULL ? newline : end;
        json_auto_t *step = NULL;
        struct error ignored = ERROR_INIT;
        const char *why = NULL;

        error_ignore(json_parse(body, (size_t)(line_end - body), &step, &ignored),
                     "progress is only read for errors");
        why = json_text_or(step, "error", NULL);
        if (why != NULL)
            return error_set(err, ERROR_NOT_FOUND, "%s", why);
        body = line_end + 1;
    }
    return 0;
}

int engine_load_image(const struct engine *engine, const char *path, const struct strbuf *archive,
                      struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct http_request http = {.method = "POST", .timeout_ms = PULL_TIMEOUT_MS};
    const char *body = NULL;
    size_t len = 0;

    if (archive->len > 0) {
        http.body = archive->text;
        http.body_len = archive->len;
        http.content_type = "application/x-tar";
    }
    if (engine_send(engine, &http, path, &call, err) < 0)
        return -1;
    assert(call != NULL);
    body = http_body(call, &len);
    return check_progress(body, len, err);
}

int engine_stream(const struct engine *engine, const char *path, int64_t timeout_ms,
                  struct http_call **call_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    struct http_request http = {.method = "GET",
                                .unix_socket = engine->socket,
                                .timeout_ms = timeout_ms,
                                .address_of = ADDRESS_OF_DEFT,
                                .stream = true};

    append_url(engine, path, &url);
    http.url = url.text;
    return http_start(engine->http, &http, call_out, err);
}

int engine_stream_archive(const struct engine *engine, const char *path, size_t len,
                          int64_t timeout_ms, struct http_call **call_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    struct http_request http = {.method = "POST",
                                .unix_socket = engine->socket,
                                .timeout_ms = timeout_ms,
                                .content_type = "application/x-tar",
                                .address_of = ADDRESS_OF_DEFT,
                                .max_reply_bytes = STREAM_MAX_BYTES,
                                .stream = true,
                                .send_stream = true,
                                .body_len = len};

    append_url(engine, path, &url);
    http.url = url.text;
    return http_start(engine->http, &http, call_out, err);
}

void engine_append_label_filter(struct strbuf *path, const char *name, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf label = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf filter = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    json_auto_t *filters = NULL;

    strbuf_appendf(&label, "%s=%s", name, value);
    filters = json_build(&ignored, "{s:[s]}", "label", label.text);
    if (filters != NULL)
        json_append_text(&filter, filters);
    strbuf_append(path, "filters=");
    percent_append(path, filter.text);
}
