#include "sandbox/core/connection_acceptor.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"

enum { ACCEPTS_AT_ONCE = 32, PAUSE_MS = 100 };

static void adopt(struct connection_acceptor *acceptor, int fd)
{
    if (acceptor->n_open < acceptor->n_max)
        acceptor->accepted(acceptor->owner, fd);
    else
        (void)close(fd);
}

/* The connection stays in the queue, so the socket is ready again at once. */
static bool lacks_resources(void)
{
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
}

static void pause_accepting(struct connection_acceptor *acceptor)
{
    event_loop_change(acceptor->loop, &acceptor->source, 0);
    event_loop_timer_set(acceptor->loop, &acceptor->pause, PAUSE_MS);
}

static void on_pause_over(void *owner)
{
    struct connection_acceptor *acceptor = owner;

    event_loop_change(acceptor->loop, &acceptor->source, EPOLLIN);
}

static void on_connect(void *owner, uint32_t events)
{
    struct connection_acceptor *acceptor = owner;

    (void)events;
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = accept4(acceptor->source.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0 && lacks_resources())
            pause_accepting(acceptor);
        if (fd < 0)
            return;
        adopt(acceptor, fd);
    }
}

int connection_acceptor_start(struct connection_acceptor *acceptor, struct event_loop *loop,
                              struct error *err)
{
    acceptor->loop = loop;
    acceptor->source.ready = on_connect;
    acceptor->source.owner = acceptor;
    acceptor->pause = (struct event_loop_timer){.expired = on_pause_over, .owner = acceptor};
    return event_loop_add(loop, &acceptor->source, EPOLLIN, err);
}

void connection_acceptor_done(struct connection_acceptor *acceptor)
{
    if (acceptor->loop != NULL) {
        event_loop_timer_clear(acceptor->loop, &acceptor->pause);
        event_loop_remove(acceptor->loop, &acceptor->source);
    }
    fd_close(&acceptor->source.fd);
}
