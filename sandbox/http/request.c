#include "sandbox/http/request.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <libwebsockets.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/limits.h"
#include "sandbox/core/server.h"
#include "sandbox/http/http_connection.h"

struct method_token {
    enum lws_token_indexes token;
    enum http_method method;
};

static const struct method_token methods[] = {
    {WSI_TOKEN_GET_URI, HTTP_GET},     {WSI_TOKEN_POST_URI, HTTP_POST},
    {WSI_TOKEN_PUT_URI, HTTP_PUT},     {WSI_TOKEN_DELETE_URI, HTTP_DELETE},
    {WSI_TOKEN_HEAD_URI, HTTP_HEAD},   {WSI_TOKEN_OPTIONS_URI, HTTP_OTHER},
    {WSI_TOKEN_PATCH_URI, HTTP_OTHER},
};

struct header_token {
    const char *name;
    enum lws_token_indexes token;
};

/* Requested headers that libwebsockets keeps under a token. */
static const struct header_token known_headers[] = {
    {"content-type", WSI_TOKEN_HTTP_CONTENT_TYPE},
    {"range", WSI_TOKEN_HTTP_RANGE},
    {"if-range", WSI_TOKEN_HTTP_IF_RANGE},
};

static const int error_status[ERROR_N_CODES] = {
    [ERROR_INVALID] = 400,     [ERROR_UNAUTHENTICATED] = 401, [ERROR_FORBIDDEN] = 403,
    [ERROR_NOT_FOUND] = 404,   [ERROR_CONFLICT] = 409,        [ERROR_STALE] = 409,
    [ERROR_TOO_LARGE] = 413,   [ERROR_RATE_LIMITED] = 429,    [ERROR_UNAVAILABLE] = 503,
    [ERROR_UNSUPPORTED] = 405, [ERROR_TIMEOUT] = 504,         [ERROR_MEDIA_TYPE] = 415,
};

void request_end_arrival(struct request *request)
{
    if (request->sink.free != NULL)
        request->sink.free(request->sink.state);
    request->sink = (struct request_sink){0};
}

void request_free(struct request *request)
{
    if (request == NULL)
        return;
    request_end_arrival(request);
    for (size_t i = 0; i < request->n_query; i++) {
        mem_free(request->query[i].name);
        mem_free(request->query[i].value);
    }
    mem_free(request->path);
    mem_free(request->param);
    strbuf_done(&request->body);
    strbuf_done(&request->headers);
    strbuf_done(&request->reply);
    fd_close(&request->file_fd);
    mem_free(request);
}

bool request_has_body(const struct request *request)
{
    return request->is_chunked || request->content_length > 0;
}

bool request_is_read(const struct request *request)
{
    if (request->is_chunked)
        return request->chunks.state == CHUNKED_OVER;
    return !request_has_body(request) || request->received >= request->content_length;
}

static char *known_header(struct lws *wsi, enum lws_token_indexes token)
{
    int len = lws_hdr_total_length(wsi, token);
    char *value = NULL;

    if (len <= 0)
        return NULL;
    value = mem_alloc((size_t)len + 1);
    if (lws_hdr_copy(wsi, value, len + 1, token) < 0)
        mem_freep(&value);
    return value;
}

char *request_header(const struct request *request, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    struct lws *wsi = request->connection->wsi;
    char *value = NULL;
    int len = 0;

    for (size_t i = 0; i < ARRAY_SIZE(known_headers); i++) {
        if (text_equal(known_headers[i].name, name))
            return known_header(wsi, known_headers[i].token);
    }
    strbuf_appendf(&key, "%s:", name);
    len = lws_hdr_custom_length(wsi, key.text, (int)key.len);
    if (len < 0)
        return NULL;
    value = mem_alloc((size_t)len + 1);
    if (lws_hdr_custom_copy(wsi, value, len + 1, key.text, (int)key.len) < 0)
        mem_freep(&value);
    return value;
}

void request_append_address(const struct request *request, struct strbuf *out)
{
    struct sockaddr_storage end = {0};
    const struct sockaddr_in *four = (const struct sockaddr_in *)&end;
    char text[INET_ADDRSTRLEN] = "";
    socklen_t len = sizeof(end);

    if (getsockname(lws_get_socket_fd(request->connection->wsi), (struct sockaddr *)&end, &len) <
            0 ||
        end.ss_family != AF_INET || inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text)) == NULL)
        return;
    strbuf_appendf(out, "%s:%u", text, ntohs(four->sin_port));
}

