#include "fcgi/server.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <fcgiapp.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/http.h"
#include "fcgi/context.h"
#include "fcgi/dispatch.h"
#include "fcgi/reply.h"
#include "fcgi/request.h"
#include "fcgi/waits.h"

/* GRACE_MS: time for requests in progress to complete at shutdown. */
enum { LISTEN_BACKLOG = 1024, GRACE_MS = 2000 };

/* Shorter than nginx's client timeouts, so that the client gets the reason. */
enum { READ_SILENCE_S = 12, WRITE_SILENCE_S = 30 };

/* A request of this size may have used a hundred times as much memory. */
#define LARGE_REQUEST_BYTES (1 << 20)

/* nginx runs in the socket's group. */
#define SOCKET_MODE (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP)

/*
 * A socket and its threads. nginx chooses the socket by the kind of request, so that no kind can
 * take all threads: slow clients or sandboxes block only threads of their own kind.
 */
struct listener {
    struct server *server;
    struct fcgi_context context; /* a copy of the process's, with the waits of these threads */
    const char *path;
    int64_t n_threads;
    int fd;
};

enum { LISTENERS_MAX = 4, PROBE_THREADS = 4 };

struct server {
    const struct fcgi_context *context;
    struct listener listeners[LISTENERS_MAX];
    size_t n_listeners;
    struct lock lock; /* guards n_threads; never held over I/O */
    struct condition ended;
    size_t n_threads;
};

/* A request's body, and how much of it was read. */
struct intake {
    FCGX_Stream *stream;
    int64_t n_bytes;
};

/*
 * Waits for one byte and takes what is buffered with it: FCGX_GetStr() alone would wait for all of
 * len.
 */
static int take_bytes(FCGX_Stream *stream, char *buffer, int len)
{
    int c = FCGX_GetChar(stream);
    ptrdiff_t n_more = stream->stop - stream->rdNext;

    if (c == EOF)
        return 0;
    buffer[0] = (char)c;
    return 1 + FCGX_GetStr(buffer + 1, n_more < len - 1 ? (int)n_more : len - 1, stream);
}

static int read_fcgi(void *stream, char *buffer, int len)
{
    struct intake *intake = stream;
    int n = take_bytes(intake->stream, buffer, len);

    /* Only this distinguishes an aborted body from its end. */
    if (n == 0 && FCGX_GetError(intake->stream) != 0)
        return FCGX_GetError(intake->stream) == EAGAIN ? REQUEST_READ_SILENT : REQUEST_READ_BROKEN;
    intake->n_bytes += n;
    return n;
}

static int write_fcgi(void *stream, const char *bytes, int len)
{
    return FCGX_PutStr(bytes, len, stream) == len ? 0 : -1;
}

/* Returns the number of bytes received and sent. */
static int64_t serve_request(const struct fcgi_context *context, FCGX_Request *fcgi)
{
    CLEANUP(reply_done) struct reply reply = REPLY_INIT;
    struct intake intake = {.stream = fcgi->in};
    const struct request_input input = {fcgi->envp, read_fcgi, &intake};
    const struct reply_output output = {write_fcgi, fcgi->out};

    reply.output = &output;
    dispatch(context, &input, &reply);
    return intake.n_bytes + reply.n_bytes;
}

/*
 * Freed memory lies between live blocks in the heaps of all threads: without trimming each heap
 * would keep its peak size.
 */
static void give_memory_back(int64_t n_bytes)
{
    if (n_bytes >= LARGE_REQUEST_BYTES)
        (void)malloc_trim(0);
}

static void thread_ended(struct server *server)
{
    lock_take(&server->lock);
    server->n_threads--;
    condition_wake_all(&server->ended);
    lock_release(&server->lock);
}

/* Makes a read from nginx, or a write to it, fail after so long without progress. */
static void limit_silence(int fd)
{
    const struct timeval reading = {.tv_sec = READ_SILENCE_S};
    const struct timeval writing = {.tv_sec = WRITE_SILENCE_S};

    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &reading, sizeof(reading)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &writing, sizeof(writing)) < 0)
        log_warning("server.unlimited", LOG_INT("errno", errno));
}

static void *accept_thread(void *argument)
{
    struct listener *listener = argument;
    struct server *server = listener->server;
    FCGX_Request fcgi;

    if (FCGX_InitRequest(&fcgi, listener->fd, 0) != 0) {
        thread_ended(server);
        return NULL;
    }
    while (FCGX_Accept_r(&fcgi) >= 0) {
        int64_t n_bytes = 0;

        limit_silence(fcgi.ipcFd);
        n_bytes = serve_request(&listener->context, &fcgi);
        FCGX_Finish_r(&fcgi);
        give_memory_back(n_bytes);
        crash_point(server->context->crash, CRASH_REPLY_SENT);
    }
    FCGX_Free(&fcgi, 1);
    thread_ended(server);
    return NULL;
}

static int fill_address(const char *path, struct sockaddr_un *address, struct error *err)
{
    size_t len = strlen(path);

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (len >= sizeof(address->sun_path))
        return error_set(err, ERROR_INVALID, "the socket's path is longer than %zu bytes",
                         sizeof(address->sun_path) - 1);
    memcpy(address->sun_path, path, len + 1);
    return 0;
}

