#include "sandbox/http/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/connection_acceptor.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/http/http_connection.h"
#include "sandbox/http/listen_socket.h"

struct http_server {
    struct http_context context;
    const struct action_config *config;
    struct http_listener outer;
    struct http_listener
        inner; /* of programs in this sandbox, where `outer` is of another network */
};

static void on_accepted(void *owner, int fd)
{
    struct http_listener *listener = owner;
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    http_connection_open(listener, fd);
}

static void init_listener(struct http_server *http, struct http_listener *listener)
{
    listener->http = &http->context;
    listener->acceptor = (struct connection_acceptor){
        .source = {.fd = -1}, .accepted = on_accepted, .owner = listener, .n_max = MAX_CONNECTIONS};
}

static int open_listeners(struct http_server *http, struct error *err)
{
    const struct action_config *config = http->config;
    int *outer = &http->outer.acceptor.source.fd;

    if (config->socket == 0)
        return listen_socket_open(config, outer, err);
    if (listen_socket_inherit(config->socket, outer, err) < 0)
        return error_wrap(err, "DEFT_ACTION_SOCKET");
    return text_equal(config->bind, "none")
               ? 0
               : listen_socket_open(config, &http->inner.acceptor.source.fd, err);
}

static int start_listener(struct http_server *http, struct http_listener *listener,
                          struct error *err)
{
    if (listener->acceptor.source.fd < 0)
        return 0;
    return connection_acceptor_start(&listener->acceptor, http->context.loop, err);
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
    init_listener(http, &http->outer);
    init_listener(http, &http->inner);
    if (open_listeners(http, err) < 0 || start_listener(http, &http->outer, err) < 0 ||
        start_listener(http, &http->inner, err) < 0) {
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
    connection_acceptor_done(&http->outer.acceptor);
    connection_acceptor_done(&http->inner.acceptor);
    mem_free(http);
}

int http_server_port(const struct http_server *http)
{
    return listen_socket_port(http->outer.acceptor.source.fd);
}

void http_server_run(struct http_server *http)
{
    while (!event_loop_stop_requested(http->context.loop))
        event_loop_dispatch(http->context.loop);
}
