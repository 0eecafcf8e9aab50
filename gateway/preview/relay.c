#include "gateway/preview/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "gateway/core/listener.h"
#include "gateway/preview/error_page.h"
#include "gateway/preview/request_head.h"
#include "model/conversation/preview_answer.h"

enum {
    LINKS_MAX = 8192,
    /* nginx accepts 64 KB of header lines, and adds a few of its own. */
    REQUEST_HEAD_MAX_BYTES = 98304,
    /* Limit for all informational answers plus the final status line. */
    ANSWER_HEADS_MAX_BYTES = 16384,
    CHUNK_BYTES = 65536,
    EVENTS_MAX = 64,
    /* SYN retries: 1 + 2 + 4 s. */
    CONNECT_REPEATS = 2,
};

enum link_phase {
    LINK_ASKING,     /* the request's head is not complete */
    LINK_CONNECTING, /* to the program */
    LINK_WAITING,    /* for the answer's status; the request's body is being passed on */
    LINK_COPYING,    /* both ways */
    LINK_ENDING,     /* the program's side is closed; the rest of the answer goes to nginx */
    LINK_ENDED,      /* freed after this turn, which may still hold an event for it */
};

struct relay_side {
    struct preview_link *link;
    int fd;
    uint32_t watched; /* epoll events, armed until the next one is reported */
    bool is_added;    /* to the epoll */
};

struct preview_link {
    LIST_ENTRY(preview_link) entry; /* in use, or ended */
    struct preview_relay *relay;
    struct relay_side nginx;
    struct relay_side program;
    struct strbuf request; /* bytes that the program has not accepted yet */
    struct strbuf answer;  /* bytes that nginx has not accepted yet, or must not see yet */
    size_t n_informational_bytes;
    enum link_phase phase;
    bool asks_upgrade;
    bool is_deaf; /* the program accepts no more of the request */
};

/* --- listening --- */

int preview_relay_open(struct preview_relay *relay, const char *socket_path, struct error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

    if (socket_path[0] == '\0')
        return 0;
    relay->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (relay->epoll_fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "epoll: %m");
    if (listener_open(socket_path, &relay->listen_fd, err) < 0)
        return -1;
    if (epoll_ctl(relay->epoll_fd, EPOLL_CTL_ADD, relay->listen_fd, &event) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "epoll: %m");
    relay->chunk = mem_alloc(CHUNK_BYTES);
    return 0;
}

/* --- links --- */

static void end(struct preview_link *link)
{
    struct preview_relay *relay = link->relay;

    if (link->phase == LINK_ENDED)
        return;
    link->phase = LINK_ENDED;
    fd_close(&link->nginx.fd);
    fd_close(&link->program.fd);
    LIST_REMOVE(link, entry);
    LIST_INSERT_HEAD(&relay->ended, link, entry);
    relay->n_links--;
}

static void free_ended(struct preview_relay *relay)
{
    while (!LIST_EMPTY(&relay->ended)) {
        struct preview_link *link = LIST_FIRST(&relay->ended);

        LIST_REMOVE(link, entry);
        strbuf_done(&link->request);
        strbuf_done(&link->answer);
        mem_free(link);
    }
}

void preview_relay_close(struct preview_relay *relay)
{
    while (!LIST_EMPTY(&relay->links))
        end(LIST_FIRST(&relay->links));
    free_ended(relay);
    fd_close(&relay->listen_fd);
    fd_close(&relay->epoll_fd);
    mem_free(relay->chunk);
    relay->chunk = NULL;
}

static uint32_t wanted_of_nginx(const struct preview_link *link)
{
    bool takes_answer = link->phase == LINK_COPYING || link->phase == LINK_ENDING;
    bool gives_request =
        link->phase == LINK_ASKING ||
        ((link->phase == LINK_WAITING || link->phase == LINK_COPYING) && link->request.len == 0);

    /* A hang-up is always watched for: then no client is left to read the answer. */
    return EPOLLRDHUP | (gives_request ? EPOLLIN : 0) |
           (takes_answer && link->answer.len > 0 ? EPOLLOUT : 0);
}

/* While it is being connected the request's head is held, and EPOLLOUT reports the outcome. */
static uint32_t wanted_of_program(const struct preview_link *link)
{
    bool gives_answer =
        link->phase == LINK_WAITING || (link->phase == LINK_COPYING && link->answer.len == 0);

    return (gives_answer ? EPOLLIN : 0) | (link->request.len > 0 && !link->is_deaf ? EPOLLOUT : 0);
}

/*
 * One-shot, rearmed after each event: a side that is not being read reports nothing, not even a
 * hang-up.
 */
