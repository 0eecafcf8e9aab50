/*
 * The HTTP/1.1 server of deft-action: its listening sockets, and the connections from them.
 *
 * Ownership: struct http_server owns its sockets and connections.
 * Threading: one thread.
 * Decision: docs/decisions/0074-request-parser.md
 */
#ifndef DEFT_SANDBOX_HTTP_HTTP_SERVER_H
#define DEFT_SANDBOX_HTTP_HTTP_SERVER_H

#include "base/attr.h"

struct action_config;
struct action_server;
struct error;
struct event_loop;
struct http_route_table;
struct http_server;

/*
 * Listens and serves the routes of a table that outlives it. ERROR_UNAVAILABLE when the address is
 * in use.
 */
int http_server_new(struct action_server *server, struct event_loop *loop,
                    const struct action_config *config, const struct http_route_table *routes,
                    struct http_server **http_out, struct error *err) NONNULL MUST_CHECK;
void http_server_free(struct http_server *http);
int http_server_port(const struct http_server *http) NONNULL MUST_CHECK;
/* Serves until the loop is stopped. */
void http_server_run(struct http_server *http) NONNULL;

#endif
