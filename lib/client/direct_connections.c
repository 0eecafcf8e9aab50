#include "client/direct_connections.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "client/address_filter.h"
#include "client/http1.h"
#include "client/http_call.h"
#include "client/proof.h"
#include "client/tcp.h"

enum {
    RECEIVE_BYTES = 8192,
    SETTLE_BYTES = 64 * 1024, /* a longer rest is not worth keeping the connection */
    CONNECT_MS = 15000,
    IDLE_MAX_MS = 60000,
    LATE_READ_MS = 10000, /* a reply that has begun to arrive is read for so long after its limit */
    IDLE_CONNECTIONS_MAX = 4,
};

struct direct_connection {
    struct direct_connection *next_idle;
    struct sockaddr_in address;
    struct secret proof_key; /* that the server must have or has proven to have; unset: none */
    int fd;
    bool is_used_again;
    int64_t idle_since_ms;
    struct http1_reader reader;
};

struct direct_connections {
    int wake_fd; /* -1 before the first call */
    struct direct_connection *idle;
};

/* --- connections --- */

static void connection_free(struct direct_connection *connection)
{
    if (connection == NULL)
        return;
    fd_close(&connection->fd);
    secret_done(&connection->proof_key);
    http1_done(&connection->reader);
    mem_free(connection);
}

static struct direct_connection *connection_open(const struct sockaddr_in *address,
                                                 const struct secret *proof_key)
{
    struct direct_connection *connection = NEW(struct direct_connection);

    connection->address = *address;
    connection->reader = (struct http1_reader)HTTP1_READER_INIT;
    if (secret_is_set(proof_key))
        secret_set(&connection->proof_key, secret_reveal(proof_key));
    connection->fd = tcp_open(address);
    if (connection->fd >= 0)
        return connection;
    connection_free(connection);
    return NULL;
}

/* Reads past the rest of the last reply; false if the connection cannot be reused. */
static bool connection_settle(struct direct_connection *connection)
{
    char buffer[RECEIVE_BYTES];
    struct http1_piece piece = {HTTP1_NONE, NULL, 0};
    struct error ignored = ERROR_INIT;
    size_t n_read = 0;

    while (n_read < SETTLE_BYTES) {
        ssize_t n = recv(connection->fd, buffer, sizeof(buffer), 0);
        struct http1_input input = {buffer, n > 0 ? (size_t)n : 0};

        if (n < 0)
            return errno == EAGAIN && connection->reader.state == HTTP1_AT_END &&
                   connection->reader.is_kept;
        n_read += input.len;
        while (input.len > 0) {
            if (connection->reader.state == HTTP1_AT_END ||
                http1_next(&connection->reader, &input, &piece, &ignored) < 0)
                return false;
        }
        if (n == 0)
            return false;
    }
    return false;
}

/* A connection is only reused for the same proof key: another server may have had the address. */
static bool leads_to(const struct direct_connection *connection, const struct sockaddr_in *address,
                     const struct secret *proof_key)
{
    return connection->address.sin_addr.s_addr == address->sin_addr.s_addr &&
           connection->address.sin_port == address->sin_port &&
           text_equal_secret(secret_reveal(&connection->proof_key), secret_reveal(proof_key));
}

/* Takes the newest idle connection to that server off the list, and checks it. */
static struct direct_connection *take_idle(struct direct_connections *direct,
                                           const struct sockaddr_in *address,
                                           const struct secret *proof_key)
{
    struct direct_connection **at = &direct->idle;
    struct direct_connection *found = NULL;

    while (*at != NULL && !leads_to(*at, address, proof_key))
        at = &(*at)->next_idle;
    found = *at;
    if (found == NULL)
        return NULL;
    *at = found->next_idle;
    if (clock_monotonic_ms() - found->idle_since_ms > IDLE_MAX_MS || !connection_settle(found)) {
        connection_free(found);
        return NULL;
    }
    found->is_used_again = true;
    http1_done(&found->reader);
    return found;
}

static void keep_idle(struct direct_connections *direct, struct direct_connection *connection)
{
    struct direct_connection **at = &direct->idle;

    connection->idle_since_ms = clock_monotonic_ms();
    connection->next_idle = direct->idle;
    direct->idle = connection;
    for (size_t i = 0; *at != NULL && i < IDLE_CONNECTIONS_MAX; i++)
        at = &(*at)->next_idle;
    connection_free(TAKE_PTR(*at));
}

/* --- a call's steps --- */

static size_t request_len(const struct http_call *call)
{
    return call->head.len + call->request_body_len;
}

static void finish(struct http_call *call, CURLcode result)
{
    struct direct_connection *connection = TAKE_PTR(call->connection);

    if (connection != NULL && result == CURLE_OK && connection->reader.is_kept &&
        call->n_written == request_len(call))
        keep_idle(call->direct, connection);
    else
        connection_free(connection);
    http_call_publish(call, result);
}

static void fail(struct http_call *call, CURLcode result, const char *what)
{
    (void)snprintf(call->why, sizeof(call->why), "%s: %m", what);
    finish(call, result);
}

