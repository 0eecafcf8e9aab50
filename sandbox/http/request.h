/*
 * A request to deft-action, and its reply.
 *
 * A request is passed to its route's handler once its body is complete (for a streaming route:
 * before), and lives until its reply is written or its client has disconnected. A handler answers
 * at once, or keeps the request, sets `dropped`, and answers later.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_HTTP_REQUEST_H
#define DEFT_SANDBOX_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "sandbox/http/chunked.h"

struct http_connection;
struct route;
struct server;

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_DELETE, HTTP_OTHER };

enum { REQUEST_MAX_PARAMS = 1, REQUEST_MAX_QUERY = 16 };

/* Receives the body of a streaming route as it arrives. */
struct request_sink {
    void *state;
    int (*take)(void *state, const char *bytes, size_t len, struct error *err);
    void (*free)(void *state);
};

struct request_pair {
    char *name;
    char *value;
};

struct request {
    struct server *server;
    struct http_connection *connection;
    const struct route *route;
    enum http_method method;
    char *path;
    char *param; /* the {…} of the route */
    struct request_pair query[REQUEST_MAX_QUERY];
    size_t n_query;
    struct strbuf body;
    struct request_sink sink;
    int64_t content_length; /* -1: not given */
    int64_t received;
    bool is_chunked; /* chunked: the body's length is not known before its end */
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
    size_t sent;
};

/* Appends the local address of the connection, "10.1.2.3:8000"; nothing unless it is IPv4. */
void request_append_address(const struct request *request, struct strbuf *out) NONNULL;
/* A request header by its lower-case name; NULL when absent. The caller frees. */
char *request_header(const struct request *request, const char *name) NONNULL MUST_CHECK;
/* A decoded query parameter, or NULL. Lives as long as the request. */
const char *request_query(const struct request *request, const char *name) NONNULL MUST_CHECK;
/* Adds a reply header; call it before the answer. */
void request_add_header(struct request *request, const char *name, const char *value) NONNULL;

/* Each of these answers the request, which must not be used afterwards. */
void request_answer_json(struct request *request, int status, const json_t *json) NONNULL;
void request_answer_text(struct request *request, int status, const char *content_type,
                         const char *text, size_t len) NONNULL;
/* Bytes at..end of an open file, which the request then owns. content_type must be a constant. */
struct request_file {
    int fd;
    int64_t at;
    int64_t end;
    const char *content_type;
};
void request_answer_file(struct request *request, int status,
                         const struct request_file *file) NONNULL;
/* The HTTP status of an error's code; 500 for internal ones. */
int request_status_of(enum error_code code) MUST_CHECK;
/* {"detail": message} with the status of the error's code. */
void request_answer_error(struct request *request, const struct error *err) NONNULL;
void request_answer_detail(struct request *request, int status, const char *detail) NONNULL;

#endif
