/*
 * A reply: status, headers and body, sent when the handler has returned; or a stream, whose head is
 * sent first. web/reply_status.h maps error codes to HTTP statuses.
 *
 * Ownership: a reply owns its texts; `output` is borrowed.
 * Threading: a reply belongs to one thread.
 */
#ifndef DEFT_FCGI_CORE_REPLY_H
#define DEFT_FCGI_CORE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "web/transfer_rate.h"

struct error;
struct reply_output;
struct request;

struct reply {
    const struct reply_output *output;
    int status;
    const char *content_type;   /* NULL: no body */
    const char *content_policy; /* NULL: the reply may not run anything or be framed */
    struct strbuf headers;      /* whole lines */
    struct strbuf body;
    bool is_streaming;         /* the head has been sent */
    bool is_broken;            /* the client is gone, or slower than the minimum rate */
    int64_t n_bytes;           /* body bytes sent */
    struct transfer_rate rate; /* of the client reading the reply */
};

/* clang-format off */
#define REPLY_INIT {.status = 200, .headers = STRBUF_INIT, .body = STRBUF_INIT, \
                    .rate = {.grace_ms = TRANSFER_CLIENT_GRACE_MS}}
/* clang-format on */

void reply_done(struct reply *reply);

/* Adds a header line; control characters in the value are left out. */
void reply_header(struct reply *reply, const char *name, const char *value) NONNULL;

/* Each sets the reply and returns 0, so that a handler can end with it. */
int reply_json(struct reply *reply, int status, const json_t *json) NONNULL;
/* JSON made by PostgreSQL; moves the text out of *text. */
int reply_json_text(struct reply *reply, int status, struct strbuf *text) NONNULL;
/* 200 {"success":true} */
int reply_success(struct reply *reply) NONNULL;
int reply_text(struct reply *reply, int status, const char *text) NONNULL;
int reply_empty(struct reply *reply, int status) NONNULL;
/* {"detail": text} */
int reply_detail(struct reply *reply, int status, const char *text) NONNULL;
/* A deliberate 5xx: {"detail":"Internal Server Error","exception":"<status>: <reason>"} */
int reply_exception(struct reply *reply, int status, const char *reason) NONNULL;

/* Sets the reply for a failure, by its code, with the request's problems. Logs a 5xx. */
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
/* Sends what was written and is held back; the client gets it now. ERROR_CANCELLED. */
int reply_stream_flush(struct reply *reply, struct error *err) NONNULL MUST_CHECK;

/* Sends the rest of the reply. */
void reply_send(struct reply *reply) NONNULL;

#endif
