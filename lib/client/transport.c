#include "client/transport.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "client/address_filter.h"
#include "client/direct_connections.h"
#include "client/http_call.h"
#include "client/proof.h"
#include "client/tcp.h"

enum {
    EVENTS_PER_TURN = 64,
    IDLE_CONNECTIONS_MAX = 256,
};

/* Marks epoll events of connections with a proof in progress; all others are libcurl's. */
#define PROOF_MARK (1ULL << 32)

/* --- the inbox --- */

static void wake(const struct http *http)
{
    const uint64_t one = 1;
    ssize_t n = write(http->wake_fd, &one, sizeof(one));

    (void)n; /* a full counter also wakes */
}

/* True if the thread must be woken; otherwise it already was, for an inbox not yet emptied. */
static bool command_locked(struct http *http, struct http_call *call, unsigned commands)
    REQUIRES(http -> lock)
{
    bool was_empty = http->inbox == NULL;

    if (call->commands == 0) {
        call->next_in_inbox = http->inbox;
        http->inbox = call;
    }
    call->commands |= commands;
    return was_empty;
}

void transport_command(struct http_call *call, unsigned commands)
{
    struct http *http = call->http;
    bool must_wake = false;

    lock_take(&http->lock);
    must_wake = call->is_held && command_locked(http, call, commands);
    lock_release(&http->lock);
    if (must_wake)
        wake(http);
}

bool transport_abandon(struct http_call *call, unsigned last_command)
{
    struct http *http = call->http;
    bool is_held = false;
    bool must_wake = false;

    lock_take(&http->lock);
    is_held = call->is_held;
    call->is_freed = true;
    must_wake = is_held && command_locked(http, call, last_command);
    lock_release(&http->lock);
    if (must_wake)
        wake(http);
    return is_held;
}

static struct http_call *next_command(struct http *http, unsigned *commands_out)
{
    struct http_call *call = NULL;

    lock_take(&http->lock);
    call = http->inbox;
    if (call != NULL) {
        http->inbox = call->next_in_inbox;
        *commands_out = call->commands;
        call->commands = 0;
    }
    lock_release(&http->lock);
    return call;
}

/* --- buffers --- */

/*
 * In libcurl 7.88, which Debian 12 has, each handle keeps its send buffer until the reply's end.
 * Setting its size again frees it (lib/setopt.c there), which is safe once all of it was sent,
 * though the manual forbids it during a transfer: so only there. From 8.0 on it is left to libcurl.
 * Decision: docs/decisions/0109-memory-of-parked-calls.md
 */
enum { CURL_FREES_BUFFERS = 0x080000 };

void transport_note_read(struct http_call *call)
{
    struct http *http = call->http;

    if (!http->frees_buffers || call->is_sending_rest)
        return;
    LIST_INSERT_HEAD(&http->sending_rest, call, sending_rest);
    call->is_sending_rest = true;
}

static void stop_sending(struct http_call *call)
{
    if (call->is_sending_rest)
        LIST_REMOVE(call, sending_rest);
    call->is_sending_rest = false;
}

/* Frees libcurl's buffer of each call whose given body has been sent: the wait may be long. */
static void free_buffers(struct http *http)
{
    struct http_call *next = NULL;

    for (struct http_call *call = LIST_FIRST(&http->sending_rest); call != NULL; call = next) {
        curl_off_t n_sent = 0;

        next = LIST_NEXT(call, sending_rest);
        (void)curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &n_sent);
        if (n_sent < (curl_off_t)call->request_body_len)
            continue;
        stop_sending(call);
        (void)curl_easy_setopt(call->easy, CURLOPT_UPLOAD_BUFFERSIZE, HTTP_SEND_BUFFER_BYTES);
    }
}

/* --- a call on the thread --- */

/* Releases a call that is not running; one that is in the inbox again is released from there. */
static void release(struct http *http, struct http_call *call)
{
    bool is_freed = false;

    lock_take(&http->lock);
    if (call->commands == 0) {
        call->is_held = false;
        is_freed = call->is_freed;
    }
    lock_release(&http->lock);
    if (is_freed)
        http_call_destroy(call);
}

