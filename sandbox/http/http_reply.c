#include "sandbox/http/http_reply.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <http_parser.h>

#include "base/strbuf.h"
#include "sandbox/http/server_request.h"

enum {
    PIECE_BYTES = 32 * 1024,
    PIECES_AT_ONCE = 16, /* other connections wait until then */
};

static int64_t reply_length(const struct server_request *request)
{
    if (request->file_fd >= 0)
        return request->file_end - request->file_at;
    return (int64_t)request->reply.len;
}

/* A line end in a value would begin a header of its own. */
static bool is_one_line(const char *value)
{
    return strpbrk(value, "\r\n") == NULL;
}

static void append_headers(const struct server_request *request, struct strbuf *output)
{
    const char *stop = request->headers.text + request->headers.len;

    for (const char *name = request->headers.text; name < stop;) {
        const char *value = name + strlen(name) + 1;

        if (is_one_line(value))
            strbuf_appendf(output, "%s: %s\r\n", name, value);
        name = value + strlen(value) + 1;
    }
}

static void append_head(struct server_request *request, struct strbuf *output)
{
    strbuf_appendf(output, "HTTP/1.%d %d %s\r\n", request->head->is_http_1_0 ? 0 : 1,
                   request->status, http_status_str((enum http_status)request->status));
    if (request->content_type != NULL)
        strbuf_appendf(output, "content-type: %s\r\n", request->content_type);
    strbuf_appendf(output, "content-length: %lld\r\n", (long long)reply_length(request));
    append_headers(request, output);
    request->is_last = !server_request_goes_on(request);
    if (request->is_last)
        strbuf_append(output, "connection: close\r\n");
    strbuf_append(output, "\r\n");
    request->head_sent = true;
    if (request->method == METHOD_HEAD) {
        request->file_at = request->file_end;
        request->sent = request->reply.len;
    }
}

/* Appends the next piece of the body. False when the file was cut, or cannot be read. */
static bool append_piece(struct server_request *request, struct strbuf *output)
{
    int64_t len = request->file_end - request->file_at;
    ssize_t n = 0;

    if (request->file_fd < 0) {
        size_t left = request->reply.len - request->sent;

        left = left < PIECE_BYTES ? left : PIECE_BYTES;
        strbuf_append_bytes(output, request->reply.text + request->sent, left);
        request->sent += left;
        return true;
    }
    if (len == 0)
        return true;
    strbuf_reserve(output, PIECE_BYTES);
    n = pread(request->file_fd, output->text + output->len,
              len < PIECE_BYTES ? (size_t)len : PIECE_BYTES, request->file_at);
    if (n <= 0)
        return false;
    output->len += (size_t)n;
    output->text[output->len] = '\0';
    request->file_at += n;
    return true;
}

static bool has_more(const struct server_request *request)
{
    if (request->file_fd >= 0)
        return request->file_at < request->file_end;
    return request->sent < request->reply.len;
}

bool http_reply_write_interim(int socket, struct strbuf *output)
{
    ssize_t n = send(socket, output->text, output->len, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    strbuf_remove_head(output, (size_t)n);
    return true;
}

enum http_reply_state http_reply_write(struct server_request *request, struct strbuf *output,
                                       size_t *n_sent_out)
{
    *n_sent_out = 0;
    if (!request->head_sent) {
        /* Removes a partial upload first: the client must not find it after the refusal. */
        server_request_end_arrival(request);
        append_head(request, output);
    }
    for (int i = 0; i < PIECES_AT_ONCE; i++) {
        size_t n_waiting = 0;

        if (output->len < PIECE_BYTES && has_more(request) && !append_piece(request, output))
            return HTTP_REPLY_FAILED;
        n_waiting = output->len;
        if (n_waiting > 0 && !http_reply_write_interim(request->socket, output))
            return HTTP_REPLY_FAILED;
        *n_sent_out += n_waiting - output->len;
        if (output->len > 0)
            return HTTP_REPLY_WAITS;
        if (!has_more(request)) {
            strbuf_done(output);
            return HTTP_REPLY_SENT;
        }
    }
    return HTTP_REPLY_WAITS;
}
