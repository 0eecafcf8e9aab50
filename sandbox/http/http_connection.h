/*
 * Shared by http.c, http_reply.c and request.c: a connection and the request on it.
 */
#ifndef DEFT_SANDBOX_HTTP_HTTP_CONNECTION_H
#define DEFT_SANDBOX_HTTP_HTTP_CONNECTION_H

#include <stdbool.h>

#include "base/attr.h"
#include "sandbox/core/loop.h"

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

/* Creates a request once its headers are read. path: decoded, without the query. */
struct request *request_new(struct http_connection *connection,
                            const char *path) NONNULL MUST_CHECK;
void request_free(struct request *request);

/* Frees the body's sink (request->sink) and any file that it has not committed. */
void request_end_arrival(struct request *request) NONNULL;
bool request_has_body(const struct request *request) NONNULL MUST_CHECK;
/* True when its body has been read completely. */
bool request_is_read(const struct request *request) NONNULL MUST_CHECK;

/*
 * Writes a piece of the answer, if it is ready to be sent, and asks to be called again for the
 * next. -1 when the connection must be closed.
 */
int http_reply_write(struct http_connection *connection) NONNULL MUST_CHECK;

#endif
