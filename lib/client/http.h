/*
 * Outbound HTTP: one transport per process, a libcurl multi handle on its own thread. Calls can be
 * made from any thread; they have deadlines and can be cancelled. Small buffers; HTTP/2 where the
 * server offers it.
 * A thread that makes many plain calls (no TLS, numeric address) and waits for each may use direct
 * connections: its calls then run on that thread, without libcurl.
 *
 * Ownership: the caller owns an http_call until http_call_free(), which cancels it if it is still
 * running.
 * Threading: one thread per call; the transport is shared.
 * Safety: no redirects, no proxies, only http and https; who supplied the address decides what a
 * call may reach (address_filter.h); replies over max_reply_bytes are cut off.
 */
#ifndef DEFT_CLIENT_HTTP_H
#define DEFT_CLIENT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "client/address_filter.h"

struct error;
struct http;
struct http_call;
struct direct_connections;
struct secret;

/* Starts the transport, which trusts the system's certificate authorities. */
int http_open(struct http **http_out, struct error *err) NONNULL MUST_CHECK;
/* As http_open(). ca_file: PEM file of the only authorities to trust; NULL: the system's. */
int http_open_trusting(const char *ca_file, struct http **http_out, struct error *err)
    __attribute__((nonnull(2, 3))) MUST_CHECK;
/*
 * For an instance that only the host's administrator can reach: users' addresses may be private
 * like the administrator's. To be called before the first call.
 */
void http_trust_users(struct http *http) NONNULL;
/* Whether calls to addresses from that source may reach private networks. */
bool http_reaches_private(const struct http *http, enum address_owner owner) NONNULL MUST_CHECK;
/* Ends calls that still run with ERROR_CANCELLED; all calls must have been freed before. */
void http_free(struct http *http);

/*
 * For a process that is shutting down: ends all calls except direct ones with ERROR_CANCELLED, and
 * later ones as soon as they start. From any thread.
 */
void http_cancel_all(struct http *http) NONNULL;

struct http_header {
    const char *name;
    const char *value;
};

struct http_request {
    const char *method; /* GET, POST, PUT, DELETE */
    const char *url;
    const char *unix_socket;           /* NULL: over TCP */
    struct direct_connections *direct; /* the calling thread's, for plain calls; NULL: none */
    const struct http_header *headers; /* ends with a NULL name; NULL: none */
    const char *body;                  /* copied; NULL: none */
    /*
     * Instead of `body`, from mem_alloc(): the call takes it over, also if it cannot be started,
     * and frees it when libcurl has read it. If the connection then ends before the reply, libcurl
     * cannot repeat the request: see http_has_lost_body(). A direct call keeps it until its end.
     */
    char *given_body;
    size_t body_len;
    const char *content_type;      /* NULL: application/json when there is a body */
    int64_t timeout_ms;            /* whole call; 0: none */
    int64_t idle_timeout_ms;       /* longest silence; 0: none */
    size_t max_reply_bytes;        /* 0: 8 MiB */
    enum address_owner address_of; /* who supplied the URL */
    bool stream;                   /* the reply is read with http_call_read() as it arrives */
    int done_fd; /* eventfd signaled when the call is over, for callers that poll; 0: none; not for
                    a direct call */
    /*
     * The server must prove that it has this key before any part of the request is sent to it (see
     * base/sandbox_key.h). Only for plain HTTP to a numeric IPv4 address. NULL or unset: no proof
     * required. Copied.
     */
    const struct secret *proof_key;
    bool own_connection; /* a new connection, not reused afterwards */
    bool send_stream;    /* the body comes from http_call_write(); body is NULL and body_len its
                            length, 0 if unknown */
};

/* Starts a call; returns at once. */
int http_start(struct http *http, const struct http_request *request, struct http_call **call_out,
               struct error *err) NONNULL MUST_CHECK;