/* libcurl's limit counts connections in use, too: at it, each call would end its connection. */
static void limit_connections(struct http *http)
{
    (void)curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS,
                            (long)(http->n_running + IDLE_CONNECTIONS_MAX));
}

/* Ends a running call with the outcome from `result` and the call's flags, and releases it. */
static void finish(struct http *http, struct http_call *call, CURLcode result)
{
    LIST_REMOVE(call, running);
    call->is_running = false;
    stop_sending(call);
    (void)curl_multi_remove_handle(http->multi, call->easy);
    http->n_running--;
    limit_connections(http);
    curl_easy_cleanup(call->easy);
    call->easy = NULL;
    http_headers_free(call->headers);
    call->headers = NULL;
    fd_close(&call->proof_fd);
    http_call_publish(call, result);
    release(http, call);
}

static void note_expiry(struct http *http, const struct http_call *call)
{
    if (http_call_expiry_ms(call) < http->expiry_ms)
        http->expiry_ms = http_call_expiry_ms(call);
}

static int watch_proof(const struct http *http, const struct http_call *call, int operation)
{
    struct epoll_event event = {.events = proof_is_sending(call->proof) ? EPOLLOUT : EPOLLIN,
                                .data.u64 = PROOF_MARK | (uint32_t)call->proof_fd};

    return epoll_ctl(http->epoll_fd, operation, call->proof_fd, &event);
}

int transport_prepare_proof(struct http_call *call, const char *url, struct error *err)
{
    if (!direct_request_read_address(url, &call->proof_address))
        return error_set(err, ERROR_UNAVAILABLE,
                         "the sandbox's server has no address to authenticate at");
    return 0;
}

static void begin_proof(struct http *http, struct http_call *call)
{
    call->proof = proof_new(&call->proof_key, &call->proof_address);
    call->is_refused = !address_filter_allows(
        (const struct sockaddr *)(const void *)&call->proof_address, call->allow_private);
    if (!call->is_refused)
        call->proof_fd = tcp_open(&call->proof_address);
    if (call->proof_fd < 0 || watch_proof(http, call, EPOLL_CTL_ADD) < 0) {
        (void)snprintf(call->why, sizeof(call->why), "connect: %m");
        finish(http, call, CURLE_COULDNT_CONNECT);
        return;
    }
    note_expiry(http, call);
}

static void begin_transfer(struct http *http, struct http_call *call)
{
    note_expiry(http, call);
    if (curl_multi_add_handle(http->multi, call->easy) != CURLM_OK)
        finish(http, call, CURLE_FAILED_INIT);
}

static void begin(struct http *http, struct http_call *call)
{
    LIST_INSERT_HEAD(&http->running, call, running);
    call->is_running = true;
    http->n_running++;
    limit_connections(http);
    if (secret_is_set(&call->proof_key))
        begin_proof(http, call);
    else
        begin_transfer(http, call);
}

/* Handles an event of the connection on which the call's server proves its identity. */
static void serve_proof(struct http *http, struct http_call *call)
{
    switch (http_call_prove(call, call->proof_fd)) {
    case PROOF_PENDING:
        note_expiry(http, call);
        if (watch_proof(http, call, EPOLL_CTL_MOD) < 0)
            finish(http, call, CURLE_FAILED_INIT);
        return;
    case PROOF_HOLDS:
        (void)epoll_ctl(http->epoll_fd, EPOLL_CTL_DEL, call->proof_fd, NULL);
        begin_transfer(http, call);
        return;
    case PROOF_LOST:
    case PROOF_FAILS:
        finish(http, call, CURLE_COULDNT_CONNECT);
        return;
    }
}

