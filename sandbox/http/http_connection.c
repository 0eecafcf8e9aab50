#include "sandbox/http/http_connection.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/http_reply.h"
#include "sandbox/http/http_route.h"
#include "sandbox/http/path_scope.h"
#include "sandbox/http/server_request.h"

enum {
    READ_BYTES = 64 * 1024,
    /* Of a client that sends further requests before it has read a reply. */
    MAX_INPUT_BYTES = 64 * 1024,
    HEADERS_WITHIN_MS = 30000,
    /* For the next piece of a body or reply. */
    PIECE_WITHIN_MS = 120000,
    /* For a whole body or reply, with the time that its bytes take at the least rate. */
    TRANSFER_WITHIN_MS = 120000,
    MIN_BYTES_PER_S = 8192,
    IDLE_MS = 90000,
    /* A client reads the reply before it sees that the connection ends. */
    CLOSED_WITHIN_MS = 2000,
    MS_PER_S = 1000,
    /* A refused request's body of up to this size is read, so that the client sees why. */
    MAX_DISCARDED_BYTES = 8 * 1024 * 1024,
    STATUS_BAD_REQUEST = 400,
    STATUS_HEAD_TOO_LARGE = 431,
};

static void set_deadline(struct http_connection *connection, int64_t delay_ms)
{
    event_loop_timer_set(connection->http->loop, &connection->deadline, delay_ms);
}

/* --- time limits of a body or reply --- */

/* Without a rate, one byte per limit would hold the connection, which others need. */
static void set_transfer_deadline(struct http_connection *connection)
{
    int64_t left_ms = connection->transfer_begun_ms + TRANSFER_WITHIN_MS +
                      connection->n_transferred * MS_PER_S / MIN_BYTES_PER_S - clock_monotonic_ms();

    set_deadline(connection, left_ms < PIECE_WITHIN_MS ? left_ms : PIECE_WITHIN_MS);
}

static void begin_transfer(struct http_connection *connection)
{
    connection->transfer_begun_ms = clock_monotonic_ms();
    connection->n_transferred = 0;
    set_transfer_deadline(connection);
}

static void note_transfer(struct http_connection *connection, size_t n_bytes)
{
    connection->n_transferred += (int64_t)n_bytes;
    set_transfer_deadline(connection);
}

/* --- events the connection waits for --- */

/* False while a refused body is still being read, unless that is too large to be read. */
static bool reply_is_due(const struct server_request *request)
{
    return request != NULL && request->is_answered &&
           (server_request_is_read(request) || request->is_body_refused ||
            request->content_length > MAX_DISCARDED_BYTES ||
            request->received > MAX_DISCARDED_BYTES);
}

static void watch(struct http_connection *connection)
{
    uint32_t events = 0;

    if (!connection->is_at_end && connection->input.len < MAX_INPUT_BYTES)
        events |= EPOLLIN;
    if (!connection->is_at_end)
        events |= EPOLLRDHUP;
    if (!connection->is_closing &&
        (reply_is_due(connection->request) || connection->output.len > 0))
        events |= EPOLLOUT;
    event_loop_change(connection->http->loop, &connection->source, events);
}

/* The request has been answered: the reply is written when the socket accepts it. */
static void send_reply(struct http_connection *connection)
{
    if (reply_is_due(connection->request))
        begin_transfer(connection);
    watch(connection);
}

void http_connection_close(struct http_connection *connection)
{
    struct http_context *http = connection->http;
    struct server_request *request = connection->request;

    connection->request = NULL;
    if (request != NULL && request->dropped != NULL)
        request->dropped(request->owner);
    server_request_free(request);
    event_loop_timer_clear(http->loop, &connection->deadline);
    event_loop_remove(http->loop, &connection->source);
    /* A fork that still runs has the socket, too: closing it alone would not end the connection. */
    (void)shutdown(connection->source.fd, SHUT_RDWR);
    fd_close(&connection->source.fd);
    http_head_done(&connection->head);
    strbuf_done(&connection->input);
    strbuf_done(&connection->output);
    LIST_REMOVE(connection, link);
    connection->listener->acceptor.n_open--;
    mem_free(connection);
}

static void on_deadline(void *owner)
{
    http_connection_close(owner);
}

/* --- requests --- */

