#include "sandbox/ports/preview_door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/loop.h"
#include "sandbox/core/tunnel.h"

#define PORT_HEADER "\r\nX-Deft-Port: "

enum { MAX_VISITS = 256, PATIENCE_MS = 30000, HEAD_MAX_BYTES = 64 * 1024, PIECE_BYTES = 8192 };

/* A connection to a program. */
struct visit {
    struct preview_door *door;
    struct loop_source client; /* until passed to the tunnel */
    struct loop_source program;
    struct loop_timer patience;
    struct strbuf head;
    int port;
    bool has_tried_ipv6;
    struct tunnel *tunnel;
    struct visit *next;
};

struct preview_door {
    struct loop *loop;
    struct loop_source source;
    struct visit *visits;
    size_t n;
};

static void visit_end(void *owner)
{
    struct visit *visit = owner;
    struct preview_door *door = visit->door;
    struct visit **link = &door->visits;

    while (*link != visit)
        link = &(*link)->next;
    *link = visit->next;
    door->n--;
    loop_timer_clear(door->loop, &visit->patience);
    loop_remove(door->loop, &visit->client);
    loop_remove(door->loop, &visit->program);
    fd_close(&visit->client.fd);
    fd_close(&visit->program.fd);
    tunnel_free(visit->tunnel);
    strbuf_done(&visit->head);
    mem_free(visit);
}

/* --- to the program --- */

static void begin_tunnel(struct visit *visit)
{
    const struct tunnel_owner owner = {visit_end, visit};
    struct loop *loop = visit->door->loop;

    loop_timer_clear(loop, &visit->patience);
    loop_remove(loop, &visit->client);
    loop_remove(loop, &visit->program);
    visit->tunnel = tunnel_new(loop, fd_take(&visit->client.fd), fd_take(&visit->program.fd),
                               &visit->head, &owner);
    strbuf_reset(&visit->head);
}

static int connect_to(struct visit *visit, int family)
{
    const struct sockaddr_in four = {.sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)visit->port),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                                     .sin6_port = htons((uint16_t)visit->port),
                                     .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const void *address = family == AF_INET ? (const void *)&four : (const void *)&six;
    socklen_t len = family == AF_INET ? sizeof(four) : sizeof(six);
    struct error err = ERROR_INIT;

    loop_remove(visit->door->loop, &visit->program);
    fd_close(&visit->program.fd);
    visit->program.fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (visit->program.fd < 0 ||
        (connect(visit->program.fd, address, len) < 0 && errno != EINPROGRESS))
        return -1;
    return loop_add(visit->door->loop, &visit->program, EPOLLOUT, &err);
}

/* When nothing listens the connection is closed: nginx then shows the browser an error. */
static void try_ipv6(struct visit *visit)
{
    bool has_tried = visit->has_tried_ipv6;

    visit->has_tried_ipv6 = true;
    if (has_tried || connect_to(visit, AF_INET6) < 0)
        visit_end(visit);
}

static void on_connected(void *owner, uint32_t events)
{
    struct visit *visit = owner;
    int why = 0;
    socklen_t len = sizeof(why);

    (void)events;
    if (getsockopt(visit->program.fd, SOL_SOCKET, SO_ERROR, &why, &len) < 0 || why != 0)
        try_ipv6(visit);
    else
        begin_tunnel(visit);
}

/* --- from the client --- */

bool preview_door_take_port(struct strbuf *head, int *port_out)
{
    CLEANUP(strbuf_done) struct strbuf rest = STRBUF_INIT;
    char *at = strcasestr(head->text, PORT_HEADER);
    char *end = NULL;
    long port = 0;

    if (at == NULL)
        return false;
    port = strtol(at + strlen(PORT_HEADER), &end, 10);
    if (port <= 0 || port > UINT16_MAX || strncmp(end, "\r\n", 2) != 0)
        return false;
    strbuf_append_bytes(&rest, end, head->len - (size_t)(end - head->text));
    strbuf_truncate(head, (size_t)(at - head->text));
    strbuf_append_bytes(head, rest.text, rest.len);
    *port_out = (int)port;
    return true;
}

static void on_head_read(struct visit *visit)
{
    loop_remove(visit->door->loop, &visit->client);
    if (!preview_door_take_port(&visit->head, &visit->port))
        visit_end(visit);
    else if (connect_to(visit, AF_INET) < 0)
        try_ipv6(visit);
}

static void on_client(void *owner, uint32_t events)
{
    struct visit *visit = owner;
    char bytes[PIECE_BYTES];
    ssize_t n = recv(visit->client.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || visit->head.len > HEAD_MAX_BYTES) {
        visit_end(visit);
        return;
    }
    strbuf_append_bytes(&visit->head, bytes, (size_t)n);
    if (strstr(visit->head.text, "\r\n\r\n") != NULL)
        on_head_read(visit);
}

static void take_in(struct preview_door *door, int fd)
{
    struct visit *visit = NEW(struct visit);
    struct error err = ERROR_INIT;

    *visit = (struct visit){.door = door,
                            .client = {fd, on_client, visit},
                            .program = {-1, on_connected, visit},
                            .patience = {.expired = visit_end, .owner = visit},
                            .head = STRBUF_INIT,
                            .next = door->visits};
    door->visits = visit;
    door->n++;
    loop_timer_set(door->loop, &visit->patience, PATIENCE_MS);
    if (loop_add(door->loop, &visit->client, EPOLLIN, &err) == 0)
        return;
    log_warning("preview.not_watched", LOG_ERROR(&err));
    visit_end(visit);
}

static void on_connect(void *owner, uint32_t events)
{
    struct preview_door *door = owner;
    int fd = accept4(door->source.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    (void)events;
    if (fd >= 0 && door->n >= MAX_VISITS)
        fd_close(&fd);
    if (fd >= 0)
        take_in(door, fd);
}

int preview_door_open(struct loop *loop, int fd, struct preview_door **door_out, struct error *err)
{
    struct preview_door *door = NEW(struct preview_door);

    *door = (struct preview_door){.loop = loop, .source = {fd, on_connect, door}};
    if (loop_add(loop, &door->source, EPOLLIN, err) < 0) {
        preview_door_close(door);
        return -1;
    }
    *door_out = door;
    return 0;
}

void preview_door_close(struct preview_door *door)
{
    if (door == NULL)
        return;
    while (door->visits != NULL)
        visit_end(door->visits);
    loop_remove(door->loop, &door->source);
    fd_close(&door->source.fd);
    mem_free(door);
}
