#include "client/test_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "base/secret.h"
#include "base/strbuf.h"

enum { CONNECTIONS_MAX = 512, REQUESTS_MAX = 4096, READ_BYTES = 65536, PATIENCE_MS = 60000 };

static const char OK_REPLY[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

struct connection {
    struct test_server *server;
    pthread_t thread;
    int fd;
    bool has_proven;
};

struct test_server {
    const struct test_reply *replies;
    size_t n_replies;
    int listen_fd;
    int stop_fd; /* stays readable once the server stops */
    int port;
    pthread_t thread;
    struct strbuf url;
    struct lock lock; /* guards the rest */
    struct condition arrived;
    struct connection connections[CONNECTIONS_MAX];
    size_t n_connections;
    size_t n_ended;
    struct secret proof_key;
    struct strbuf proof_address;
    size_t n_proofs;
    size_t n_after_proof;
    char *requests[REQUESTS_MAX];
    size_t n_requests;
    size_t n_sent;
};

/* Waits for a descriptor; false when the server stops or time is up. */
static bool wait_for(const struct test_server *server, int fd, short what, int timeout_ms)
{
    struct pollfd polled[2] = {{.fd = server->stop_fd, .events = POLLIN},
                               {.fd = fd, .events = what}};

    if (poll(polled, 2, timeout_ms) <= 0)
        return false;
    return polled[0].revents == 0 && polled[1].revents != 0;
}

static size_t body_length(const char *head, bool *is_chunked_out)
{
    const char *found = strcasestr(head, "\r\nContent-Length:");

    *is_chunked_out = strcasestr(head, "\r\nTransfer-Encoding: chunked") != NULL;
    return found != NULL ? (size_t)strtoul(found + strlen("\r\nContent-Length:"), NULL, 10) : 0;
}

static bool is_whole(const struct strbuf *request, bool is_early)
{
    const char *end = strstr(request->text, "\r\n\r\n");
    bool is_chunked = false;
    size_t len = 0;

    if (end == NULL)
        return false;
    if (is_early)
        return true;
    len = body_length(request->text, &is_chunked);
    if (is_chunked)
        return strstr(end, "\r\n0\r\n\r\n") != NULL;
    return request->len >= (size_t)(end - request->text) + 4 + len;
}

/* Under the server's lock. */
static const struct test_reply *reply_to(const struct test_server *server, size_t i)
{
    return &server->replies[i < server->n_replies ? i : server->n_replies - 1];
}

static bool next_is_early(struct test_server *server)
{
    bool is_early = false;

    lock_take(&server->lock);
    is_early = reply_to(server, server->n_requests)->is_early;
    lock_release(&server->lock);
    return is_early;
}

static bool read_request(const struct connection *connection, struct strbuf *request)
{
    CLEANUP(mem_freep) char *buffer = mem_alloc(READ_BYTES);

    while (!is_whole(request, next_is_early(connection->server))) {
        ssize_t n = 0;

        if (!wait_for(connection->server, connection->fd, POLLIN, -1))
            return false;
        n = read(connection->fd, buffer, READ_BYTES);
        if (n <= 0)
            return false;
        strbuf_append_bytes(request, buffer, (size_t)n);
    }
    return true;
}

static const struct test_reply *note_request(const struct connection *connection,
                                             struct strbuf *request)
{
    struct test_server *server = connection->server;
    const struct test_reply *reply = NULL;
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    size_t i = 0;

    lock_take(&server->lock);
    i = server->n_requests++;
    reply = reply_to(server, i);
    server->n_after_proof += connection->has_proven;
    if (i < REQUESTS_MAX)
        server->requests[i] = strbuf_take(request);
    condition_wake_all(&server->arrived);
    while (server->n_requests < reply->n_requests &&
           condition_wait_until(&server->arrived, &server->lock, deadline_ms))
        ;
    lock_release(&server->lock);
    return reply;
}

static bool send_all(const struct connection *connection, const char *bytes, size_t len)
{
    size_t sent = 0;

    while (sent < len) {
        ssize_t n = 0;

        if (!wait_for(connection->server, connection->fd, POLLOUT, -1))
            return false;
        n = send(connection->fd, bytes + sent, len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return false;
        sent += (size_t)n;
    }
    return true;
}

static bool send_reply(const struct connection *connection, const struct test_reply *reply)
{
    const char *bytes = reply->bytes != NULL ? reply->bytes : OK_REPLY;
    size_t len = reply->len > 0 ? reply->len : strlen(bytes);
    size_t piece = reply->piece > 0 ? reply->piece : len;
    size_t n_times = reply->n_times > 0 ? reply->n_times : 1;

    if (reply->delay_ms > 0 && wait_for(connection->server, -1, 0, reply->delay_ms))
        return false;
    for (size_t n = 0; n < n_times; n++) {
        for (size_t at = 0; at < len; at += piece) {
            size_t rest = len - at;

            if (!send_all(connection, bytes + at, piece < rest ? piece : rest))
                return false;
        }
    }
    return true;
}

/* Answers a question for the proof; false for any other request. */
static bool prove(const struct connection *connection, const struct strbuf *request)
{
    static const char question[] = "GET " SANDBOX_PROOF_PATH " ";
    static const char header[] = SANDBOX_NONCE_HEADER ": ";
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    struct test_server *server = connection->server;
    const char *at = strstr(request->text, header);
    char nonce[SANDBOX_NONCE_BYTES] = "";
    char proof[CRYPTO_HASH_HEX_BYTES] = "";

    if (strncmp(request->text, question, strlen(question)) != 0 || at == NULL)
        return false;
    lock_take(&server->lock);
    if (!secret_is_set(&server->proof_key)) {
        lock_release(&server->lock);
        return false;
    }
    server->n_proofs++;
    memcpy(nonce, at + strlen(header), SANDBOX_NONCE_CHARS);
    sandbox_proof_make(&server->proof_key, nonce, server->proof_address.text, proof);
    lock_release(&server->lock);
    strbuf_appendf(&reply, "HTTP/1.1 200 OK\r\nContent-Length: 76\r\n\r\n{\"proof\":\"%s\"}",
                   proof);
    return send_all(connection, reply.text, reply.len);
}

static void reset(int fd)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

static void note_sent(struct test_server *server)
{
    lock_take(&server->lock);
    server->n_sent++;
    lock_release(&server->lock);
}

static void *serve(void *context)
{
    struct connection *connection = context;
    char byte = 0;
    bool goes_on = true;

    while (goes_on) {
        CLEANUP(strbuf_done) struct strbuf request = STRBUF_INIT;
        const struct test_reply *reply = NULL;

        if (!read_request(connection, &request))
            break;
        if (prove(connection, &request)) {
            connection->has_proven = true;
            continue;
        }
        reply = note_request(connection, &request);
        goes_on = send_reply(connection, reply) && reply->ending == TEST_KEEP;
        note_sent(connection->server);
        if (reply->ending == TEST_HOLD) {
            while (wait_for(connection->server, connection->fd, POLLIN, -1) &&
                   read(connection->fd, &byte, 1) > 0)
                ;
        }
        if (reply->ending == TEST_RESET)
            reset(connection->fd);
    }
    (void)close(connection->fd);
    lock_take(&connection->server->lock);
    connection->server->n_ended++;
    condition_wake_all(&connection->server->arrived);
    lock_release(&connection->server->lock);
    return NULL;
}

static void *accept_all(void *context)
{
    struct test_server *server = context;

    while (wait_for(server, server->listen_fd, POLLIN, -1)) {
        struct connection *connection = NULL;
        int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0)
            continue;
        lock_take(&server->lock);
        if (server->n_connections == CONNECTIONS_MAX)
            abort();
        connection = &server->connections[server->n_connections++];
        lock_release(&server->lock);
        connection->server = server;
        connection->fd = fd;
        if (pthread_create(&connection->thread, NULL, serve, connection) != 0)
            abort();
    }
    return NULL;
}

static int listen_tcp(int *port_out)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, 512) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        abort();
    *port_out = ntohs(address.sin_port);
    return fd;
}

