/*
 * The WebSocket server: libwebsockets' callbacks, and its event loop, which is the process's.
 *
 * Threading: everything in gateway/ runs on the thread of ws_server_run(), and nothing there
 * blocks.
 */
#ifndef DEFT_GATEWAY_WS_WS_SERVER_H
#define DEFT_GATEWAY_WS_WS_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "gateway/core/connection.h"

struct error;
struct lws_context;
struct ws_services;

/* The loop's other descriptors, which are not client sockets; -1: none. */
struct ws_server_sources {
    const int *fds;
    size_t n;
    /* One of them is readable. */
    void (*pump)(void *owner);
    void *owner;
};

struct ws_server {
    struct lws_context *lws;
    const struct ws_services *services;
    struct connection_queue waiting; /* for a turn to write */
    const struct ws_server_sources *sources;
    int watch_fd; /* epoll of the sources; owned by lws once adopted */
    int stop_fd;
    bool is_stopping;
};

/*
 * Creates libwebsockets' context. It has no listening socket: the acceptor hands sockets over.
 * services: borrowed.
 */
int ws_server_open(struct ws_server *server, const struct ws_services *services,
                   struct error *err) NONNULL MUST_CHECK;
/* Serves until stop_fd (a signalfd) is readable. */
int ws_server_run(struct ws_server *server, const struct ws_server_sources *sources, int stop_fd,
                  struct error *err) NONNULL MUST_CHECK;
/* Accepts one that was never opened. */
void ws_server_close(struct ws_server *server) NONNULL;

#endif