static int check_key(const struct server_request *request, struct error *err)
{
    CLEANUP(mem_freep) char *key = server_request_header(request, "x-session-api-key");
    const struct action_config *config = request->server->config;

    if (request->route->access == ROUTE_OPEN || config->open)
        return 0;
    if (action_config_is_dormant(config))
        return error_set(err, ERROR_UNAVAILABLE,
                         "server is in deferred-init state 'dormant'; call POST /api/init first");
    if (key != NULL && text_starts_with(request->path, "/api/") &&
        text_equal_secret(key, config->command_key))
        return 0;
    if (key != NULL && text_equal_secret(key, secret_reveal(&config->api_key)))
        return 0;
    if (request->route->access == ROUTE_OLDER)
        return error_set(err, ERROR_FORBIDDEN, "Invalid API Key");
    return error_set(err, ERROR_UNAUTHENTICATED, "Unauthorized");
}

/* Checks done before the body is read: route, key, size. */
static int check_request(struct server_request *request, struct error *err)
{
    enum request_method method = request->method == METHOD_HEAD ? METHOD_GET : request->method;

    request->route = http_route_find(request->connection->http->routes, method, request->path,
                                     &request->param, err);
    if (request->route == NULL)
        return -1;
    if (check_key(request, err) < 0)
        return -1;
    if (request->content_length > request->route->max_body)
        return error_set(err, ERROR_TOO_LARGE, "The body is larger than %lld bytes",
                         (long long)request->route->max_body);
    return 0;
}

/* Passes a complete request to its handler, unless it was already answered. */
static void dispatch(struct server_request *request)
{
    if (request->is_answered) {
        send_reply(request->connection);
        return;
    }
    event_loop_timer_clear(request->connection->http->loop, &request->connection->deadline);
    request->route->handle(request);
}

static struct server_request *new_request(struct http_connection *connection)
{
    struct server_request *request =
        server_request_new(connection->http->server, &connection->head);

    assert(connection->request == NULL);
    request->connection = connection;
    request->answered = send_reply;
    request->socket = connection->source.fd;
    connection->request = request;
    return request;
}

/* A client that has sent some of the body already does not wait (RFC 9110, section 10.1.1). */
static void answer_expectation(struct http_connection *connection)
{
    struct server_request *request = connection->request;

    if (connection->input.len > 0 || !server_request_awaits_continue(request))
        return;
    if (request->is_answered)
        request->is_body_refused = true;
    else
        strbuf_append(&connection->output, "HTTP/1.1 100 Continue\r\n\r\n");
}

static void begin_request(struct http_connection *connection)
{
    struct error err = ERROR_INIT;
    struct server_request *request = new_request(connection);

    begin_transfer(connection);
    if (check_request(request, &err) < 0)
        server_request_answer_error(request, &err);
    else if (path_scope_check(request) && request->route->begin != NULL)
        request->route->begin(request);
    answer_expectation(connection);
    if (!server_request_has_body(request))
        dispatch(request);
}

/* Answers something that is not a request; the connection ends with the reply. */
static void refuse_head(struct http_connection *connection, const struct error *err)
{
    int status = err->code == ERROR_TOO_LARGE ? STATUS_HEAD_TOO_LARGE : STATUS_BAD_REQUEST;

    http_head_reset(&connection->head);
    strbuf_reset(&connection->input);
    server_request_answer_detail(new_request(connection), status, err->message);
}

/* --- input --- */

/* False when the connection was closed. */
static bool read_head(struct http_connection *connection)
{
    struct http_head *head = &connection->head;
    struct error err = ERROR_INIT;
    bool is_first_piece = head->n_bytes == 0;
    size_t used = 0;

    if (http_head_read(head, connection->input.text, connection->input.len, &used, &err) < 0) {
        refuse_head(connection, &err);
        return true;
    }
    strbuf_remove_head(&connection->input, used);
    if (head->is_complete && head->wants_upgrade) {
        http_connection_close(connection); /* no other protocol is spoken here */
        return false;
    }
    if (head->is_complete)
        begin_request(connection);
    else if (is_first_piece)
        set_deadline(connection, HEADERS_WITHIN_MS);
    return true;
}

static void read_body(struct http_connection *connection)
{
    struct server_request *request = connection->request;
    size_t used = 0;

    used = server_request_read_body(request, connection->input.text, connection->input.len);
    note_transfer(connection, used);
    strbuf_remove_head(&connection->input, used);
    if (server_request_is_read(request))
        dispatch(request);
}

