/*
 * The HTTP/1.1 server of deft-action: its sockets and connections. Only http.c, http_reply.c and
 * request.c use libwebsockets.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_HTTP_HTTP_H
#define DEFT_SANDBOX_HTTP_HTTP_H

#include "base/attr.h"

struct config;
struct error;
struct http;
struct loop;
struct route_table;
struct server;

/*
 * Listens and serves the routes of a table that outlives it. ERROR_UNAVAILABLE when the address is
 * in use.
 */
int http_new(struct server *server, struct loop *loop, const struct config *config,
             const struct route_table *routes, struct http **http_out,
             struct error *err) NONNULL MUST_CHECK;
void http_free(struct http *http);
int http_port(const struct http *http) NONNULL MUST_CHECK;
/* Serves until the loop is told to stop. */
int http_run(struct http *http, struct error *err) NONNULL MUST_CHECK;

#endif
