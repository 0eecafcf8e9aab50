#include "gateway/door.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <libwebsockets.h>

#include "auth/wrong_keys.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "gateway/handshake.h"
#include "gateway/listener.h"
#include "gateway/masked_input.h"
#include "store/db/db_pipe.h"
#include "store/user/init_store.h"

enum { HEAD_MAX_BYTES = 8192, HEAD_TIMEOUT_MS = 10000, EVENTS_MAX = 64 };

static const char forbidden[] =
    "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
static const char too_many[] = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: " WRONG_KEYS_RETRY_S
                               "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
static const char unavailable[] =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

struct visitor {
    struct visitor *next;
    struct visitor *previous;
    struct gateway *gateway;
    int fd;
    int64_t came_at_ms;
    int64_t n_hints; /* of callers, when the credential was looked up */
    struct handshake handshake;
    struct init_question init; /* while the server is not known to be initialized */
    size_t n_head_bytes;
};

/* --- listening --- */

int door_open(struct door *door, const char *socket_path, struct error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

    *door = (struct door){.listen_fd = -1, .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    if (door->epoll_fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "epoll: %m");
    if (listener_open(socket_path, &door->listen_fd, err) < 0)
        return -1;
    if (epoll_ctl(door->epoll_fd, EPOLL_CTL_ADD, door->listen_fd, &event) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "epoll: %m");
    return 0;
}

/* --- visitors --- */

static void visitor_free(struct visitor *visitor)
{
    struct door *door = &visitor->gateway->door;

    if (visitor->previous != NULL)
        visitor->previous->next = visitor->next;
    else
        door->first = visitor->next;
    if (visitor->next != NULL)
        visitor->next->previous = visitor->previous;
    else
        door->last = visitor->previous;
    door->n_visitors--;
    db_ticket_forget(&visitor->handshake.caller.ticket);
    db_ticket_forget(&visitor->init.ticket);
    fd_close(&visitor->fd);
    mem_free(visitor);
}

void door_close(struct door *door)
{
    while (door->first != NULL)
        visitor_free(door->first);
    fd_close(&door->listen_fd);
    fd_close(&door->epoll_fd);
}

/* Drains the input first: closing a socket with unread bytes would discard the reply as well. */
static void refuse(struct visitor *visitor, const struct error *why)
{
    bool is_limited = why->code == ERROR_RATE_LIMITED;
    bool is_ours = !is_limited && error_is_transient(why);
    const char *answer = is_ours ? unavailable : is_limited ? too_many : forbidden;
    char head[HEAD_MAX_BYTES];

    if (is_ours)
        log_warning("socket.refused", LOG_ERROR(why));
    else
        log_info("socket.refused", LOG_ERROR(why));
    (void)!recv(visitor->fd, head, sizeof(head), 0);
    (void)!send(visitor->fd, answer, strlen(answer), MSG_NOSIGNAL);
    visitor_free(visitor);
}

/* Browsers send session cookies by themselves, so only invalid keys are counted. */
static void refuse_caller(struct visitor *visitor, struct error *why)
{
    if (visitor->handshake.caller.kind != CALLER_SESSION)
        error_ignore(wrong_keys_refuse(visitor->gateway->wrong_keys,
                                       visitor->handshake.request.address, why),
                     "what it is now is answered");
    refuse(visitor, why);
}

static void admit(struct visitor *visitor, const struct principal *principal)
{
    struct gateway *gateway = visitor->gateway;
    struct admission *admission = NEW(struct admission);
    size_t n_head_bytes = visitor->n_head_bytes;
    struct lws *wsi = NULL;
    int fd = visitor->fd;

    admission->request = visitor->handshake.request;
    admission->principal = *principal;
    admission->n_hints = visitor->n_hints;
    admission->valid_ms = visitor->handshake.caller.valid_ms;
    (void)epoll_ctl(gateway->door.epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    visitor->fd = -1;
    visitor_free(visitor);
    masked_input_watch(fd, n_head_bytes);
    wsi = lws_adopt_socket(gateway->lws, fd);
    if (wsi == NULL) {
        masked_input_forget(fd);
        mem_free(admission);
    } else {
        lws_set_opaque_user_data(wsi, admission);
    }
}

static void on_caller(struct caller_question *caller, const struct error *err)
{
    struct handshake *handshake = lws_container_of(caller, struct handshake, caller);
    struct visitor *visitor = lws_container_of(handshake, struct visitor, handshake);
    struct principal principal = {.kind = PRINCIPAL_NOBODY};
    struct error bad = ERROR_INIT;

    if (err != NULL)
        bad = *err;
    if (err == NULL && principal_from_caller(caller, &principal, &bad) == 0)
        admit(visitor, &principal);
    else
        refuse_caller(visitor, &bad);
}

static void ask_caller(struct visitor *visitor)
{
    struct handshake *handshake = &visitor->handshake;
    struct principal nobody = {.kind = PRINCIPAL_NOBODY};

    if (!handshake->has_credential) {
        admit(visitor, &nobody);
        return;
    }
    handshake->caller.done = on_caller;
    visitor->n_hints = visitor->gateway->callers.n_hints;
    live_ask_caller(visitor->gateway->back, &handshake->caller);
}

static void on_init(struct init_question *question, const struct error *err)
{
    struct visitor *visitor = lws_container_of(question, struct visitor, init);
    struct error asleep = ERROR_INIT;

    if (err == NULL && !question->has_begun) {
        error_set(&asleep, ERROR_FORBIDDEN, "the server is dormant");
        err = &asleep;
    }
    if (err != NULL) {
        refuse(visitor, err);
        return;
    }
    visitor->gateway->is_dormant = false;
    ask_caller(visitor);
}

static void look_up(struct visitor *visitor, const char *head)
{
    struct gateway *gateway = visitor->gateway;
    struct error err = ERROR_INIT;

    if (handshake_read(gateway, head, &visitor->handshake, &err) < 0) {
        refuse_caller(visitor, &err);
        return;
    }
    if (!gateway->is_dormant) {
        ask_caller(visitor);
        return;
    }
    visitor->init.done = on_init;
    init_store_ask(gateway->back, &visitor->init);
}

/* Peeks at the input until the head is complete. */
static void on_readable(struct visitor *visitor)
{
    char head[HEAD_MAX_BYTES + 1];
    const char *end = NULL;
    struct error too_long = ERROR_INIT;
    ssize_t len = recv(visitor->fd, head, HEAD_MAX_BYTES, MSG_PEEK);

    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0 || visitor->handshake.caller.ticket != NULL || visitor->init.ticket != NULL) {
        /* It hung up; nothing else is expected from it during the look-up of its credential. */
        if (len <= 0)
            visitor_free(visitor);
        return;
    }
    head[len] = '\0';
    end = strstr(head, "\r\n\r\n");
    if (end != NULL) {
        visitor->n_head_bytes = (size_t)(end - head) + strlen("\r\n\r\n");
        look_up(visitor, head);
    } else if (len == HEAD_MAX_BYTES) {
        error_set(&too_long, ERROR_TOO_LARGE, "the request's head is too long");
        refuse(visitor, &too_long);
    }
}

/* --- the loop's calls --- */

static void let_in(struct gateway *gateway, int fd)
{
    struct door *door = &gateway->door;
    struct visitor *visitor = NEW(struct visitor);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = visitor};

    visitor->gateway = gateway;
    visitor->fd = fd;
    visitor->came_at_ms = clock_monotonic_ms();
    visitor->previous = door->last;
    if (door->last != NULL)
        door->last->next = visitor;
    else
        door->first = visitor;
    door->last = visitor;
    door->n_visitors++;
    if (epoll_ctl(door->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        log_warning("socket.unwatched", LOG_INT("errno", errno));
        visitor_free(visitor);
    }
}

static void accept_all(struct gateway *gateway)
{
    for (int i = 0; i < EVENTS_MAX; i++) {
        int fd = accept4(gateway->door.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return;
        let_in(gateway, fd);
    }
}

/* One event per connection: handling one pending connection never frees another. */
void door_pump(struct gateway *gateway)
{
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(gateway->door.epoll_fd, events, EVENTS_MAX, 0);

    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr == NULL)
            accept_all(gateway);
        else
            on_readable(events[i].data.ptr);
    }
}

void door_tick(struct gateway *gateway, int64_t now_ms)
{
    struct error late = ERROR_INIT;

    error_set(&late, ERROR_INVALID, "no request came");
    while (gateway->door.first != NULL &&
           now_ms - gateway->door.first->came_at_ms >= HEAD_TIMEOUT_MS)
        refuse(gateway->door.first, &late);
}
