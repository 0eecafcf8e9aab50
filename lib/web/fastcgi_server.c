#include "web/fastcgi_server.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <fcgiapp.h>

#include "base/crash.h"
#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "web/reply_output.h"
#include "web/request_input.h"

enum { LISTEN_BACKLOG = 1024 };

/* Shorter than nginx's client timeouts, so that the client gets the reason. */
enum { READ_SILENCE_S = 12, WRITE_SILENCE_S = 30 };

/* A request of this size may have used a hundred times as much memory. */
#define LARGE_REQUEST_BYTES (1 << 20)

/* A listener with its socket. */
struct listening {
    struct fastcgi_server *server;
    struct fastcgi_listener listener;
    int fd;
};

struct fastcgi_server {
    struct crash_points *crash;
    struct listening items[FASTCGI_LISTENERS_MAX];
    size_t n_items;
    struct lock lock; /* guards n_threads; never held over I/O */
    struct condition ended;
    size_t n_threads;
};

/* A request's body, and how much of it was read. */
struct fcgi_input {
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
    struct fcgi_input *received = stream;
    int n = take_bytes(received->stream, buffer, len);

    /* Only this distinguishes an aborted body from its end. */
    if (n == 0 && FCGX_GetError(received->stream) != 0)
        return FCGX_GetError(received->stream) == EAGAIN ? REQUEST_READ_SILENT
                                                         : REQUEST_READ_BROKEN;
    received->n_bytes += n;
    return n;
}

/* A reply, and how much of it was written. */
struct fcgi_output {
    FCGX_Stream *stream;
    int64_t n_bytes;
};

static int write_fcgi(void *stream, const char *bytes, int len)
{
    struct fcgi_output *sent = stream;

    if (FCGX_PutStr(bytes, len, sent->stream) != len)
        return -1;
    sent->n_bytes += len;
    return 0;
}

static int flush_fcgi(void *stream)
{
    struct fcgi_output *sent = stream;

    return FCGX_FFlush(sent->stream) < 0 ? -1 : 0;
}

/* Returns the number of bytes received and sent. */
static int64_t serve_request(const struct fastcgi_listener *listener, FCGX_Request *fcgi)
{
    struct fcgi_input received = {.stream = fcgi->in};
    struct fcgi_output sent = {.stream = fcgi->out};
    const struct request_input input = {fcgi->envp, read_fcgi, &received};
    const struct reply_output output = {write_fcgi, &sent, flush_fcgi, fcgi->ipcFd};

    listener->serve(listener->context, &input, &output);
    return received.n_bytes + sent.n_bytes;
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

static void thread_ended(struct fastcgi_server *server)
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
        log_warning("server.timeouts_not_set", LOG_INT("errno", errno));
}

static void *accept_thread(void *argument)
{
    struct listening *listening = argument;
    struct fastcgi_server *server = listening->server;
    FCGX_Request fcgi;

    if (FCGX_InitRequest(&fcgi, listening->fd, 0) != 0) {
        thread_ended(server);
        return NULL;
    }
    while (FCGX_Accept_r(&fcgi) >= 0) {
        int64_t n_bytes = 0;

        limit_silence(fcgi.ipcFd);
        n_bytes = serve_request(&listening->listener, &fcgi);
        FCGX_Finish_r(&fcgi);
        give_memory_back(n_bytes);
        if (server->crash != NULL)
            crash_point(server->crash, CRASH_REPLY_SENT);
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

static int listen_on(const struct fastcgi_listener *listener, int *fd_out, struct error *err)
{
    CLEANUP(fd_close) int fd = -1;
    struct sockaddr_un address;

    if (fill_address(listener->path, &address, err) < 0 || remove_stale(&address, err) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "socket: %m");
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "bind %s: %m", listener->path);
    if (listener->mode != 0 && chmod(listener->path, listener->mode) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "chmod %s: %m", listener->path);
    if (listen(fd, LISTEN_BACKLOG) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "listen on %s: %m", listener->path);
    *fd_out = fd_take(&fd);
    return 0;
}

static int start_thread(struct listening *listening, struct error *err)
{
    struct fastcgi_server *server = listening->server;
    pthread_t thread = 0;
    int rc = 0;

    lock_take(&server->lock);
    server->n_threads++;
    lock_release(&server->lock);
    rc = pthread_create(&thread, NULL, accept_thread, listening);
    if (rc == 0)
        rc = pthread_detach(thread);
    errno = rc;
    return rc == 0 ? 0
                   : error_set(err, ERROR_UNAVAILABLE, "start a thread of %s: %m",
                               listening->listener.path);
}

static int start_threads(struct listening *listening, struct error *err)
{
    for (int64_t i = 0; i < listening->listener.n_threads; i++) {
        if (start_thread(listening, err) < 0)
            return -1;
    }
    return 0;
}

static int open_listeners(struct fastcgi_server *server, struct error *err)
{
    for (size_t i = 0; i < server->n_items; i++) {
        if (listen_on(&server->items[i].listener, &server->items[i].fd, err) < 0)
            return -1;
    }
    return 0;
}

static struct fastcgi_server *server_new(const struct fastcgi_listener *listeners, size_t n,
                                         struct crash_points *crash)
{
    struct fastcgi_server *server = NEW(struct fastcgi_server);

    assert(n <= FASTCGI_LISTENERS_MAX);
    server->crash = crash;
    lock_init(&server->lock);
    condition_init(&server->ended);
    for (size_t i = 0; i < n; i++)
        server->items[server->n_items++] =
            (struct listening){.server = server, .listener = listeners[i], .fd = -1};
    return server;
}

int fastcgi_server_start(const struct fastcgi_listener *listeners, size_t n_listeners,
                         struct crash_points *crash, struct fastcgi_server **server_out,
                         struct error *err)
{
    struct fastcgi_server *server = NULL;

    if (FCGX_Init() != 0)
        return error_set(err, ERROR_INTERNAL, "libfcgi cannot be initialised");
    server = server_new(listeners, n_listeners, crash);
    if (open_listeners(server, err) < 0) {
        fastcgi_server_free(server);
        return -1;
    }
    for (size_t i = 0; i < server->n_items; i++) {
        if (start_threads(&server->items[i], err) < 0)
            return -1;
    }
    *server_out = server;
    return 0;
}

/* Wakes the threads that wait in accept(). */
static void stop_listening(const struct listening *listening)
{
    if (shutdown(listening->fd, SHUT_RDWR) < 0)
        log_warning("server.shutdown_failed", LOG_STR("path", listening->listener.path));
    if (unlink(listening->listener.path) < 0)
        log_warning("server.unlink_failed", LOG_STR("path", listening->listener.path));
}

void fastcgi_server_close(struct fastcgi_server *server)
{
    FCGX_ShutdownPending();
    for (size_t i = 0; i < server->n_items; i++)
        stop_listening(&server->items[i]);
}

size_t fastcgi_server_wait(struct fastcgi_server *server, int64_t deadline_ms)
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

void fastcgi_server_free(struct fastcgi_server *server)
{
    if (server == NULL)
        return;
    for (size_t i = 0; i < server->n_items; i++)
        fd_close(&server->items[i].fd);
    condition_done(&server->ended);
    lock_done(&server->lock);
    mem_free(server);
}
