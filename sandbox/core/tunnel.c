#include "sandbox/core/tunnel.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/event_loop.h"

enum { PIECE_BYTES = 32 * 1024 };

struct tunnel_end {
    struct event_loop_source source;
    struct tunnel *tunnel;
    struct tunnel_end *other;
    struct strbuf waiting; /* not yet written to it; until then the other is not read */
    bool is_watched;
    bool is_over; /* it has sent its end of file */
    bool is_shut; /* the other's end of file was passed on to it */
};

struct tunnel {
    struct event_loop *loop;
    struct tunnel_owner owner;
    struct tunnel_end sides[2];
    bool is_broken;
};

static void read_some(struct tunnel_end *side)
{
    char bytes[PIECE_BYTES];
    ssize_t n = recv(side->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n > 0)
        strbuf_append_bytes(&side->other->waiting, bytes, (size_t)n);
    else if (n == 0)
        side->is_over = true;
    else if (errno != EAGAIN && errno != EINTR)
        side->tunnel->is_broken = true;
}

static void write_some(struct tunnel_end *side)
{
    ssize_t n = 0;

    if (side->waiting.len == 0)
        return;
    n = send(side->source.fd, side->waiting.text, side->waiting.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0)
        strbuf_remove_head(&side->waiting, (size_t)n);
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        side->tunnel->is_broken = true;
}

static void pass_end_on(struct tunnel_end *side)
{
    if (side->is_shut || !side->other->is_over || side->waiting.len > 0)
        return;
    side->is_shut = true;
    (void)shutdown(side->source.fd, SHUT_WR);
}

/* A side without events is removed from epoll, which would report its hangup again and again. */
static void watch(struct tunnel_end *side)
{
    uint32_t events = (!side->is_over && side->other->waiting.len == 0 ? EPOLLIN : 0U) |
                      (side->waiting.len > 0 ? EPOLLOUT : 0U);
    struct event_loop *loop = side->tunnel->loop;
    struct error err = ERROR_INIT;

    if (side->is_watched && events != 0) {
        event_loop_change(loop, &side->source, events);
        return;
    }
    if (side->is_watched)
        event_loop_remove(loop, &side->source);
    side->is_watched = events != 0;
    if (events == 0 || event_loop_add(loop, &side->source, events, &err) == 0)
        return;
    log_warning("tunnel.epoll_failed", LOG_ERROR(&err));
    side->is_watched = false;
    side->tunnel->is_broken = true;
}

static void go_on(struct tunnel *tunnel)
{
    for (size_t i = 0; i < 2; i++) {
        write_some(&tunnel->sides[i]);
        pass_end_on(&tunnel->sides[i]);
    }
    for (size_t i = 0; i < 2; i++)
        watch(&tunnel->sides[i]);
    if (tunnel->is_broken || (tunnel->sides[0].is_shut && tunnel->sides[1].is_shut))
        tunnel->owner.ended(tunnel->owner.owner);
}

static void on_ready(void *owner, uint32_t events)
{
    struct tunnel_end *side = owner;

    (void)events;
    if (!side->is_over && side->other->waiting.len == 0)
        read_some(side);
    go_on(side->tunnel);
}

static void side_init(struct tunnel *tunnel, size_t i, int fd)
{
    tunnel->sides[i] = (struct tunnel_end){.source = {fd, on_ready, &tunnel->sides[i]},
                                           .tunnel = tunnel,
                                           .other = &tunnel->sides[1 - i],
                                           .waiting = STRBUF_INIT};
}

struct tunnel *tunnel_new(struct event_loop *loop, int one, int other, const struct strbuf *first,
                          const struct tunnel_owner *owner)
{
    struct tunnel *tunnel = NEW(struct tunnel);

    tunnel->loop = loop;
    tunnel->owner = *owner;
    side_init(tunnel, 0, one);
    side_init(tunnel, 1, other);
    strbuf_append_bytes(&tunnel->sides[1].waiting, first->text, first->len);
    for (size_t i = 0; i < 2; i++)
        watch(&tunnel->sides[i]);
    return tunnel;
}

void tunnel_free(struct tunnel *tunnel)
{
    if (tunnel == NULL)
        return;
    for (size_t i = 0; i < 2; i++) {
        event_loop_remove(tunnel->loop, &tunnel->sides[i].source);
        fd_close(&tunnel->sides[i].source.fd);
        strbuf_done(&tunnel->sides[i].waiting);
    }
    mem_free(tunnel);
}
