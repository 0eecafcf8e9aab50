/*
 * What http.c and request.c share: a connection and the request on it.
 */
#ifndef DEFT_SANDBOX_HTTP_CONNECTION_H
#define DEFT_SANDBOX_HTTP_CONNECTION_H

#include "base/attr.h"
#include "sandbox/loop.h"

struct http;
struct lws;
struct request;
struct server;

enum { WRITE_WITHIN_MS = 120000 };

struct http_connection {
    struct http *http;
    struct server *server;
    struct lws *wsi;
    struct request *request; /* NULL between requests */
    struct loop_timer deadline;
};

/* The request whose headers have just been read. path: decoded, without the query. */
struct request *request_new(struct http_connection *connection,
                            const char *path) NONNULL MUST_CHECK;
void request_free(struct request *request);

#endif