static void watch(struct relay_side *side, uint32_t wanted)
{
    struct epoll_event event = {.events = wanted | EPOLLONESHOT, .data.ptr = side};
    int op = side->is_added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    if (side->fd < 0 || wanted == side->watched)
        return;
    if (epoll_ctl(side->link->relay->epoll_fd, op, side->fd, &event) < 0) {
        log_warning("preview.epoll_failed", LOG_INT("errno", errno));
        end(side->link);
        return;
    }
    side->is_added = true;
    side->watched = wanted;
}

static void watch_both(struct preview_link *link)
{
    if (link->phase != LINK_ENDED)
        watch(&link->nginx, wanted_of_nginx(link));
    if (link->phase != LINK_ENDED)
        watch(&link->program, wanted_of_program(link));
}

/* --- bytes --- */

static bool may_come_later(void)
{
    return errno == EAGAIN || errno == EINTR;
}

/* Appends to held what the side does not accept at once; false when it accepts nothing any more. */
static bool send_bytes(const struct relay_side *side, const char *bytes, size_t len,
                       struct strbuf *held)
{
    ssize_t n = held->len == 0 ? send(side->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

    if (n < 0 && !may_come_later())
        return false;
    n = n < 0 ? 0 : n;
    strbuf_append_bytes(held, bytes + n, len - (size_t)n);
    return true;
}

static bool give_held(const struct relay_side *side, struct strbuf *held)
{
    ssize_t n = send(side->fd, held->text, held->len, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0)
        return may_come_later();
    strbuf_remove_head(held, (size_t)n);
    if (held->len == 0)
        strbuf_done(held);
    return true;
}

/* A client may send more than the program reads, and still gets the answer. */
static void stop_request(struct preview_link *link)
{
    link->is_deaf = true;
    strbuf_done(&link->request);
}

/* False when nothing is there; the end is reported as a hang-up. */
static bool move_request(struct preview_link *link)
{
    char *chunk = link->relay->chunk;
    ssize_t n = recv(link->nginx.fd, chunk, CHUNK_BYTES, MSG_DONTWAIT);

    if (n <= 0)
        return false;
    if (!link->is_deaf && !send_bytes(&link->program, chunk, (size_t)n, &link->request))
        stop_request(link);
    return true;
}

static void end_answer(struct preview_link *link)
{
    fd_close(&link->program.fd);
    if (link->phase == LINK_COPYING && link->answer.len > 0)
        link->phase = LINK_ENDING;
    else
        end(link);
}

static void copy_answer(struct preview_link *link)
{
    char *chunk = link->relay->chunk;
    ssize_t n = recv(link->program.fd, chunk, CHUNK_BYTES, MSG_DONTWAIT);

    if (n < 0 && may_come_later())
        return;
    if (n <= 0)
        end_answer(link);
    else if (!send_bytes(&link->nginx, chunk, (size_t)n, &link->answer))
        end(link);
}

static void give_answer(struct preview_link *link)
{
    if (!give_held(&link->nginx, &link->answer) ||
        (link->phase == LINK_ENDING && link->answer.len == 0))
        end(link);
}

/* --- the answer's head --- */

static void refuse(struct preview_link *link, int status)
{
    log_info("preview.response_rejected", LOG_INT("status", status));
    fd_close(&link->program.fd);
    strbuf_reset(&link->answer);
    error_page_append(&link->answer, status);
    link->phase = LINK_ENDING;
    give_answer(link);
}

static void pass_answer(struct preview_link *link)
{
    link->phase = LINK_COPYING;
    give_answer(link);
}

/* nginx would take an informational answer for the final one. */
static void judge_answer(struct preview_link *link)
{
    struct preview_answer answer = preview_answer_read(link->answer.text, link->answer.len);

    while (answer.kind == PREVIEW_ANSWER_INFORMATIONAL) {
        link->n_informational_bytes += answer.n_head_bytes;
        strbuf_remove_head(&link->answer, answer.n_head_bytes);
        answer = preview_answer_read(link->answer.text, link->answer.len);
    }
    if (answer.kind == PREVIEW_ANSWER_FINAL ||
        (answer.kind == PREVIEW_ANSWER_UPGRADE && link->asks_upgrade))
        pass_answer(link);
    else if (answer.kind != PREVIEW_ANSWER_PARTIAL ||
             link->n_informational_bytes + link->answer.len >= ANSWER_HEADS_MAX_BYTES)
        refuse(link, answer.status);
}

static void read_answer(struct preview_link *link)
{
    char *chunk = link->relay->chunk;
    ssize_t n = recv(link->program.fd, chunk, ANSWER_HEADS_MAX_BYTES, MSG_DONTWAIT);

    if (n < 0 && may_come_later())
        return;
    if (n <= 0) {
        end_answer(link);
        return;
    }
    strbuf_append_bytes(&link->answer, chunk, (size_t)n);
    judge_answer(link);
}

/* --- the request's head --- */

static int connect_to(struct preview_link *link, const struct sockaddr_in *address,
                      struct error *err)
{
    const int repeats = CONNECT_REPEATS;
    const int on = 1;

