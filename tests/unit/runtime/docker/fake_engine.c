#include "unit/runtime/docker/fake_engine.h"

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

enum {
    REPLIES_MAX = 64,
    REQUESTS_MAX = 2048,
    CONNECTIONS_MAX = 2048,
    READ_BYTES = 65536,
    PATIENCE_MS = 60000
};

#define VERSION "/v1.41"

struct kept_request {
    char *head; /* "METHOD /path" */
    struct strbuf body;
};

struct connection {
    struct fake_engine *engine;
    pthread_t thread;
    int fd;
};

struct fake_engine {
    char folder[64];
    char socket[96];
    int listen_fd;
    pthread_t thread;
    struct connection connections[CONNECTIONS_MAX]; /* of the accepting thread */
    struct lock lock;                               /* guards the rest */
    size_t n_connections;
    struct condition arrived;
    struct engine_reply replies[REPLIES_MAX];
    size_t n_replies;
    struct kept_request requests[REQUESTS_MAX];
    size_t n_requests;
    struct strbuf asked;
    size_t n_releases;
};

/* --- the connections --- */

static bool read_more(int fd, struct strbuf *in)
{
    CLEANUP(mem_freep) char *bytes = mem_alloc(READ_BYTES);
    ssize_t n = recv(fd, bytes, READ_BYTES, 0);

    if (n > 0)
        strbuf_append_bytes(in, bytes, (size_t)n);
    return n > 0;
}

static size_t body_len(const char *head)
{
    const char *found = strcasestr(head, "\r\ncontent-length:");

    return found != NULL ? strtoul(found + strlen("\r\ncontent-length:"), NULL, 10) : 0;
}

/* The method and path of a request, and its body; false if the client went. */
static bool read_request(int fd, struct strbuf *head, struct strbuf *body)
{
    CLEANUP(strbuf_done) struct strbuf in = STRBUF_INIT;
    const char *end = NULL;
    const char *path = NULL;
    size_t head_len = 0;

    while (end == NULL) {
        if (!read_more(fd, &in))
            return false;
        end = strstr(in.text, "\r\n\r\n");
    }
    head_len = (size_t)(end - in.text) + 4;
    while (in.len < head_len + body_len(in.text)) {
        if (!read_more(fd, &in))
            return false;
    }
    path = strchr(in.text, ' ') + 1;
    strbuf_append_bytes(head, in.text, (size_t)(path - in.text));
    if (text_starts_with(path, VERSION))
        path += strlen(VERSION);
    strbuf_append_bytes(head, path, strcspn(path, " \r"));
    strbuf_append_bytes(body, in.text + head_len, in.len - head_len);
    return true;
}

static struct engine_reply find_reply_locked(struct fake_engine *engine, const char *head)
    REQUIRES(engine -> lock)
{
    for (size_t i = engine->n_replies; i > 0; i--) {
        struct engine_reply *reply = &engine->replies[i - 1];

        if (!text_starts_with(head, reply->request) || reply->n_times == SIZE_MAX)
            continue;
        if (reply->n_times == 1)
            reply->n_times = SIZE_MAX; /* used up */
        else if (reply->n_times > 1)
            reply->n_times--;
        return *reply;
    }
    return (struct engine_reply){.status = 404, .body = "{\"message\":\"there is no such thing\"}"};
}

static struct engine_reply note_request(struct fake_engine *engine, const struct strbuf *head,
                                        struct strbuf *body)
{
    struct engine_reply reply = {.status = 0};

    lock_take(&engine->lock);
    if (engine->n_requests == REQUESTS_MAX)
        abort();
    engine->requests[engine->n_requests++] =
        (struct kept_request){.head = mem_dup_text(head->text), .body = *body};
    *body = (struct strbuf)STRBUF_INIT;
    reply = find_reply_locked(engine, head->text);
    condition_wake_all(&engine->arrived);
    lock_release(&engine->lock);
    return reply;
}

