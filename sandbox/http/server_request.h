/*
 * A request to deft-action, and its reply.
 *
 * A request is passed to its route's handler once its body is complete (for a streaming route:
 * before), and lives until its reply is written or its client has disconnected. A handler answers
 * at once, or keeps the request, sets `dropped`, and answers later.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_HTTP_SERVER_REQUEST_H
#define DEFT_SANDBOX_HTTP_SERVER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/codec/chunked.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "sandbox/http/http_head.h"

struct action_server;
struct http_connection;
struct http_route;

enum { REQUEST_MAX_PARAMS = 1, REQUEST_MAX_QUERY = 16 };

/* Receives the body of a streaming route as it arrives. */
struct server_request_sink {
    void *state;
    int (*take)(void *state, const char *bytes, size_t len, struct error *err);
    void (*free)(void *state);
};

struct server_request_pair {
    char *name;
    char *value;
};

struct server_request {
    struct action_server *server;
    struct http_connection *connection;
    void (*answered)(struct http_connection *connection); /* the reply can be sent */
    int socket;                                           /* the connection's; borrowed */
    const struct http_head *head;                         /* borrowed */
    const struct http_route *route; /* NULL where the head is not that of a request */
    enum request_method method;
    char *path;
    char *param; /* the {…} of the route */
    struct server_request_pair query[REQUEST_MAX_QUERY];
    size_t n_query;
    struct strbuf body;
    struct server_request_sink sink;
    int64_t content_length; /* -1: not given */
    int64_t received;
    bool is_chunked;      /* chunked: the body's length is not known before its end */
    bool is_body_refused; /* the client may never send it: the reply does not wait for it */
    struct chunked chunks;

    /* Called when the client disconnects before the answer; the owner must drop the request. */
    void (*dropped)(void *owner);
    void *owner;

    /* the reply */
    bool is_answered;
    int status;
    const char *content_type;
    struct strbuf headers; /* name\0value\0… */
    struct strbuf reply;
    int file_fd; /* -1, or the file that is the body */
    int64_t file_at;
    int64_t file_end;
    bool head_sent;
    bool is_last; /* the head has announced that the connection ends */
    size_t sent;
};

/* Appends the local address of the connection, "10.1.2.3:8000"; nothing unless it is IPv4. */
void server_request_append_address(const struct server_request *request,
                                   struct strbuf *out) NONNULL;
/* A request header by its lower-case name; NULL when absent. The caller frees. */
char *server_request_header(const struct server_request *request,
                            const char *name) NONNULL MUST_CHECK;
/* A decoded query parameter, or NULL. Lives as long as the request. */
const char *server_request_query(const struct server_request *request,
                                 const char *name) NONNULL MUST_CHECK;
/* Adds a reply header; call it before the answer. */
void server_request_add_header(struct server_request *request, const char *name,
                               const char *value) NONNULL;

/* Each of these answers the request, which must not be used afterwards. */
void server_request_answer_json(struct server_request *request, int status,
                                const json_t *json) NONNULL;
void server_request_answer_text(struct server_request *request, int status,
                                const char *content_type, const char *text, size_t len) NONNULL;
/* Bytes at..end of an open file, which the request then owns. content_type must be a constant. */
struct server_request_file {
    int fd;
    int64_t at;
    int64_t end;
    const char *content_type;
};
void server_request_answer_file(struct server_request *request, int status,
                                const struct server_request_file *file) NONNULL;
/* The HTTP status of an error's code; 500 for internal ones. */
int server_request_status_of(enum error_code code) MUST_CHECK;
/* {"detail": message} with the status of the error's code. */
void server_request_answer_error(struct server_request *request, const struct error *err) NONNULL;
void server_request_answer_detail(struct server_request *request, int status,
                                  const char *detail) NONNULL;

/* --- for its connection --- */

/* The caller keeps the head until the request is freed, and sets `answered` and `socket`. */
struct server_request *server_request_new(struct action_server *server,
                                          const struct http_head *head) NONNULL MUST_CHECK;
void server_request_free(struct server_request *request);
/* Reads a piece of the body; returns how many of the bytes belong to it. */
size_t server_request_read_body(struct server_request *request, const char *bytes,
                                size_t len) NONNULL MUST_CHECK;
/* Frees the body's sink (request->sink) and any file that it has not committed. */
void server_request_end_arrival(struct server_request *request) NONNULL;
bool server_request_has_body(const struct server_request *request) NONNULL MUST_CHECK;
/* True when the client waits for 100 (Continue) before it sends the body (RFC 9110, 10.1.1). */
bool server_request_awaits_continue(const struct server_request *request) NONNULL MUST_CHECK;
/* True when its body has been read completely. */
bool server_request_is_read(const struct server_request *request) NONNULL MUST_CHECK;
/* True when the connection can be used for another request after the reply. */
bool server_request_goes_on(const struct server_request *request) NONNULL MUST_CHECK;

#endif
