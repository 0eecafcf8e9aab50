/*
 * A reply: status, headers and body, sent when the handler has returned; or a stream, whose head
 * goes out first. The one place that knows which HTTP status an error code has.
 *
 * Ownership: a reply owns its texts; `output` is borrowed.
 * Threading: a reply belongs to one thread.
 */
#ifndef DEFT_FCGI_REPLY_H
#define DEFT_FCGI_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "fcgi/pace.h"

struct error;
struct request;

/* Where a reply goes: FastCGI, or a test. */
struct reply_output {
    /* Writes all of len bytes; -1 when the other side is gone. */
    int (*write)(void *stream, const char *bytes, int len);
    void *stream;
};

struct reply {
    const struct reply_output *output;
    int status;
    const char *content_type;   /* NULL: no body */
    const char *content_policy; /* NULL: nothing of the answer may run or be framed */
    struct strbuf headers;      /* whole lines */
    struct strbuf body;
    bool is_streaming; /* the head is out */
    bool is_broken;    /* the client is gone, or slower than the least rate */
    int64_t n_bytes;   /* of body sent */
    struct pace pace;  /* of the client, as it takes the answer */
};

/* clang-format off */
#define REPLY_INIT {.status = 200, .headers = STRBUF_INIT, .body = STRBUF_INIT, \
                    .pace = {.grace_ms = PACE_CLIENT_GRACE_MS}}
/* clang-format on */

void reply_done(struct reply *reply);

/* Adds a header line; control characters in the value are left out. */
void reply_header(struct reply *reply, const char *name, const char *value) NONNULL;

/* Each sets the answer and returns 0, so that a handler ends with it. */
int reply_json(struct reply *reply, int status, const json_t *json) NONNULL;
/* JSON that PostgreSQL made; moves the text out of *text. */
int reply_json_text(struct reply *reply, int status, struct strbuf *text) NONNULL;
/* 200 {"success":true} */
int reply_success(struct reply *reply) NONNULL;
int reply_text(struct reply *reply, int status, const char *text) NONNULL;
int reply_empty(struct reply *reply, int status) NONNULL;
/* {"detail": text} */
int reply_detail(struct reply *reply, int status, const char *text) NONNULL;
/* A deliberate 5xx: {"detail":"Internal Server Error","exception":"<status>: <reason>"} */
int reply_exception(struct reply *reply, int status, const char *reason) NONNULL;

/* The answer to a failure, by its code. Takes the request's problems into account; logs a 5xx. */
void reply_error(struct reply *reply, const struct request *request,
                 const struct error *err) NONNULL;

/*
 * Sends status and headers; the body follows with reply_stream_write(). ERROR_CANCELLED when the
 * client is gone; ERROR_INTERNAL for a status below 200 or above 599.
 */
int reply_stream_begin(struct reply *reply, int status, const char *content_type,
                       struct error *err) NONNULL MUST_CHECK;
int reply_stream_write(struct reply *reply, const char *bytes, size_t len,
                       struct error *err) NONNULL MUST_CHECK;

/* Sends what is not yet sent. */
void reply_send(struct reply *reply) NONNULL;

/* The words of a status, such as "Not Found". Lives for ever. */
const char *reply_phrase(int status) MUST_CHECK;

#endif