static void send_reply(int fd, const struct engine_reply *reply, bool is_head)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    const char *body = reply->body != NULL ? reply->body : "";
    size_t len = reply->len > 0 ? reply->len : strlen(body);
    size_t sent = 0;

    strbuf_appendf(&out, "HTTP/1.1 %d X\r\n", reply->status != 0 ? reply->status : 200);
    if (reply->is_held)
        strbuf_append(&out, "Connection: close\r\n");
    else
        strbuf_appendf(&out, "Content-Length: %zu\r\n", len);
    strbuf_append(&out, "\r\n");
    if (!is_head)
        strbuf_append_bytes(&out, body, len);
    while (sent < out.len) {
        ssize_t n = send(fd, out.text + sent, out.len - sent, MSG_NOSIGNAL);

        if (n <= 0)
            return;
        sent += (size_t)n;
    }
}

static bool is_released(struct fake_engine *engine, size_t n_before)
{
    bool is = false;

    lock_take(&engine->lock);
    is = engine->n_releases > n_before;
    lock_release(&engine->lock);
    return is;
}

static size_t count_releases(struct fake_engine *engine)
{
    size_t n = 0;

    lock_take(&engine->lock);
    n = engine->n_releases;
    lock_release(&engine->lock);
    return n;
}

/* Answers one request; false when the connection is to be closed. */
static bool serve_one(const struct connection *connection)
{
    struct fake_engine *engine = connection->engine;
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct pollfd polled = {.fd = connection->fd, .events = POLLIN};
    size_t n_releases = count_releases(engine);
    struct engine_reply reply = {.status = 0};

    if (!read_request(connection->fd, &head, &body))
        return false;
    reply = note_request(engine, &head, &body);
    send_reply(connection->fd, &reply, text_starts_with(head.text, "HEAD "));
    while (reply.is_held && !is_released(engine, n_releases) && poll(&polled, 1, 10) == 0)
        ;
    return !reply.is_held;
}

/* Without such a wait a client that keeps a connection would never let the engine stop. */
static bool has_more(const struct connection *connection)
{
    struct pollfd polled = {.fd = connection->fd, .events = POLLIN};
    size_t n_releases = count_releases(connection->engine);

    while (!is_released(connection->engine, n_releases)) {
        if (poll(&polled, 1, 10) > 0)
            return true;
    }
    return false;
}

static void *serve(void *context)
{
    struct connection *connection = context;

    while (serve_one(connection) && has_more(connection))
        ;
    (void)close(connection->fd);
    return NULL;
}

static void *accept_all(void *context)
{
    struct fake_engine *engine = context;

    for (size_t i = 0;; i++) {
        struct connection *connection = &engine->connections[i];
        int fd = accept4(engine->listen_fd, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0)
            return NULL;
        if (i + 1 == CONNECTIONS_MAX)
            abort();
        *connection = (struct connection){.engine = engine, .fd = fd};
        lock_take(&engine->lock);
        engine->n_connections = i + 1;
        lock_release(&engine->lock);
        if (pthread_create(&connection->thread, NULL, serve, connection) != 0)
            abort();
    }
}

/* --- start and end --- */

