#include "sandbox/http/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/http/http_connection.h"
#include "sandbox/http/listen_socket.h"

enum { ACCEPTS_AT_ONCE = 32 };

/* A listening socket. */
struct listen_source {
    struct event_loop_source source;
    struct http_context *context;
};

struct http_server {
    struct http_context context;
    const struct action_config *config;
    struct listen_source outer;
    struct listen_source
        inner; /* for programs in this sandbox, where the outer one is of another network */
};

static void adopt(struct http_context *context, int fd)
{
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (context->n_connections < MAX_CONNECTIONS)
        http_connection_open(context, fd);
    else
        (void)close(fd);
}

static void on_connect(void *owner, uint32_t events)
{
    const struct listen_source *listener = owner;

    (void)events;
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = accept4(listener->source.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0)
            return;
        adopt(listener->context, fd);
    }
}

static int open_listeners(struct http_server *http, struct error *err)
{
    const struct action_config *config = http->config;

    http->outer = (struct listen_source){{-1, on_connect, &http->outer}, &http->context};
    http->inner = (struct listen_source){{-1, on_connect, &http->inner}, &http->context};
    if (config->socket == 0)
        return listen_socket_open(config, &http->outer.source.fd, err);
    if (listen_socket_inherit(config->socket, &http->outer.source.fd, err) < 0)
        return error_wrap(err, "DEFT_ACTION_SOCKET");
    return text_equal(config->bind, "none")
               ? 0
               : listen_socket_open(config, &http->inner.source.fd, err);
}

static int watch_listener(struct http_server *http, struct listen_source *listener,
                          struct error *err)
{
    if (listener->source.fd < 0)
        return 0;
    return event_loop_add(http->context.loop, &listener->source, EPOLLIN, err);
}

int http_server_new(struct action_server *server, struct event_loop *loop,
                    const struct action_config *config, const struct http_route_table *routes,
                    struct http_server **http_out, struct error *err)
{
    struct http_server *http = NEW(struct http_server);

    http->context.server = server;
    http->context.loop = loop;
    http->context.routes = routes;
    LIST_INIT(&http->context.connections);
    http->config = config;
    if (open_listeners(http, err) < 0 || watch_listener(http, &http->outer, err) < 0 ||
        watch_listener(http, &http->inner, err) < 0) {
        http_server_free(http);
        return -1;
    }
    *http_out = http;
    return 0;
}

void http_server_free(struct http_server *http)
{
    if (http == NULL)
        return;
    while (!LIST_EMPTY(&http->context.connections))
        http_connection_close(LIST_FIRST(&http->context.connections));
    event_loop_remove(http->context.loop, &http->outer.source);
    event_loop_remove(http->context.loop, &http->inner.source);
    fd_close(&http->outer.source.fd);
    fd_close(&http->inner.source.fd);
    mem_free(http);
}

int http_server_port(const struct http_server *http)
{
    return listen_socket_port(http->outer.source.fd);
}

void http_server_run(struct http_server *http)
{
    while (!event_loop_stop_requested(http->context.loop))
        event_loop_dispatch(http->context.loop);
}
