/*
 * Writes replies: head, then body pieces from memory or a file, as the socket accepts them.
 */
#include <string.h>
#include <unistd.h>

#include <libwebsockets.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "sandbox/core/loop.h"
#include "sandbox/core/server.h"
#include "sandbox/http/http_connection.h"
#include "sandbox/http/request.h"

enum {
    WRITE_BYTES = 32 * 1024,
    HEAD_BYTES = 8 * 1024,
    IDLE_MS = 90000,
    /* A refused request's body of up to this size is read, so that the client sees why. */
    MAX_DISCARDED_BYTES = 8 * 1024 * 1024,
};

static int64_t reply_length(const struct request *request)
{
    if (request->file_fd >= 0)
        return request->file_end - request->file_at;
    return (int64_t)request->reply.len;
}

static int add_headers(struct request *request, unsigned char **at, unsigned char *end)
{
    struct lws *wsi = request->connection->wsi;
    const char *name = request->headers.text;
    const char *stop = request->headers.text + request->headers.len;

    while (name < stop) {
        CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
        const char *value = name + strlen(name) + 1;

        strbuf_appendf(&key, "%s:", name);
        if (lws_add_http_header_by_name(wsi, (const unsigned char *)key.text,
                                        (const unsigned char *)value, (int)strlen(value), at, end))
            return -1;
        name = value + strlen(value) + 1;
    }
    return 0;
}

static int send_head(struct request *request)
{
    unsigned char buffer[LWS_PRE + HEAD_BYTES];
    unsigned char *start = buffer + LWS_PRE;
    unsigned char *end = buffer + sizeof(buffer) - 1;
    unsigned char *at = start;
    struct lws *wsi = request->connection->wsi;

    request->head_sent = true;
    if (lws_add_http_common_headers(wsi, (unsigned)request->status, request->content_type,
                                    (lws_filepos_t)reply_length(request), &at, end) ||
        add_headers(request, &at, end) || lws_finalize_http_header(wsi, &at, end))
        return -1;
    if (lws_write(wsi, start, (size_t)(at - start), LWS_WRITE_HTTP_HEADERS) < 0)
        return -1;
    return 0;
}

/* The next piece of the reply, at most WRITE_BYTES; 0 at its end, -1 when the file was cut. */
static ssize_t next_piece(struct request *request, unsigned char *piece)
{
    size_t len = 0;
    ssize_t n = 0;

    if (request->file_fd >= 0) {
        len = (size_t)(request->file_end - request->file_at);
        if (len == 0)
            return 0;
        n = pread(request->file_fd, piece, len < WRITE_BYTES ? len : WRITE_BYTES, request->file_at);
        request->file_at += n > 0 ? n : 0;
        return n > 0 ? n : -1;
    }
    len = request->reply.len - request->sent;
    len = len < WRITE_BYTES ? len : WRITE_BYTES;
    memcpy(piece, request->reply.text + request->sent, len);
    request->sent += len;
    return (ssize_t)len;
}

static bool is_sent(const struct request *request)
{
    if (request->file_fd >= 0)
        return request->file_at >= request->file_end;
    return request->sent >= request->reply.len;
}

/* To be called after the reply was sent. Nonzero: the connection must be closed. */
static int end_request(struct http_connection *connection)
{
    /* libwebsockets does not parse chunks, so it cannot find the next request. */
    bool may_go_on = request_is_read(connection->request) && !connection->request->is_chunked;

    request_free(connection->request);
    connection->request = NULL;
    loop_timer_set(connection->server->loop, &connection->deadline, IDLE_MS);
    if (!may_go_on)
        return -1;
    return lws_http_transaction_completed(connection->wsi) ? -1 : 0;
}

static int send_piece(struct http_connection *connection)
{
    unsigned char buffer[LWS_PRE + WRITE_BYTES];
    struct request *request = connection->request;
    ssize_t n = next_piece(request, buffer + LWS_PRE);
    bool is_last = is_sent(request);

    if (n < 0)
        return -1;
    if (n > 0 && lws_write(connection->wsi, buffer + LWS_PRE, (size_t)n,
                           is_last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0)
        return -1;
    loop_timer_set(connection->server->loop, &connection->deadline, WRITE_WITHIN_MS);
    if (is_last)
        return end_request(connection);
    lws_callback_on_writable(connection->wsi);
    return 0;
}

int http_reply_write(struct http_connection *connection)
{
    struct request *request = connection->request;

    /* libwebsockets may call spuriously. */
    if (request == NULL || !request->is_answered)
        return 0;
    /* Reads the rest of a refused body first, unless it is too large. */
    if (!request_is_read(request) && request->content_length <= MAX_DISCARDED_BYTES &&
        request->received <= MAX_DISCARDED_BYTES)
        return 0;
    if (!request->head_sent) {
        /* Removes a partial upload first: the client must not find it after the refusal. */
        request_end_arrival(request);
        if (send_head(request) < 0)
            return -1;
        if (request->method == HTTP_HEAD || reply_length(request) == 0)
            return end_request(connection);
        lws_callback_on_writable(connection->wsi);
        return 0;
    }
    return send_piece(connection);
}