struct fake_engine *fake_engine_start(void)
{
    struct fake_engine *engine = NEW(struct fake_engine);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    lock_init(&engine->lock);
    condition_init(&engine->arrived);
    engine->asked = (struct strbuf)STRBUF_INIT;
    (void)snprintf(engine->folder, sizeof(engine->folder), "/tmp/deft-engine.XXXXXX");
    if (mkdtemp(engine->folder) == NULL)
        abort();
    (void)snprintf(engine->socket, sizeof(engine->socket), "%s/s", engine->folder);
    memcpy(address.sun_path, engine->socket, strlen(engine->socket));
    engine->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (engine->listen_fd < 0 ||
        bind(engine->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(engine->listen_fd, 64) < 0 ||
        pthread_create(&engine->thread, NULL, accept_all, engine) != 0)
        abort();
    return engine;
}

void fake_engine_stop(struct fake_engine *engine)
{
    fake_engine_release(engine);
    (void)shutdown(engine->listen_fd, SHUT_RDWR);
    (void)pthread_join(engine->thread, NULL);
    for (size_t i = 0; i < engine->n_connections; i++)
        (void)pthread_join(engine->connections[i].thread, NULL);
    (void)close(engine->listen_fd);
    (void)unlink(engine->socket);
    (void)rmdir(engine->folder);
    fake_engine_forget(engine);
    strbuf_done(&engine->asked);
    condition_done(&engine->arrived);
    lock_done(&engine->lock);
    mem_free(engine);
}

const char *fake_engine_socket(const struct fake_engine *engine)
{
    return engine->socket;
}

/* --- replies --- */

void fake_engine_add(struct fake_engine *engine, const struct engine_reply *reply)
{
    lock_take(&engine->lock);
    if (engine->n_replies == REPLIES_MAX)
        abort();
    engine->replies[engine->n_replies++] = *reply;
    lock_release(&engine->lock);
}

void fake_engine_set(struct fake_engine *engine, const char *request, int status, const char *body)
{
    fake_engine_add(engine,
                    &(struct engine_reply){.request = request, .status = status, .body = body});
}

void fake_engine_release(struct fake_engine *engine)
{
    lock_take(&engine->lock);
    engine->n_releases++;
    lock_release(&engine->lock);
}

/* --- requests --- */

const char *fake_engine_asked(struct fake_engine *engine)
{
    lock_take(&engine->lock);
    strbuf_reset(&engine->asked);
    for (size_t i = 0; i < engine->n_requests; i++)
        strbuf_appendf(&engine->asked, "%s;", engine->requests[i].head);
    lock_release(&engine->lock);
    return engine->asked.text;
}

void fake_engine_forget(struct fake_engine *engine)
{
    lock_take(&engine->lock);
    for (size_t i = 0; i < engine->n_requests; i++) {
        mem_free(engine->requests[i].head);
        strbuf_done(&engine->requests[i].body);
    }
    engine->n_requests = 0;
    lock_release(&engine->lock);
}

static size_t count_locked(const struct fake_engine *engine, const char *request)
    REQUIRES(engine -> lock)
{
    size_t n = 0;

    for (size_t i = 0; i < engine->n_requests; i++)
        n += text_starts_with(engine->requests[i].head, request);
    return n;
}

size_t fake_engine_n_connections(struct fake_engine *engine)
{
    size_t n = 0;

    lock_take(&engine->lock);
    n = engine->n_connections;
    lock_release(&engine->lock);
    return n;
}

size_t fake_engine_count(struct fake_engine *engine, const char *request)
{
    size_t n = 0;

    lock_take(&engine->lock);
    n = count_locked(engine, request);
    lock_release(&engine->lock);
    return n;
}

bool fake_engine_wait(struct fake_engine *engine, const char *request, size_t n)
{
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    bool has_time = true;
    bool is_reached = false;

    lock_take(&engine->lock);
    while (count_locked(engine, request) < n && has_time)
        has_time = condition_wait_until(&engine->arrived, &engine->lock, deadline_ms);
    is_reached = count_locked(engine, request) >= n;
    lock_release(&engine->lock);
    return is_reached;
}

const char *fake_engine_body(struct fake_engine *engine, const char *request, size_t *len_out)
{
    const struct strbuf *body = NULL;

    lock_take(&engine->lock);
    for (size_t i = 0; i < engine->n_requests; i++) {
        if (text_starts_with(engine->requests[i].head, request))
            body = &engine->requests[i].body;
    }
    lock_release(&engine->lock);
    if (len_out != NULL)
        *len_out = body != NULL ? body->len : 0;
    return body != NULL && body->len > 0 ? body->text : "";
}
