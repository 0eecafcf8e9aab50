/*
 * Internal to lib/client: a call, and the state that its two possible drivers share.
 *
 * A call is driven by the transport's thread (transport.h) or, if it is direct, by its caller's
 * thread while that waits (direct_connections.h). Below, "the driver" means either.
 * Lock order: a call's lock and the transport's lock are never held together.
 */
#ifndef DEFT_CLIENT_HTTP_CALL_H
#define DEFT_CLIENT_HTTP_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <curl/curl.h>
#include <netinet/in.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "client/proof.h"

struct http;
struct direct_connections;
struct http_request;
struct direct_connection;

/* No deadline. */
#define HTTP_NEVER INT64_MAX
/* Bytes buffered for a slow reader or a slow connection before the other side is paused. */
#define HTTP_WINDOW_BYTES ((size_t)(128 * 1024))
/* libcurl's buffer for bytes to send. */
#define HTTP_SEND_BUFFER_BYTES 16384L
/* Time to read the rest of a reply that its caller no longer wants. */
#define HTTP_DRAIN_MS 500

struct http_call {
    struct http *http;
    struct direct_connections *direct; /* drives the call; NULL: the transport's thread does */
    CURL *easy;                        /* NULL for a direct call */
    struct curl_slist *headers;
    char *request_body; /* NULL also when the driver has freed a given one */
    size_t request_body_len;
    bool is_body_given; /* may be freed when libcurl has read it; not for a direct call */
    int64_t idle_timeout_ms;
    size_t max_reply_bytes;
    bool allow_private;
    bool is_stream;
    bool is_unix;
    bool sends_stream;
    struct secret proof_key; /* unset: the server need not prove its identity */

    /* guarded by http->lock; not used for a direct call */
    unsigned commands; /* nonzero while in the inbox */
    struct http_call *next_in_inbox;
    bool is_held;
    bool is_freed;

    /* used by the driver only */
    LIST_ENTRY(http_call) running; /* in the transport's list */
    bool is_running;
    bool is_refused; /* address refused by the filter */
    bool is_too_large;
    bool is_late;
    long refused_status; /* a status that is not valid in a reply, or 0 */
    size_t n_interim;    /* 1xx replies before the final one */
    struct proof *proof; /* still due from the server; NULL: done or not required */
    int proof_fd;        /* connection used for the proof; -1: none; not for a direct call */
    struct sockaddr_in proof_address; /* where the proof is requested; not for a direct call */
    int64_t deadline_ms;              /* HTTP_NEVER: none */
    int64_t active_ms;                /* last time a byte moved */
    curl_off_t n_moved;               /* bytes sent, as of the last check */
    size_t n_received;
    size_t n_given;                     /* bytes of a given body that libcurl has read */
    LIST_ENTRY(http_call) sending_rest; /* in the transport's list, if is_sending_rest */
    bool is_sending_rest;               /* libcurl has the last of a given body in its buffer */
    char why[CURL_ERROR_SIZE];

    /* used by the caller's thread only, for a direct call */
    struct direct_connection *connection; /* NULL: the call is not running */
    struct strbuf head;                   /* of the request */
    size_t n_written;                     /* of head and body */
    int64_t connect_until_ms;             /* HTTP_NEVER: connected */

    struct lock lock; /* guards the fields below except `reading`; never held over blocking I/O */
    struct condition changed;
    bool is_over;
    int done_fd; /* 0: none; its owner may close it once the call is freed */
    bool is_unreached;
    bool is_unproven;
    bool has_lost_body;
    struct error error; /* code NONE: success */
    long status;
    struct strbuf reply_headers;
    struct strbuf body;    /* the whole body, or the unread part of a stream */
    struct strbuf sending; /* unsent part of a streamed body */
    bool is_draining;      /* received bytes are dropped */
    bool is_sending_over;
    bool is_receiving_paused;
    bool is_sending_paused;
    struct strbuf reading; /* the caller's: the last result of http_call_read() */
};

/* Releases a call that neither side uses any more. */
void http_call_destroy(struct http_call *call) NONNULL;
/* Wipes and releases a header list, which may contain a key. */
void http_headers_free(struct curl_slist *headers);

/* Advances call->proof. PROOF_HOLDS releases it; PROOF_LOST and PROOF_FAILS set call->why. */
enum proof_state http_call_prove(struct http_call *call, int fd) NONNULL MUST_CHECK;
/* When the call times out unless bytes move before; HTTP_NEVER: it does not. */
int64_t http_call_expiry_ms(const struct http_call *call) NONNULL MUST_CHECK;
/* True when the call has timed out; checks for sent bytes first. */
bool http_call_is_overdue(struct http_call *call, int64_t now_ms) NONNULL MUST_CHECK;
/*
 * Takes a line of a reply's head, with or without its line end. Keeps the lines of the final reply
 * (1xx replies come before it) and ignores trailers. Returns false if the head is too large or the
 * status is not valid in a reply.
 */
bool http_call_take_line(struct http_call *call, long status, const char *line,
                         size_t len) NONNULL MUST_CHECK;
enum http_take { HTTP_TAKE_ALL, HTTP_TAKE_LATER, HTTP_TAKE_NEVER };
/* Takes bytes of a reply's body. LATER: the reader must make room first. */
enum http_take http_call_take_bytes(struct http_call *call, const char *bytes,
                                    size_t len) NONNULL MUST_CHECK;
/* Publishes the call's outcome to its caller, from `result` and the call's own flags. */
void http_call_publish(struct http_call *call, CURLcode result) NONNULL;

/* Signals the call's done_fd, if it has one. */
void http_call_signal_locked(struct http_call *call) NONNULL REQUIRES(call -> lock);

/* True for text without control characters, which can be sent unescaped. */
bool http_text_is_clean(const char *text) NONNULL MUST_CHECK;
bool http_header_is_clean(const char *name, const char *value) NONNULL MUST_CHECK;

/* Configures call->easy, a fresh handle, for the request (http_setup.c). */
int http_setup(struct http_call *call, const struct http_request *request,
               struct error *err) NONNULL MUST_CHECK;

#endif