static void start(struct http_call *call, const struct sockaddr_in *address)
{
    call->n_written = 0;
    call->connect_until_ms = clock_monotonic_ms() + CONNECT_MS;
    call->connection = connection_open(address, &call->proof_key);
    if (call->connection == NULL)
        fail(call, CURLE_COULDNT_CONNECT, "connect");
    else if (secret_is_set(&call->proof_key))
        call->proof = proof_new(&call->proof_key, address);
}

/*
 * A reused connection that ends before the first byte of a reply was closed before the request
 * arrived: the request is sent again on a new one.
 */
static bool may_start_again(const struct http_call *call)
{
    return call->connection->is_used_again && call->connection->reader.state == HTTP1_AT_STATUS &&
           call->connection->reader.line.len == 0 && call->connection->reader.status == 0;
}

static void lose_connection(struct http_call *call, CURLcode result, const char *what)
{
    struct sockaddr_in address = call->connection->address;

    if (!may_start_again(call)) {
        fail(call, result, what);
        return;
    }
    connection_free(TAKE_PTR(call->connection));
    start(call, &address);
}

static ssize_t send_some(const struct http_call *call)
{
    struct iovec parts[2] = {{call->head.text, call->head.len},
                             {call->request_body, call->request_body_len}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};
    size_t n_gone = call->n_written;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        size_t n = n_gone < parts[i].iov_len ? n_gone : parts[i].iov_len;

        parts[i].iov_base = (char *)parts[i].iov_base + n;
        parts[i].iov_len -= n;
        n_gone -= n;
    }
    return sendmsg(call->connection->fd, &message, MSG_NOSIGNAL);
}

/* True if the server need not prove its identity, or has. */
static bool is_proven(struct http_call *call)
{
    enum proof_state state = PROOF_HOLDS;

    if (call->proof != NULL)
        state = http_call_prove(call, call->connection->fd);
    if (state == PROOF_LOST || state == PROOF_FAILS)
        finish(call, CURLE_COULDNT_CONNECT);
    return state == PROOF_HOLDS;
}

static void send_more(struct http_call *call)
{
    if (call->connection == NULL || !is_proven(call))
        return;
    while (call->connection != NULL && call->n_written < request_len(call)) {
        ssize_t n = send_some(call);

        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) {
            lose_connection(call, call->n_written > 0 ? CURLE_SEND_ERROR : CURLE_COULDNT_CONNECT,
                            "send");
            continue;
        }
        call->n_written += (size_t)n;
        call->active_ms = clock_monotonic_ms();
        call->connect_until_ms = HTTP_NEVER;
    }
}

/* Processes received bytes; true while more are wanted. */
static bool take_input(struct http_call *call, struct http1_input *input)
{
    struct http1_reader *reader = &call->connection->reader;
    struct http1_piece piece = {HTTP1_LINE, NULL, 0};
    struct error why = ERROR_INIT;

    while (piece.kind != HTTP1_NONE && piece.kind != HTTP1_END) {
        bool is_taken = true;

        if (http1_next(reader, input, &piece, &why) < 0) {
            call->is_too_large = why.code == ERROR_TOO_LARGE;
            (void)snprintf(call->why, sizeof(call->why), "%.200s", why.message);
            finish(call, CURLE_WEIRD_SERVER_REPLY);
            return false;
        }
        if (piece.kind == HTTP1_LINE)
            is_taken = http_call_take_line(call, reader->status, piece.bytes, piece.len);
        if (piece.kind == HTTP1_BYTES)
            is_taken = http_call_take_bytes(call, piece.bytes, piece.len) == HTTP_TAKE_ALL;
        if (!is_taken) {
            finish(call, CURLE_WRITE_ERROR);
            return false;
        }
    }
    if (piece.kind == HTTP1_NONE)
        return true;
    /* Bytes sent unasked after a reply must not be taken for the next reply. */
    reader->is_kept = reader->is_kept && input->len == 0;
    finish(call, CURLE_OK);
    return false;
}

static void end_of_input(struct http_call *call)
{
    if (http1_ends_with_connection(&call->connection->reader)) {
        finish(call, CURLE_OK);
        return;
    }
    errno = ECONNRESET;
    lose_connection(call, CURLE_RECV_ERROR, "the response was cut off");
}

/* Receives one buffer: a stream's reader consumes it before more is read. */
static void receive_some(struct http_call *call)
{
    char buffer[RECEIVE_BYTES];
    ssize_t n = recv(call->connection->fd, buffer, sizeof(buffer), 0);
    struct http1_input input = {buffer, n > 0 ? (size_t)n : 0};

    if (n < 0 && errno == EAGAIN)
        return;
    if (n < 0)
        lose_connection(call, CURLE_RECV_ERROR, "receive");
    else if (n == 0)
        end_of_input(call);
    else
        (void)take_input(call, &input);
}

/* --- waiting --- */

