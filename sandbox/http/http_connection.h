/*
 * A connection to deft-action: reads requests one after another, and writes their replies.
 *
 * A slow client is disconnected: the head has a time limit, the body and the reply each have a
 * minimum rate.
 * Ownership: a connection owns its socket and its request. It frees itself at its end, or in
 * http_connection_close().
 * Threading: the loop's thread.
 */
#ifndef DEFT_SANDBOX_HTTP_HTTP_CONNECTION_H
#define DEFT_SANDBOX_HTTP_HTTP_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "sandbox/core/connection_acceptor.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/http/http_head.h"

struct action_server;
struct http_connection;
struct http_route_table;
struct server_request;

LIST_HEAD(http_connections, http_connection);

/* State shared by all connections of a server. */
struct http_context {
    struct action_server *server;
    struct event_loop *loop;
    const struct http_route_table *routes;
    struct http_connections connections;
};

/* A listening socket of the server; its limit of connections is its own. */
struct http_listener {
    struct http_context *http;
    struct connection_acceptor acceptor;
};

struct http_connection {
    struct http_context *http;
    struct http_listener *listener;
    struct event_loop_source source;
    struct event_loop_timer deadline;
    struct http_head head;          /* of the request, or the beginning of the next one's */
    struct strbuf input;            /* received, but not yet read */
    struct strbuf output;           /* the piece of the reply being sent, or 100 (Continue) */
    struct server_request *request; /* NULL between requests */
    int64_t transfer_begun_ms;      /* of the body or the reply */
    int64_t n_transferred;          /* bytes since then */
    bool is_at_end;                 /* the client sends nothing more */
    bool is_closing;                /* the reply is sent; waits for the client to close */
    LIST_ENTRY(http_connection) link;
};

/* Takes ownership of the accepted socket, which is non-blocking. */
void http_connection_open(struct http_listener *listener, int fd) NONNULL;
/* Drops a pending request. */
void http_connection_close(struct http_connection *connection) NONNULL;

#endif