/* A socket file without a listener was left by a process that died. */
static int remove_stale(const struct sockaddr_un *address, struct error *err)
{
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "socket: %m");
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
        return error_set(err, ERROR_CONFLICT, "another process listens on %s", address->sun_path);
    if (unlink(address->sun_path) < 0 && errno != ENOENT)
        return error_set(err, ERROR_UNAVAILABLE, "remove %s: %m", address->sun_path);
    return 0;
}

static int listen_on(const char *path, int *fd_out, struct error *err)
{
    CLEANUP(fd_close) int fd = -1;
    struct sockaddr_un address;

    if (fill_address(path, &address, err) < 0 || remove_stale(&address, err) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "socket: %m");
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "bind %s: %m", path);
    if (chmod(path, SOCKET_MODE) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "chmod %s: %m", path);
    if (listen(fd, LISTEN_BACKLOG) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "listen on %s: %m", path);
    *fd_out = fd_take(&fd);
    return 0;
}

static int start_thread(struct listener *listener, struct error *err)
{
    struct server *server = listener->server;
    pthread_t thread = 0;
    int rc = 0;

    lock_take(&server->lock);
    server->n_threads++;
    lock_release(&server->lock);
    rc = pthread_create(&thread, NULL, accept_thread, listener);
    if (rc == 0)
        rc = pthread_detach(thread);
    errno = rc;
    return rc == 0 ? 0
                   : error_set(err, ERROR_UNAVAILABLE, "start a thread of %s: %m", listener->path);
}

static int start_threads(struct listener *listener, struct error *err)
{
    for (int64_t i = 0; i < listener->n_threads; i++) {
        if (start_thread(listener, err) < 0)
            return -1;
    }
    return 0;
}

static void add_listener(struct server *server, const char *path, int64_t n_threads,
                         int64_t n_waits)
{
    struct listener *listener = NULL;

    if (path[0] == '\0')
        return;
    assert(server->n_listeners < LISTENERS_MAX);
    listener = &server->listeners[server->n_listeners++];
    *listener = (struct listener){.server = server,
                                  .context = *server->context,
                                  .path = path,
                                  .n_threads = n_threads,
                                  .fd = -1};
    listener->context.waits = waits_new((size_t)n_waits);
}

static void add_listeners(struct server *server)
{
    const struct fcgi_settings *settings = server->context->settings;

    add_listener(server, settings->socket_path, settings->n_threads, (settings->n_threads + 1) / 2);
    add_listener(server, settings->sandbox_socket_path, settings->n_sandbox_threads,
                 settings->n_sandbox_threads);
    add_listener(server, settings->stream_socket_path, settings->n_stream_threads,
                 settings->n_stream_threads);
    add_listener(server, settings->probe_socket_path, PROBE_THREADS, PROBE_THREADS);
}

static int open_listeners(struct server *server, struct error *err)
{
    for (size_t i = 0; i < server->n_listeners; i++) {
        if (listen_on(server->listeners[i].path, &server->listeners[i].fd, err) < 0)
            return -1;
    }
    return 0;
}

static void close_listeners(struct server *server)
{
    for (size_t i = 0; i < server->n_listeners; i++) {
        fd_close(&server->listeners[i].fd);
        waits_free(server->listeners[i].context.waits);
    }
}

int server_start(const struct fcgi_context *context, struct server **server_out, struct error *err)
{
    struct server *server = NEW(struct server);

    server->context = context;
    lock_init(&server->lock);
    condition_init(&server->ended);
    add_listeners(server);
    if (FCGX_Init() != 0) {
        mem_free(server);
        return error_set(err, ERROR_INTERNAL, "libfcgi does not start");
    }
    if (open_listeners(server, err) < 0) {
        close_listeners(server);
        mem_free(server);
        return -1;
    }
    /*
     * Threads already started keep running when a later start fails: the caller then ends the
     * process.
     */
    for (size_t i = 0; i < server->n_listeners; i++) {
        if (start_threads(&server->listeners[i], err) < 0)
            return -1;
    }
    *server_out = server;
    return 0;
}

/* Wakes the threads that wait in accept(). */
static void stop_listening(const struct listener *listener)
{
    if (shutdown(listener->fd, SHUT_RDWR) < 0)
        log_warning("server.shutdown_failed", LOG_STR("path", listener->path));
    if (unlink(listener->path) < 0)
        log_warning("server.unlink_failed", LOG_STR("path", listener->path));
}

static size_t wait_for_threads(struct server *server, int64_t deadline_ms)
{
    size_t n_left = 0;
    bool in_time = true;

    lock_take(&server->lock);
    while (server->n_threads > 0 && in_time)
        in_time = condition_wait_until(&server->ended, &server->lock, deadline_ms);
    n_left = server->n_threads;
    lock_release(&server->lock);
    return n_left;
}

int server_stop(struct server *server, int64_t deadline_ms, struct error *err)
{
    size_t n_left = 0;

    FCGX_ShutdownPending();
    for (size_t i = 0; i < server->n_listeners; i++)
        stop_listening(&server->listeners[i]);
    n_left = wait_for_threads(server, clock_monotonic_ms() + GRACE_MS);
    /* Requests that still wait for another service, such as a model, are cancelled and answered. */
    if (n_left > 0) {
        http_cancel_all(server->context->http);
        n_left = wait_for_threads(server, deadline_ms);
    }
    if (n_left > 0)
        return error_set(err, ERROR_TIMEOUT, "%zu requests were still at work", n_left);
    close_listeners(server);
    condition_done(&server->ended);
    lock_done(&server->lock);
    mem_free(server);
    return 0;
}