static int listen_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, path, strnlen(path, sizeof(address.sun_path) - 1));
    (void)unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 8) < 0)
        abort();
    return fd;
}

struct test_server *test_server_start(const struct test_reply *replies, size_t n,
                                      const char *unix_path)
{
    struct test_server *server = NEW(struct test_server);

    server->replies = replies;
    server->n_replies = n;
    server->url = (struct strbuf)STRBUF_INIT;
    server->proof_address = (struct strbuf)STRBUF_INIT;
    lock_init(&server->lock);
    condition_init(&server->arrived);
    server->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (unix_path != NULL)
        server->listen_fd = listen_unix(unix_path);
    else
        server->listen_fd = listen_tcp(&server->port);
    if (pthread_create(&server->thread, NULL, accept_all, server) != 0)
        abort();
    return server;
}

void test_server_stop(struct test_server *server)
{
    uint64_t one = 1;

    if (write(server->stop_fd, &one, sizeof(one)) < 0)
        abort();
    (void)pthread_join(server->thread, NULL);
    for (size_t i = 0; i < server->n_connections; i++)
        (void)pthread_join(server->connections[i].thread, NULL);
    (void)close(server->listen_fd);
    (void)close(server->stop_fd);
    for (size_t i = 0; i < server->n_requests && i < REQUESTS_MAX; i++)
        mem_free(server->requests[i]);
    strbuf_done(&server->url);
    strbuf_done(&server->proof_address);
    secret_done(&server->proof_key);
    condition_done(&server->arrived);
    lock_done(&server->lock);
    mem_free(server);
}

