#include "sandbox/http/server_request.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/codec/query.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/http_route.h"

static const int error_status[ERROR_N_CODES] = {
    [ERROR_INVALID] = 400,     [ERROR_UNAUTHENTICATED] = 401, [ERROR_FORBIDDEN] = 403,
    [ERROR_NOT_FOUND] = 404,   [ERROR_CONFLICT] = 409,        [ERROR_STALE] = 409,
    [ERROR_TOO_LARGE] = 413,   [ERROR_RATE_LIMITED] = 429,    [ERROR_UNAVAILABLE] = 503,
    [ERROR_UNSUPPORTED] = 405, [ERROR_TIMEOUT] = 504,         [ERROR_MEDIA_TYPE] = 415,
};

void server_request_end_arrival(struct server_request *request)
{
    if (request->sink.free != NULL)
        request->sink.free(request->sink.state);
    request->sink = (struct server_request_sink){0};
}

void server_request_free(struct server_request *request)
{
    if (request == NULL)
        return;
    server_request_end_arrival(request);
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

bool server_request_has_body(const struct server_request *request)
{
    return request->is_chunked || request->content_length > 0;
}

bool server_request_awaits_continue(const struct server_request *request)
{
    const char *expected = http_head_header(request->head, "expect");

    return expected != NULL && text_equal_nocase(expected, "100-continue") &&
           !request->head->is_http_1_0 && server_request_has_body(request);
}

bool server_request_is_read(const struct server_request *request)
{
    if (request->is_chunked)
        return request->chunks.state == CHUNKED_OVER;
    return !server_request_has_body(request) || request->received >= request->content_length;
}

bool server_request_goes_on(const struct server_request *request)
{
    /* The reply to a chunked request closes the connection. */
    return request->head->keeps_alive && server_request_is_read(request) && !request->is_chunked &&
           !request->is_body_refused && !request->is_last;
}

char *server_request_header(const struct server_request *request, const char *name)
{
    const char *value = http_head_header(request->head, name);

    return value != NULL ? mem_dup_text(value) : NULL;
}

void server_request_append_address(const struct server_request *request, struct strbuf *out)
{
    struct sockaddr_storage end = {0};
    const struct sockaddr_in *four = (const struct sockaddr_in *)&end;
    char text[INET_ADDRSTRLEN] = "";
    socklen_t len = sizeof(end);

    if (getsockname(request->socket, (struct sockaddr *)&end, &len) < 0 ||
        end.ss_family != AF_INET || inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text)) == NULL)
        return;
    strbuf_appendf(out, "%s:%u", text, ntohs(four->sin_port));
}

const char *server_request_query(const struct server_request *request, const char *name)
{
    for (size_t i = 0; i < request->n_query; i++) {
        if (text_equal(request->query[i].name, name))
            return request->query[i].value;
    }
    return NULL;
}

void server_request_add_header(struct server_request *request, const char *name, const char *value)
{
    strbuf_append_bytes(&request->headers, name, strlen(name) + 1);
    strbuf_append_bytes(&request->headers, value, strlen(value) + 1);
}

static void begin_reply(struct server_request *request, int status, const char *content_type)
{
    assert(!request->is_answered);
    request->is_answered = true;
    request->status = status;
    request->content_type = content_type;
    request->dropped = NULL;
    request->answered(request->connection);
}

void server_request_answer_text(struct server_request *request, int status,
                                const char *content_type, const char *text, size_t len)
{
    strbuf_append_bytes(&request->reply, text, len);
    begin_reply(request, status, content_type);
}

void server_request_answer_json(struct server_request *request, int status, const json_t *json)
{
    json_append_text(&request->reply, json);
    begin_reply(request, status, "application/json");
}

void server_request_answer_file(struct server_request *request, int status,
                                const struct server_request_file *file)
{
    request->file_fd = file->fd;
    request->file_at = file->at;
    request->file_end = file->end;
    begin_reply(request, status, file->content_type);
}