/*
 * Waits for the end of the call. ERROR_TIMEOUT, ERROR_UNAVAILABLE (no connection, connection lost,
 * or no proof from the server: see http_is_unproven()), ERROR_CANCELLED, ERROR_TOO_LARGE,
 * ERROR_FORBIDDEN (address refused). Any HTTP status is success here.
 */
int http_wait(struct http_call *call, struct error *err) NONNULL MUST_CHECK;
/* Waits at most ms milliseconds. True if the call is over: http_wait() will not block. */
bool http_is_over_within(struct http_call *call, int64_t ms) NONNULL MUST_CHECK;
#define HTTP_WAIT_MAX 17
/*
 * An eventfd that ends the current or next http_wait_any() of the thread when another one adds to
 * it; -1 if there can be none. Lives as long as the connections.
 */
int http_wake_fd(struct direct_connections *direct) NONNULL MUST_CHECK;
/*
 * Waits at most ms milliseconds (0: takes what has arrived) until one of the calls is over, and
 * returns its index; n if none is, also after a wake-up. All were started by this thread with this
 * `direct`, whether or not they are direct calls; at most HTTP_WAIT_MAX, and no streams.
 */
size_t http_wait_any(struct direct_connections *direct, struct http_call *const *calls, size_t n,
                     int64_t ms) NONNULL MUST_CHECK;
/*
 * Returns the next bytes; *len_out = 0 at the end. Blocks until there are some or, without
 * `stream`, until the reply is complete. Borrowed until the next call.
 */
int http_call_read(struct http_call *call, const char **bytes_out, size_t *len_out,
                   struct error *err) NONNULL MUST_CHECK;
/*
 * For `send_stream`: sends the next bytes of the body, which are copied; len 0 ends the body.
 * Blocks while the connection is slower. Errors as http_wait(); an early reply is not an error.
 */
int http_call_write(struct http_call *call, const void *bytes, size_t len, struct error *err)
    __attribute__((nonnull(1, 4))) MUST_CHECK;
/*
 * As http_call_read(), but waits no longer than until clock_monotonic_ms() is until_ms: then
 * ERROR_TIMEOUT, and the call goes on.
 */
int http_call_read_until(struct http_call *call, int64_t until_ms, const char **bytes_out,
                         size_t *len_out, struct error *err) NONNULL MUST_CHECK;
/* Wakes a waiting thread with ERROR_CANCELLED; from any thread, at any time before free. */
void http_cancel(struct http_call *call) NONNULL;
void http_call_free(struct http_call *call);
void http_call_freep(struct http_call **call) NONNULL;
/*
 * Frees the call when its caller has read enough of a stream. The rest is read and dropped for at
 * most half a second, so that the connection can be reused.
 */
void http_call_drain(struct http_call *call) NONNULL;

/*
 * Whether the call failed because no connection to the right server could be made: no part of the
 * request can have reached it.
 */
bool http_is_unreached(struct http_call *call) NONNULL MUST_CHECK;
/*
 * Whether the call failed only because its given_body was freed: a connection that had been used
 * before ended without a byte of a reply, and with the body libcurl would have sent the request
 * again. The caller may do so.
 */
bool http_has_lost_body(struct http_call *call) NONNULL MUST_CHECK;
/* Whether the call failed because the server at the address does not have proof_key. */
bool http_is_unproven(struct http_call *call) NONNULL MUST_CHECK;
/* The reply's status, or 0 before it; with `stream` known after the first http_call_read(). */
long http_status(const struct http_call *call) NONNULL MUST_CHECK;
/* The body so far; not for `stream`. Borrowed. */
const char *http_body(const struct http_call *call, size_t *len_out) NONNULL MUST_CHECK;
/* The first header of that name (any case), or NULL. Borrowed. */
const char *http_reply_header(const struct http_call *call, const char *name) NONNULL MUST_CHECK;
/* The delay from the reply's retry-after-ms, which servers of OpenAI's API send, or Retry-After
 * (seconds or a date); -1 without one. RFC 9110, 10.2.3. */
int64_t http_retry_after_ms(const struct http_call *call) NONNULL MUST_CHECK;

#endif