static void obey(struct http *http, struct http_call *call, unsigned commands)
{
    bool is_new = (commands & TRANSPORT_BEGIN) != 0;

    if (!call->is_running && (!is_new || (commands & TRANSPORT_DROP) != 0)) {
        release(http, call);
        return;
    }
    if ((commands & TRANSPORT_DROP) != 0) {
        finish(http, call, CURLE_ABORTED_BY_CALLBACK);
        return;
    }
    if ((commands & TRANSPORT_DRAIN) != 0) {
        call->deadline_ms = clock_monotonic_ms() + HTTP_DRAIN_MS;
        note_expiry(http, call);
    }
    if (is_new)
        begin(http, call);
    else
        (void)curl_easy_pause(call->easy, CURLPAUSE_CONT);
}

/* --- time --- */

static void end_late_calls(struct http *http, int64_t now_ms)
{
    struct http_call *next = NULL;

    http->expiry_ms = HTTP_NEVER;
    for (struct http_call *call = LIST_FIRST(&http->running); call != NULL; call = next) {
        next = LIST_NEXT(call, running);
        if (http_call_is_overdue(call, now_ms)) {
            call->is_late = true;
            finish(http, call, CURLE_OPERATION_TIMEDOUT);
        } else {
            note_expiry(http, call);
        }
    }
}

static int wait_ms(const struct http *http)
{
    int64_t due_ms = http->timer_ms < http->expiry_ms ? http->timer_ms : http->expiry_ms;
    int64_t now_ms = clock_monotonic_ms();

    if (due_ms == HTTP_NEVER)
        return -1;
    if (due_ms <= now_ms)
        return 0;
    return due_ms - now_ms > INT32_MAX ? INT32_MAX : (int)(due_ms - now_ms);
}

/* Called by libcurl with the time at which it wants to be called. */
static int on_timer(CURLM *multi, long timeout_ms, void *context)
{
    struct http *http = context;

    (void)multi;
    http->timer_ms = timeout_ms < 0 ? HTTP_NEVER : clock_monotonic_ms() + timeout_ms;
    return 0;
}

/* --- sockets --- */

/* Called by libcurl with the sockets that it wants polled. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *of_socket)
{
    struct http *http = context;
    struct epoll_event event = {.data.u64 = (uint32_t)fd};

    (void)easy;
    (void)of_socket;
    if (what == CURL_POLL_REMOVE) {
        /* A socket that is already closed has left the set. */
        (void)epoll_ctl(http->epoll_fd, EPOLL_CTL_DEL, fd, &event);
        return 0;
    }
    event.events = ((what & CURL_POLL_IN) != 0 ? (uint32_t)EPOLLIN : 0U) |
                   ((what & CURL_POLL_OUT) != 0 ? (uint32_t)EPOLLOUT : 0U);
    if (epoll_ctl(http->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0)
        return 0;
    return epoll_ctl(http->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -1;
}

static int action_of(uint32_t events)
{
    int action = 0;

    if ((events & (EPOLLIN | EPOLLHUP)) != 0)
        action |= CURL_CSELECT_IN;
    if ((events & EPOLLOUT) != 0)
        action |= CURL_CSELECT_OUT;
    if ((events & EPOLLERR) != 0)
        action |= CURL_CSELECT_ERR;
    return action;
}

static struct http_call *find_proving(const struct http *http, int fd)
{
    struct http_call *call = LIST_FIRST(&http->running);

    while (call != NULL && (call->proof == NULL || call->proof_fd != fd))
        call = LIST_NEXT(call, running);
    return call;
}

static void serve_socket(struct http *http, const struct epoll_event *event)
{
    int fd = (int)(uint32_t)event->data.u64;
    uint64_t count = 0;
    int n_running = 0;

    if ((event->data.u64 & PROOF_MARK) != 0) {
        struct http_call *call = find_proving(http, fd);

        if (call != NULL)
            serve_proof(http, call);
        return;
    }
    if (fd == http->wake_fd) {
        ssize_t n = read(http->wake_fd, &count, sizeof(count));

        (void)n;
        return;
    }
    (void)curl_multi_socket_action(http->multi, fd, action_of(event->events), &n_running);
}

/* --- the loop --- */

static void serve_timer(struct http *http)
{
    int n_running = 0;

    if (http->timer_ms > clock_monotonic_ms())
        return;
    http->timer_ms = HTTP_NEVER;
    (void)curl_multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &n_running);
}