const char *test_server_url(struct test_server *server, const char *path)
{
    strbuf_reset(&server->url);
    strbuf_appendf(&server->url, "http://127.0.0.1:%d%s", server->port, path);
    return server->url.text;
}

void test_server_prove(struct test_server *server, const char *proof_key, const char *address)
{
    lock_take(&server->lock);
    secret_set(&server->proof_key, proof_key);
    strbuf_reset(&server->proof_address);
    if (address != NULL)
        strbuf_append(&server->proof_address, address);
    else
        strbuf_appendf(&server->proof_address, "127.0.0.1:%d", server->port);
    lock_release(&server->lock);
}

size_t test_server_n_proofs(struct test_server *server)
{
    size_t n = 0;

    lock_take(&server->lock);
    n = server->n_proofs;
    lock_release(&server->lock);
    return n;
}

size_t test_server_n_after_proof(struct test_server *server)
{
    size_t n = 0;

    lock_take(&server->lock);
    n = server->n_after_proof;
    lock_release(&server->lock);
    return n;
}

size_t test_server_n_requests(struct test_server *server)
{
    size_t n = 0;

    lock_take(&server->lock);
    n = server->n_requests;
    lock_release(&server->lock);
    return n;
}

size_t test_server_n_connections(struct test_server *server)
{
    size_t n = 0;

    lock_take(&server->lock);
    n = server->n_connections;
    lock_release(&server->lock);
    return n;
}

size_t test_server_n_sent(struct test_server *server)
{
    size_t n = 0;

    lock_take(&server->lock);
    n = server->n_sent;
    lock_release(&server->lock);
    return n;
}

const char *test_server_request(struct test_server *server, size_t i)
{
    const char *text = NULL;

    lock_take(&server->lock);
    text = i < server->n_requests ? server->requests[i] : "";
    lock_release(&server->lock);
    return text;
}

bool test_server_wait(struct test_server *server, size_t n)
{
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    bool in_time = true;

    lock_take(&server->lock);
    while (server->n_requests < n && in_time)
        in_time = condition_wait_until(&server->arrived, &server->lock, deadline_ms);
    in_time = server->n_requests >= n;
    lock_release(&server->lock);
    return in_time;
}

bool test_server_wait_ended(struct test_server *server, size_t n)
{
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    bool in_time = true;

    lock_take(&server->lock);
    while (server->n_ended < n && in_time)
        in_time = condition_wait_until(&server->arrived, &server->lock, deadline_ms);
    in_time = server->n_ended >= n;
    lock_release(&server->lock);
    return in_time;
}
