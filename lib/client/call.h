/*
 * Inside of lib/client: a call, and what its two possible drivers have in common.
 *
 * A call is moved on by the transport's thread (transport.h), or, where it has a lane, by its
 * caller's thread while that waits (lane.h). What follows says "the driver" for either.
 * Lock order: a call's lock and the transport's lock are never held together.
 */
#ifndef DEFT_CLIENT_CALL_H
#define DEFT_CLIENT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <curl/curl.h>
#include <netinet/in.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "client/proof.h"

struct http;
struct http_lane;
struct http_request;
struct lane_connection;

/* Time that never comes. */
#define HTTP_NEVER INT64_MAX
/* Bytes that wait for a slow reader or a slow wire before the other side is stopped. */
#define HTTP_WINDOW_BYTES ((size_t)(128 * 1024))
/* What is left of an answer that nobody reads any more has this long to come. */
#define HTTP_DRAIN_MS 500

struct http_call {
    struct http *http;
    struct http_lane *lane; /* drives it; NULL: the transport's thread does */
    CURL *easy;             /* NULL with a lane */
    struct curl_slist *headers;
    char *request_body;
    size_t request_body_len;
    int64_t idle_timeout_ms;
    size_t max_reply_bytes;
    bool allow_private;
    bool is_stream;
    bool is_unix;
    bool sends_stream;
    int done_fd;             /* 0: none */
    struct secret proof_key; /* unset: the server need not prove itself */

    /* guarded by http->lock; not used with a lane */
    unsigned commands; /* not 0 while in the inbox */
    struct http_call *next_in_inbox;
    bool is_held;
    bool is_freed;

    /* the driver's own */
    struct http_call *prev;
    struct http_call *next;
    bool is_running;
    bool is_refused; /* the guard said no */
    bool is_too_large;
    bool is_late;
    long refused_status; /* the one that no answer may have, or 0 */
    size_t n_interim;    /* 1xx answers before the answer */
    struct proof *proof; /* that the server still has to give; NULL: it has, or need not */
    int proof_fd;        /* the connection on which it does; -1: none; not with a lane */
    struct sockaddr_in proof_address; /* the same */
    int64_t deadline_ms;              /* TRANSPORT_NEVER: none */
    int64_t active_ms;                /* when a byte last moved */
    curl_off_t n_moved;               /* bytes sent, as seen at the last look */
    size_t n_received;
    char why[CURL_ERROR_SIZE];

    /* the caller's thread's own, with a lane */
    struct lane_connection *connection; /* NULL: the call does not run */
    struct strbuf head;                 /* of the request */
    size_t n_written;                   /* of head and body */
    int64_t connect_until_ms;           /* HTTP_NEVER: the connection is there */

    struct lock lock; /* guards the rest, but for `reading`; never held over I/O */
    struct condition changed;
    bool is_over;
    bool is_unreached;
    bool is_unproven;
    struct error error; /* code NONE: it went well */
    long status;
    struct strbuf reply_headers;
    struct strbuf body;    /* all of it, or what of a stream is not read yet */
    struct strbuf sending; /* what of a streamed body is not sent yet */
    bool is_draining;      /* bytes that come are dropped */
    bool is_sending_over;
    bool is_receiving_paused;
    bool is_sending_paused;
    struct strbuf reading; /* the caller's: what http_call_read() gave last */
};

/* Releases a call that nobody uses. */
void http_call_destroy(struct http_call *call) NONNULL;
/* Wipes and releases a header list: it may hold a key. */
void http_headers_free(struct curl_slist *headers);

/* Moves call->proof on; on PROOF_HOLDS it is over, on PROOF_LOST and PROOF_FAILS call->why says
 * why. */
enum proof_state http_call_prove(struct http_call *call, int fd) NONNULL MUST_CHECK;
/* The driver's list of calls that run. */
void http_call_link(struct http_call *call, struct http_call **list) NONNULL;
void http_call_unlink(struct http_call *call, struct http_call **list) NONNULL;
/* When the call's time is over, unless bytes move before; HTTP_NEVER. */
int64_t http_call_expiry_ms(const struct http_call *call) NONNULL MUST_CHECK;
/* True when the call's time is over; bytes on their way out are looked for first. */
bool http_call_is_overdue(struct http_call *call, int64_t now_ms) NONNULL MUST_CHECK;
/*
 * A line of an answer's head, with or without its end; those of the last answer are kept (1xx come
 * before it), and what follows the body is dropped. False when it is too much, or the status is
 * none that an answer may have.
 */
bool http_call_take_line(struct http_call *call, long status, const char *line,
                         size_t len) NONNULL MUST_CHECK;
enum http_take { HTTP_TAKE_ALL, HTTP_TAKE_LATER, HTTP_TAKE_NEVER };
/* Bytes of an answer's body; LATER: the reader must make room first. */
enum http_take http_call_take_bytes(struct http_call *call, const char *bytes,
                                    size_t len) NONNULL MUST_CHECK;
/* Tells the caller how the call ended: what `result` and the call's own marks say. */
void http_call_publish(struct http_call *call, CURLcode result) NONNULL;

/* True for what can be sent as it is: no control characters. */
bool http_text_is_clean(const char *text) NONNULL MUST_CHECK;
bool http_header_is_clean(const char *name, const char *value) NONNULL MUST_CHECK;

/* Sets up call->easy, a fresh handle, for the request (http_setup.c). */
int http_setup(struct http_call *call, const struct http_request *request,
               struct error *err) NONNULL MUST_CHECK;

#endif