static void reap(struct http *http)
{
    int n_left = 0;

    for (;;) {
        CURLMsg *message = curl_multi_info_read(http->multi, &n_left);
        char *of_easy = NULL;

        if (message == NULL)
            return;
        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &of_easy);
        finish(http, (struct http_call *)(void *)of_easy, message->data.result);
    }
}

static bool is_ending(struct http *http)
{
    bool ending = false;

    lock_take(&http->lock);
    ending = http->is_ending;
    lock_release(&http->lock);
    return ending;
}

static void end_all(struct http *http)
{
    while (!LIST_EMPTY(&http->running))
        finish(http, LIST_FIRST(&http->running), CURLE_ABORTED_BY_CALLBACK);
}

static bool is_stopping(struct http *http)
{
    bool stopping = false;

    lock_take(&http->lock);
    stopping = http->is_stopping;
    lock_release(&http->lock);
    return stopping;
}

static void serve_inbox(struct http *http)
{
    unsigned commands = 0;

    for (;;) {
        struct http_call *call = next_command(http, &commands);

        if (call == NULL)
            return;
        obey(http, call, commands);
    }
}

static void *run_loop(void *context)
{
    struct http *http = context;
    struct epoll_event events[EVENTS_PER_TURN];

    while (!is_stopping(http)) {
        int n = epoll_wait(http->epoll_fd, events, EVENTS_PER_TURN, wait_ms(http));

        for (int i = 0; i < n; i++)
            serve_socket(http, &events[i]);
        serve_inbox(http);
        if (is_ending(http))
            end_all(http);
        serve_timer(http);
        reap(http);
        free_buffers(http);
        if (http->expiry_ms <= clock_monotonic_ms())
            end_late_calls(http, clock_monotonic_ms());
    }
    serve_inbox(http);
    end_all(http);
    return NULL;
}

/* Signals are handled on the process's main thread. */
static int start_thread(struct http *http, struct error *err)
{
    sigset_t all;
    sigset_t before;
    int rc = 0;

    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return error_set(err, ERROR_INTERNAL, "signals cannot be blocked");
    rc = pthread_create(&http->thread, NULL, run_loop, http);
    if (pthread_sigmask(SIG_SETMASK, &before, NULL) != 0 || rc != 0)
        return error_set(err, ERROR_INTERNAL, "the transport's thread cannot be started");
    return 0;
}

static int open_parts(struct http *http, struct error *err)
{
    struct epoll_event event = {.events = EPOLLIN};

    http->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    http->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    http->multi = curl_multi_init();
    if (http->epoll_fd < 0 || http->wake_fd < 0 || http->multi == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "the transport cannot be set up: %m");
    event.data.u64 = (uint32_t)http->wake_fd;
    if (epoll_ctl(http->epoll_fd, EPOLL_CTL_ADD, http->wake_fd, &event) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "epoll: %m");
    (void)curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    (void)curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    (void)curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    (void)curl_multi_setopt(http->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    return 0;
}

static void close_parts(struct http *http)
{
    if (http->multi != NULL)
        (void)curl_multi_cleanup(http->multi);
    fd_close(&http->epoll_fd);
    fd_close(&http->wake_fd);
}

int transport_start(struct http *http, struct error *err)
{
    http->timer_ms = HTTP_NEVER;
    http->expiry_ms = HTTP_NEVER;
    http->frees_buffers = curl_version_info(CURLVERSION_NOW)->version_num < CURL_FREES_BUFFERS;
    if (open_parts(http, err) < 0 || start_thread(http, err) < 0) {
        close_parts(http);
        return -1;
    }
    return 0;
}

void transport_cancel_all(struct http *http)
{
    lock_take(&http->lock);
    http->is_ending = true;
    lock_release(&http->lock);
    wake(http);
}

void transport_stop(struct http *http)
{
    lock_take(&http->lock);
    http->is_stopping = true;
    lock_release(&http->lock);
    wake(http);
    (void)pthread_join(http->thread, NULL);
    close_parts(http);
}