void server_request_answer_detail(struct server_request *request, int status, const char *detail)
{
    json_auto_t *body = json_object();

    json_put_text(body, "detail", detail);
    server_request_answer_json(request, status, body);
}

int server_request_status_of(enum error_code code)
{
    return error_status[code] != 0 ? error_status[code] : 500;
}

void server_request_answer_error(struct server_request *request, const struct error *err)
{
    int status = server_request_status_of(err->code);

    if (status == 500) {
        log_error("request.failed", LOG_ERROR(err));
        server_request_answer_detail(request, 500, "Internal Server Error");
        return;
    }
    server_request_answer_detail(request, status, err->message);
}

/* --- the body --- */

static void take_bytes(struct server_request *request, const char *bytes, size_t len)
{
    struct error err = ERROR_INIT;

    if (request->is_answered)
        return;
    if (request->sink.take == NULL)
        strbuf_append_bytes(&request->body, bytes, len);
    else if (request->sink.take(request->sink.state, bytes, len, &err) < 0)
        server_request_answer_error(request, &err);
}

static int64_t max_chunked(const struct server_request *request)
{
    return request->route->max_body < MAX_CHUNKED_BYTES ? request->route->max_body
                                                        : MAX_CHUNKED_BYTES;
}

/* One piece of data of a chunked body. */
static void take_chunk_data(struct server_request *request, const char *data, size_t len)
{
    struct error err = ERROR_INIT;

    request->received += (int64_t)len;
    if (!request->is_answered && request->received > max_chunked(request)) {
        error_set(&err, ERROR_TOO_LARGE,
                  "A body without a content-length may have at most %lld bytes",
                  (long long)max_chunked(request));
        server_request_answer_error(request, &err);
    }
    take_bytes(request, data, len);
}

/* Malformed chunks are answered; the rest of the connection cannot be trusted. */
static size_t take_chunks(struct server_request *request, const char *bytes, size_t len)
{
    struct chunked_input input = {bytes, len};
    struct error err = ERROR_INIT;
    const char *data = NULL;
    size_t data_len = 0;

    do {
        if (chunked_next(&request->chunks, &input, &data, &data_len, &err) < 0) {
            request->chunks.state = CHUNKED_OVER;
            if (!request->is_answered)
                server_request_answer_error(request, &err);
            return len;
        }
        if (data_len > 0)
            take_chunk_data(request, data, data_len);
    } while (data_len > 0);
    return len - input.len;
}

size_t server_request_read_body(struct server_request *request, const char *bytes, size_t len)
{
    int64_t left = request->content_length - request->received;
    size_t n = (int64_t)len < left ? len : (size_t)left;

    if (request->is_chunked)
        return take_chunks(request, bytes, len);
    request->received += (int64_t)n;
    take_bytes(request, bytes, n);
    return n;
}

/* --- the head --- */

/* Further parameters than REQUEST_MAX_QUERY are dropped. */
static void take_query(struct server_request *request, const char *query)
{
    struct query_reader reader = {query};

    while (request->n_query < REQUEST_MAX_QUERY) {
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;

        if (!query_next(&reader, &name, &value))
            return;
        request->query[request->n_query].name = strbuf_take(&name);
        request->query[request->n_query].value = strbuf_take(&value);
        request->n_query++;
    }
}

struct server_request *server_request_new(struct action_server *server,
                                          const struct http_head *head)
{
    struct server_request *request = NEW(struct server_request);

    request->server = server;
    request->head = head;
    request->method = head->method;
    request->path = mem_dup_text(head->path.text);
    request->body = (struct strbuf)STRBUF_INIT;
    request->headers = (struct strbuf)STRBUF_INIT;
    request->reply = (struct strbuf)STRBUF_INIT;
    request->file_fd = -1;
    request->content_length = head->content_length;
    request->is_chunked = head->is_chunked;
    take_query(request, head->query);
    return request;
}