const char *request_query(const struct request *request, const char *name)
{
    for (size_t i = 0; i < request->n_query; i++) {
        if (text_equal(request->query[i].name, name))
            return request->query[i].value;
    }
    return NULL;
}

void request_add_header(struct request *request, const char *name, const char *value)
{
    strbuf_append_bytes(&request->headers, name, strlen(name) + 1);
    strbuf_append_bytes(&request->headers, value, strlen(value) + 1);
}

static void answer(struct request *request, int status, const char *content_type)
{
    assert(!request->is_answered);
    request->is_answered = true;
    request->status = status;
    request->content_type = content_type;
    request->dropped = NULL;
    loop_timer_set(request->server->loop, &request->connection->deadline, WRITE_WITHIN_MS);
    lws_callback_on_writable(request->connection->wsi);
}

void request_answer_text(struct request *request, int status, const char *content_type,
                         const char *text, size_t len)
{
    strbuf_append_bytes(&request->reply, text, len);
    answer(request, status, content_type);
}

void request_answer_json(struct request *request, int status, const json_t *json)
{
    json_append_text(&request->reply, json);
    answer(request, status, "application/json");
}

void request_answer_file(struct request *request, int status, const struct request_file *file)
{
    request->file_fd = file->fd;
    request->file_at = file->at;
    request->file_end = file->end;
    answer(request, status, file->content_type);
}

void request_answer_detail(struct request *request, int status, const char *detail)
{
    json_auto_t *body = json_object();

    json_put_text(body, "detail", detail);
    request_answer_json(request, status, body);
}

int request_status_of(enum error_code code)
{
    return error_status[code] != 0 ? error_status[code] : 500;
}

void request_answer_error(struct request *request, const struct error *err)
{
    int status = request_status_of(err->code);

    if (status == 500) {
        log_error("request.failed", LOG_ERROR(err));
        request_answer_detail(request, 500, "Internal Server Error");
        return;
    }
    request_answer_detail(request, status, err->message);
}

static void take_query(struct request *request, struct lws *wsi)
{
    CLEANUP(strbuf_done) struct strbuf fragment = STRBUF_INIT;

    strbuf_reserve(&fragment, MAX_HEADER_BYTES);
    for (int i = 0; i < REQUEST_MAX_QUERY; i++) {
        int len =
            lws_hdr_copy_fragment(wsi, fragment.text, MAX_HEADER_BYTES, WSI_TOKEN_HTTP_URI_ARGS, i);
        const char *equals = NULL;
        struct request_pair *pair = &request->query[request->n_query];

        if (len < 0)
            return;
        fragment.text[len] = '\0';
        equals = strchr(fragment.text, '=');
        if (equals == NULL)
            continue;
        pair->name = mem_dup_bytes(fragment.text, (size_t)(equals - fragment.text));
        pair->value = mem_dup_text(equals + 1);
        request->n_query++;
    }
}

static enum http_method method_of(struct lws *wsi)
{
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        if (lws_hdr_total_length(wsi, methods[i].token) > 0)
            return methods[i].method;
    }
    return HTTP_OTHER;
}

static int64_t content_length_of(struct lws *wsi)
{
    char text[24] = "";
    struct error ignored = ERROR_INIT;
    int64_t length = 0;

    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0)
        return -1;
    if (lws_hdr_copy(wsi, text, sizeof(text), WSI_TOKEN_HTTP_CONTENT_LENGTH) < 0 ||
        text_parse_int(text, 0, INT64_MAX, &length, &ignored) < 0)
        return INT64_MAX;
    return length;
}

struct request *request_new(struct http_connection *connection, const char *path)
{
    struct request *request = NEW(struct request);

    request->server = connection->server;
    request->connection = connection;
    request->method = method_of(connection->wsi);
    request->path = mem_dup_text(path);
    request->body = (struct strbuf)STRBUF_INIT;
    request->headers = (struct strbuf)STRBUF_INIT;
    request->reply = (struct strbuf)STRBUF_INIT;
    request->file_fd = -1;
    request->content_length = content_length_of(connection->wsi);
    request->is_chunked =
        lws_hdr_total_length(connection->wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0;
    if (request->is_chunked)
        request_add_header(request, "connection", "close");
    take_query(request, connection->wsi);
    return request;
}