/* Reads what has arrived, up to the end of a request. False when the connection was closed. */
static bool read_input(struct http_connection *connection)
{
    while (connection->input.len > 0) {
        if (connection->request == NULL) {
            if (!read_head(connection))
                return false;
        } else if (!server_request_is_read(connection->request)) {
            read_body(connection);
        } else {
            return true;
        }
    }
    strbuf_done(&connection->input);
    return true;
}

/* --- output --- */

/* Sends FIN and drops what still arrives: a reset could destroy the reply on its way. */
static void begin_close(struct http_connection *connection)
{
    if (connection->is_at_end || shutdown(connection->source.fd, SHUT_WR) < 0) {
        http_connection_close(connection);
        return;
    }
    connection->is_closing = true;
    strbuf_done(&connection->input);
    set_deadline(connection, CLOSED_WITHIN_MS);
    watch(connection);
}

static void end_request(struct http_connection *connection)
{
    bool goes_on = server_request_goes_on(connection->request);

    server_request_free(connection->request);
    connection->request = NULL;
    http_head_reset(&connection->head);
    if (!goes_on) {
        begin_close(connection);
        return;
    }
    set_deadline(connection, IDLE_MS);
    if (!read_input(connection))
        return;
    if (connection->is_at_end && connection->request == NULL)
        http_connection_close(connection);
    else
        watch(connection);
}

static void write_output(struct http_connection *connection)
{
    size_t n_sent = 0;

    if (!reply_is_due(connection->request)) {
        if (http_reply_write_interim(connection->source.fd, &connection->output))
            watch(connection);
        else
            http_connection_close(connection);
        return;
    }
    switch (http_reply_write(connection->request, &connection->output, &n_sent)) {
    case HTTP_REPLY_WAITS:
        note_transfer(connection, n_sent);
        break;
    case HTTP_REPLY_SENT:
        end_request(connection);
        break;
    case HTTP_REPLY_FAILED:
        http_connection_close(connection);
        break;
    }
}

/* --- events --- */

/* The client sends no more. A reply that is ready is still sent; no other work is done for it. */
static void on_end(struct http_connection *connection)
{
    connection->is_at_end = true;
    if (connection->is_closing || !reply_is_due(connection->request))
        http_connection_close(connection);
    else
        watch(connection);
}

static void on_readable(struct http_connection *connection)
{
    ssize_t n = 0;

    strbuf_reserve(&connection->input, READ_BYTES);
    n = recv(connection->source.fd, connection->input.text + connection->input.len, READ_BYTES, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        http_connection_close(connection);
        return;
    }
    if (n == 0) {
        on_end(connection);
        return;
    }
    connection->input.len += (size_t)n;
    connection->input.text[connection->input.len] = '\0';
    if (connection->is_closing)
        strbuf_reset(&connection->input);
    else if (!read_input(connection))
        return;
    watch(connection);
}

static void on_ready(void *owner, uint32_t events)
{
    struct http_connection *connection = owner;
    bool is_broken = (events & EPOLLERR) != 0;

    if (!is_broken && (events & EPOLLOUT) != 0)
        write_output(connection);
    else if (!is_broken && (events & EPOLLIN) != 0 && connection->input.len < MAX_INPUT_BYTES)
        on_readable(connection);
    else if ((events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0)
        http_connection_close(connection);
}

void http_connection_open(struct http_listener *listener, int fd)
{
    struct http_context *http = listener->http;
    struct http_connection *connection = NEW(struct http_connection);
    struct error ignored = ERROR_INIT;

    *connection = (struct http_connection){
        .http = http,
        .listener = listener,
        .source = {fd, on_ready, connection},
        .deadline = {.expired = on_deadline, .owner = connection},
        .head = HTTP_HEAD_INIT,
        .input = STRBUF_INIT,
        .output = STRBUF_INIT,
    };
    LIST_INSERT_HEAD(&http->connections, connection, link);
    listener->acceptor.n_open++;
    set_deadline(connection, HEADERS_WITHIN_MS);
    if (event_loop_add(http->loop, &connection->source, EPOLLIN | EPOLLRDHUP, &ignored) < 0)
        http_connection_close(connection);
}
