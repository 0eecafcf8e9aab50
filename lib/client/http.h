/*
 * Outbound HTTP: one transport per process, a libcurl multi handle on a thread of its own; calls
 * from any thread, waited for with a deadline and cancellable. Small buffers, HTTP/2 where offered.
 * A thread that makes many plain calls (no TLS, an address in numbers) and waits for each may have
 * a lane for them: they run on that thread, without libcurl.
 *
 * Ownership: the caller owns an http_call until http_call_free(), which cancels it if it still
 * runs. Threading: one thread per call; the transport is shared. Safety: no redirects, no proxies,
 * only http and https; what a call may reach follows from whose word named its address (guard.h);
 * the answer is cut off at max_reply_bytes.
 */
#ifndef DEFT_CLIENT_HTTP_H
#define DEFT_CLIENT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "client/guard.h"

struct error;
struct http;
struct http_call;
struct http_lane;
struct secret;

/* Starts the transport, which trusts the system's authorities. */
int http_open(struct http **http_out, struct error *err) NONNULL MUST_CHECK;
/* As http_open(); ca_file: PEM file of the authorities to trust instead of the system's, or NULL.
 */
int http_open_trusting(const char *ca_file, struct http **http_out, struct error *err)
    __attribute__((nonnull(2, 3))) MUST_CHECK;
/*
 * Before the first call, on an instance that nobody but the host's administrator reaches: users'
 * addresses may be private like the administrator's.
 */
void http_trust_users(struct http *http) NONNULL;
/* Whether calls to addresses of that owner may go to private ones. */
bool http_reaches_private(const struct http *http, enum address_owner owner) NONNULL MUST_CHECK;
/* Ends the calls that still run with ERROR_CANCELLED; all calls must have been freed before. */
void http_free(struct http *http);

/*
 * For a process that is told to stop: ends all calls without a lane with ERROR_CANCELLED, and those
 * that begin later at once. From any thread.
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
    struct http_lane *lane;            /* the calling thread's, for plain calls; NULL: none */
    const struct http_header *headers; /* ends with a NULL name; NULL: none */
    const char *body;                  /* copied; NULL: none */
    size_t body_len;
    const char *content_type;      /* NULL: application/json when there is a body */
    int64_t timeout_ms;            /* whole call; 0: none */
    int64_t idle_timeout_ms;       /* longest silence; 0: none */
    size_t max_reply_bytes;        /* 0: 8 MiB */
    enum address_owner address_of; /* whose word named the url */
    bool stream;                   /* bytes are taken with http_call_read() while they come */
    int done_fd;                   /* an eventfd that hears when the call is over, for who has
                                      other things to wait for; 0: none; not with a lane */
    /* The server must prove that it has this key before anything of the request is sent to it (see
     * base/sandbox_key.h): plain HTTP to an IPv4 address in numbers; NULL or unset: it need not.
     * Copied. */
    const struct secret *proof_key;
    bool own_connection; /* one that no call had before and none will have after */
    bool send_stream;    /* the body comes by http_call_write(); body is NULL, and
                            body_len its length, or 0 when it is not known */
};

/* Starts a call; returns at once. */
int http_start(struct http *http, const struct http_request *request, struct http_call **call_out,
               struct error *err) NONNULL MUST_CHECK;
/*
 * Waits for the end. ERROR_TIMEOUT, ERROR_UNAVAILABLE (no connection, cut off, or the server did
 * not prove itself: see http_is_unproven()), ERROR_CANCELLED,
 * ERROR_TOO_LARGE, ERROR_FORBIDDEN (address refused). Any HTTP status is success here.
 */
int http_wait(struct http_call *call, struct error *err) NONNULL MUST_CHECK;
/* Waits for ms milliseconds at most: true when the call is over, so that http_wait() will not wait.
 */
bool http_is_over_within(struct http_call *call, int64_t ms) NONNULL MUST_CHECK;
/*
 * Takes the next bytes; *len_out = 0 at the end. Waits for some, or without `stream` for the end of
 * the answer. Borrowed until the next call.
 */
int http_call_read(struct http_call *call, const char **bytes_out, size_t *len_out,
                   struct error *err) NONNULL MUST_CHECK;
/*
 * For `send_stream`: gives the next bytes of the body, which are copied; len 0 says that it is
 * over. Waits while the wire is slower. Fails as http_wait() does; an answer that came early is no
 * failure.
 */
int http_call_write(struct http_call *call, const void *bytes, size_t len, struct error *err)
    __attribute__((nonnull(1, 4))) MUST_CHECK;
/* Wakes a waiting thread with ERROR_CANCELLED; from any thread, at any time before free. */
void http_cancel(struct http_call *call) NONNULL;
void http_call_free(struct http_call *call);
void http_call_freep(struct http_call **call) NONNULL;
/*
 * Frees the call when its caller has all it wants of a stream: the rest is read and dropped for
 * half a second at most, so that the connection can be used again.
 */
void http_call_drain(struct http_call *call) NONNULL;

/* Whether the call has failed for want of a connection to a server that is the right one: nothing
 * of it can have reached one. */
bool http_is_unreached(struct http_call *call) NONNULL MUST_CHECK;
/* Whether it has failed because another server answered in place of the one that has the key. */
bool http_is_unproven(struct http_call *call) NONNULL MUST_CHECK;
/* The status of the answer, or 0 before it; for `stream` known after the first http_call_read(). */
long http_status(const struct http_call *call) NONNULL MUST_CHECK;
/* The body so far; not for `stream`. Borrowed. */
const char *http_body(const struct http_call *call, size_t *len_out) NONNULL MUST_CHECK;
/* The first header of that name (any case), or NULL. Borrowed. */
const char *http_reply_header(const struct http_call *call, const char *name) NONNULL MUST_CHECK;
/* What the answer's Retry-After (seconds or a date) asks for; -1 without one. RFC 9110, 10.2.3. */
int64_t http_retry_after_ms(const struct http_call *call) NONNULL MUST_CHECK;

#endif