static int64_t due_ms(const struct http_call *call)
{
    int64_t expiry_ms = http_call_expiry_ms(call);

    return expiry_ms < call->connect_until_ms ? expiry_ms : call->connect_until_ms;
}

static int wait_ms(int64_t until_ms)
{
    int64_t left_ms = until_ms - clock_monotonic_ms();

    if (until_ms == HTTP_NEVER)
        return -1;
    if (left_ms <= 0)
        return 0;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

static void step(struct http_call *call, short events)
{
    if (call->proof != NULL) {
        send_more(call);
        return;
    }
    if ((events & POLLOUT) != 0)
        send_more(call);
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && call->connection != NULL)
        receive_some(call);
}

static short events_wanted(const struct http_call *call)
{
    if (call->proof != NULL)
        return proof_is_sending(call->proof) ? POLLOUT : POLLIN;
    return call->n_written < request_len(call) ? POLLIN | POLLOUT : POLLIN;
}

static void clear_wake(const struct direct_connections *direct)
{
    uint64_t count = 0;
    ssize_t n = read(direct->wake_fd, &count, sizeof(count));

    (void)n;
}

/*
 * A reply that has arrived is read to its end, even if this thread comes to it after the limit.
 * events: those of the last wait.
 */
static void fail_if_late(struct http_call *call, short events)
{
    int64_t now_ms = clock_monotonic_ms();

    if (call->connection == NULL || now_ms < due_ms(call) ||
        (events != 0 && now_ms < due_ms(call) + LATE_READ_MS))
        return;
    call->is_late = true;
    finish(call, CURLE_OPERATION_TIMEDOUT);
}

/* A call without a connection is over, or the transport's. */
static struct pollfd wait_of(const struct http_call *call)
{
    struct pollfd wait = {.fd = -1};

    if (call->connection == NULL)
        return wait;
    wait.fd = call->connection->fd;
    wait.events = events_wanted(call);
    return wait;
}

bool direct_calls_wait(struct direct_connections *direct, struct http_call *const *calls, size_t n,
                       int64_t until_ms)
{
    struct pollfd waits[1 + DIRECT_WAIT_MAX] = {{.fd = direct->wake_fd, .events = POLLIN}};

    assert(n <= DIRECT_WAIT_MAX);
    for (size_t i = 0; i < n; i++) {
        waits[1 + i] = wait_of(calls[i]);
        if (calls[i]->connection != NULL && due_ms(calls[i]) < until_ms)
            until_ms = due_ms(calls[i]);
    }
    (void)poll(waits, 1 + n, wait_ms(until_ms));
    if (waits[0].revents != 0)
        clear_wake(direct);
    for (size_t i = 0; i < n; i++) {
        if (calls[i]->connection == NULL)
            continue;
        step(calls[i], waits[1 + i].revents);
        fail_if_late(calls[i], waits[1 + i].revents);
    }
    return waits[0].revents != 0;
}

void direct_call_wait(struct http_call *call, int64_t until_ms)
{
    if (call->connection != NULL)
        (void)direct_calls_wait(call->direct, &call, 1, until_ms);
}

/* --- calls --- */

int direct_connections_wake_fd(struct direct_connections *direct)
{
    if (direct->wake_fd < 0)
        direct->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return direct->wake_fd;
}

void direct_call_begin(struct http_call *call, const struct sockaddr_in *address)
{
    struct direct_connections *direct = call->direct;

    call->connect_until_ms = HTTP_NEVER;
    if (direct_connections_wake_fd(direct) < 0) {
        fail(call, CURLE_FAILED_INIT, "eventfd");
        return;
    }
    call->is_refused =
        !address_filter_allows((const struct sockaddr *)(const void *)address, call->allow_private);
    if (call->is_refused) {
        finish(call, CURLE_COULDNT_CONNECT);
        return;
    }
    call->connection = take_idle(direct, address, &call->proof_key);
    if (call->connection == NULL)
        start(call, address);
    send_more(call);
}

void direct_call_drop(struct http_call *call)
{
    connection_free(TAKE_PTR(call->connection));
    http_call_destroy(call);
}

void direct_call_drain(struct http_call *call)
{
    if (call->connection != NULL && call->n_written == request_len(call))
        keep_idle(call->direct, TAKE_PTR(call->connection));
    direct_call_drop(call);
}

void direct_connections_wake(struct direct_connections *direct)
{
    const uint64_t one = 1;
    ssize_t n = write(direct->wake_fd, &one, sizeof(one));

    (void)n; /* a full counter also wakes */
}

struct direct_connections *direct_connections_new(void)
{
    struct direct_connections *direct = NEW(struct direct_connections);

    direct->wake_fd = -1;
    return direct;
}

void direct_connections_free(struct direct_connections *direct)
{
    if (direct == NULL)
        return;
    while (direct->idle != NULL) {
        struct direct_connection *connection = direct->idle;

        direct->idle = connection->next_idle;
        connection_free(connection);
    }
    fd_close(&direct->wake_fd);
    mem_free(direct);
}