    link->program.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (link->program.fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "socket: %m");
    if (setsockopt(link->program.fd, IPPROTO_TCP, TCP_SYNCNT, &repeats, sizeof(repeats)) < 0 ||
        setsockopt(link->program.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "setsockopt: %m");
    if (connect(link->program.fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
        errno != EINPROGRESS)
        return error_set(err, ERROR_UNAVAILABLE, "connect: %m");
    link->phase = LINK_CONNECTING;
    return 0;
}

static int begin(struct preview_link *link, struct error *err)
{
    struct preview_request request = {.asks_upgrade = false};

    if (preview_request_take(&link->request, &request, err) < 0)
        return -1;
    link->asks_upgrade = request.asks_upgrade;
    return connect_to(link, &request.address, err);
}

/* If we close without an answer nginx sends its 502, whose page says that nothing listens there. */
static void read_request(struct preview_link *link)
{
    char *chunk = link->relay->chunk;
    ssize_t n = recv(link->nginx.fd, chunk, CHUNK_BYTES, MSG_DONTWAIT);
    struct error err = ERROR_INIT;

    if (n < 0 && may_come_later())
        return;
    if (n <= 0) {
        end(link);
        return;
    }
    strbuf_append_bytes(&link->request, chunk, (size_t)n);
    if (!preview_request_is_whole(&link->request)) {
        if (link->request.len >= REQUEST_HEAD_MAX_BYTES)
            end(link);
        return;
    }
    if (begin(link, &err) < 0) {
        log_info("preview.connect_failed", LOG_ERROR(&err));
        end(link);
    }
}

static void on_connected(struct preview_link *link)
{
    int problem = 0;
    socklen_t size = sizeof(problem);

    if (getsockopt(link->program.fd, SOL_SOCKET, SO_ERROR, &problem, &size) < 0 || problem != 0) {
        end(link);
        return;
    }
    link->phase = LINK_WAITING;
    if (!give_held(&link->program, &link->request))
        stop_request(link);
}

/* --- events --- */

/* Bytes sent before the hang-up, such as the last frame of a WebSocket, still go to the program. */
static void on_hang_up(struct preview_link *link)
{
    if (link->phase == LINK_WAITING || link->phase == LINK_COPYING) {
        while (link->request.len == 0 && move_request(link))
            ;
    }
    end(link);
}

static void on_nginx(struct preview_link *link, uint32_t events)
{
    if ((events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
        on_hang_up(link);
        return;
    }
    if ((events & EPOLLOUT) != 0)
        give_answer(link);
    if ((events & EPOLLIN) == 0 || link->phase == LINK_ENDED)
        return;
    if (link->phase == LINK_ASKING)
        read_request(link);
    else
        (void)move_request(link);
}

static void on_program(struct preview_link *link, uint32_t events)
{
    if (link->phase == LINK_CONNECTING) {
        on_connected(link);
        return;
    }
    if ((events & EPOLLOUT) != 0 && !give_held(&link->program, &link->request))
        stop_request(link);
    if ((events & ~(uint32_t)EPOLLOUT) == 0)
        return;
    if (link->phase == LINK_WAITING)
        read_answer(link);
    else if (link->phase == LINK_COPYING && link->answer.len == 0)
        copy_answer(link);
}

static void on_event(struct relay_side *side, uint32_t events)
{
    struct preview_link *link = side->link;

    if (link->phase == LINK_ENDED || side->fd < 0)
        return;
    side->watched = 0;
    if (side == &link->nginx)
        on_nginx(link, events);
    else
        on_program(link, events);
    watch_both(link);
}

static void let_in(struct preview_relay *relay, int fd)
{
    struct preview_link *link = NEW(struct preview_link);

    link->relay = relay;
    link->nginx = (struct relay_side){.link = link, .fd = fd};
    link->program = (struct relay_side){.link = link, .fd = -1};
    link->request = (struct strbuf)STRBUF_INIT;
    link->answer = (struct strbuf)STRBUF_INIT;
    LIST_INSERT_HEAD(&relay->links, link, entry);
    relay->n_links++;
    watch_both(link);
}

static void accept_all(struct preview_relay *relay)
{
    for (int i = 0; i < EVENTS_MAX; i++) {
        CLEANUP(fd_close) int fd =
            accept4(relay->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return;
        if (relay->n_links < LINKS_MAX)
            let_in(relay, fd_take(&fd));
    }
}

void preview_relay_pump(struct preview_relay *relay)
{
    struct epoll_event events[EVENTS_MAX];
    int n = relay->epoll_fd < 0 ? 0 : epoll_wait(relay->epoll_fd, events, EVENTS_MAX, 0);

    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr == NULL)
            accept_all(relay);
        else
            on_event(events[i].data.ptr, events[i].events);
    }
    free_ended(relay);
}
