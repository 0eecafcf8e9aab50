#include "sandbox/ports/preview_listener.h"

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
#include "sandbox/core/connection_acceptor.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/core/tunnel.h"

#define PORT_HEADER "\r\nX-Deft-Port: "

enum {
    MAX_PREVIEW_CONNECTIONS = 256,
    CONNECTED_WITHIN_MS = 30000,
    HEAD_MAX_BYTES = 64 * 1024,
    PIECE_BYTES = 8192
};

/* A connection to a program. */
struct preview_connection {
    struct preview_listener *listener;
    struct event_loop_source client; /* until passed to the tunnel */
    struct event_loop_source program;
    struct event_loop_timer deadline;
    struct strbuf head;
    int port;
    bool has_tried_ipv6;
    struct tunnel *tunnel;
    struct preview_connection *next;
};

struct preview_listener {
    struct event_loop *loop;
    struct connection_acceptor acceptor;
    struct preview_connection *connections;
};

static void connection_end(void *owner)
{
    struct preview_connection *connection = owner;
    struct preview_listener *listener = connection->listener;
    struct preview_connection **link = &listener->connections;

    while (*link != connection)
        link = &(*link)->next;
    *link = connection->next;
    listener->acceptor.n_open--;
    event_loop_timer_clear(listener->loop, &connection->deadline);
    event_loop_remove(listener->loop, &connection->client);
    event_loop_remove(listener->loop, &connection->program);
    fd_close(&connection->client.fd);
    fd_close(&connection->program.fd);
    tunnel_free(connection->tunnel);
    strbuf_done(&connection->head);
    mem_free(connection);
}

/* --- to the program --- */

static void begin_tunnel(struct preview_connection *connection)
{
    const struct tunnel_owner owner = {connection_end, connection};
    struct event_loop *loop = connection->listener->loop;

    event_loop_timer_clear(loop, &connection->deadline);
    event_loop_remove(loop, &connection->client);
    event_loop_remove(loop, &connection->program);
    connection->tunnel = tunnel_new(loop, fd_take(&connection->client.fd),
                                    fd_take(&connection->program.fd), &connection->head, &owner);
    strbuf_reset(&connection->head);
}

static int connect_to(struct preview_connection *connection, int family)
{
    const struct sockaddr_in four = {.sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)connection->port),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                                     .sin6_port = htons((uint16_t)connection->port),
                                     .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const void *address = family == AF_INET ? (const void *)&four : (const void *)&six;
    socklen_t len = family == AF_INET ? sizeof(four) : sizeof(six);
    struct error err = ERROR_INIT;

    event_loop_remove(connection->listener->loop, &connection->program);
    fd_close(&connection->program.fd);
    connection->program.fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connection->program.fd < 0 ||
        (connect(connection->program.fd, address, len) < 0 && errno != EINPROGRESS))
        return -1;
    return event_loop_add(connection->listener->loop, &connection->program, EPOLLOUT, &err);
}

/* When nothing listens the connection is closed: nginx then shows the browser an error. */
static void try_ipv6(struct preview_connection *connection)
{
    bool has_tried = connection->has_tried_ipv6;

    connection->has_tried_ipv6 = true;
    if (has_tried || connect_to(connection, AF_INET6) < 0)
        connection_end(connection);
}

static void on_connected(void *owner, uint32_t events)
{
    struct preview_connection *connection = owner;
    int why = 0;
    socklen_t len = sizeof(why);

    (void)events;
    if (getsockopt(connection->program.fd, SOL_SOCKET, SO_ERROR, &why, &len) < 0 || why != 0)
        try_ipv6(connection);
    else
        begin_tunnel(connection);
}

/* --- from the client --- */

bool preview_listener_take_port(struct strbuf *head, int *port_out)
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

static void on_head_read(struct preview_connection *connection)
{
    event_loop_remove(connection->listener->loop, &connection->client);
    if (!preview_listener_take_port(&connection->head, &connection->port))
        connection_end(connection);
    else if (connect_to(connection, AF_INET) < 0)
        try_ipv6(connection);
}

static void on_client(void *owner, uint32_t events)
{
    struct preview_connection *connection = owner;
    char bytes[PIECE_BYTES];
    ssize_t n = recv(connection->client.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || connection->head.len > HEAD_MAX_BYTES) {
        connection_end(connection);
        return;
    }
    strbuf_append_bytes(&connection->head, bytes, (size_t)n);
    if (strstr(connection->head.text, "\r\n\r\n") != NULL)
        on_head_read(connection);
}

static void on_accepted(void *owner, int fd)
{
    struct preview_listener *listener = owner;
    struct preview_connection *connection = NEW(struct preview_connection);
    struct error err = ERROR_INIT;

    *connection =
        (struct preview_connection){.listener = listener,
                                    .client = {fd, on_client, connection},
                                    .program = {-1, on_connected, connection},
                                    .deadline = {.expired = connection_end, .owner = connection},
                                    .head = STRBUF_INIT,
                                    .next = listener->connections};
    listener->connections = connection;
    listener->acceptor.n_open++;
    event_loop_timer_set(listener->loop, &connection->deadline, CONNECTED_WITHIN_MS);
    if (event_loop_add(listener->loop, &connection->client, EPOLLIN, &err) == 0)
        return;
    log_warning("preview.epoll_failed", LOG_ERROR(&err));
    connection_end(connection);
}

int preview_listener_open(struct event_loop *loop, int fd, struct preview_listener **listener_out,
                          struct error *err)
{
    struct preview_listener *listener = NEW(struct preview_listener);

    *listener = (struct preview_listener){.loop = loop,
                                          .acceptor = {.source = {.fd = fd},
                                                       .accepted = on_accepted,
                                                       .owner = listener,
                                                       .n_max = MAX_PREVIEW_CONNECTIONS}};
    if (connection_acceptor_start(&listener->acceptor, loop, err) < 0) {
        preview_listener_close(listener);
        return -1;
    }
    *listener_out = listener;
    return 0;
}

void preview_listener_close(struct preview_listener *listener)
{
    if (listener == NULL)
        return;
    while (listener->connections != NULL)
        connection_end(listener->connections);
    connection_acceptor_done(&listener->acceptor);
    mem_free(listener);
}
