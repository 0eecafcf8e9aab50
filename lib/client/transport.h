/*
 * Inside of lib/client: the thread that drives libcurl, and what it shares with the calls.
 *
 * A call is used by two sides: its caller's thread, and the transport's while the call `is_held`.
 * The caller never touches the easy handle after http_start(); it leaves a command in the inbox and
 * wakes the thread. The last of the two sides frees the call.
 * Lock order: a call's lock and the transport's lock are never held together.
 */
#ifndef DEFT_CLIENT_TRANSPORT_H
#define DEFT_CLIENT_TRANSPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <curl/curl.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/strbuf.h"

/* What a call asks the thread to do; several may wait at once. */
enum transport_command {
    TRANSPORT_BEGIN = 1U << 0U,
    TRANSPORT_RESUME = 1U << 1U, /* the reader or the writer has made room */
    TRANSPORT_DRAIN = 1U << 2U,  /* nobody reads any more: what is left has little time */
    TRANSPORT_DROP = 1U << 3U,
};

struct http {
    char *ca_file; /* NULL: the system's */
    int epoll_fd;
    int wake_fd;
    pthread_t thread;
    struct lock lock; /* guards inbox, is_stopping, and the fields of calls that say so */
    struct http_call *inbox;
    bool is_stopping;
    /* the thread's own */
    CURLM *multi;
    struct http_call *running; /* linked by prev and next */
    int64_t timer_ms;          /* when libcurl wants to be called; TRANSPORT_NEVER */
    int64_t expiry_ms;         /* no call is due before; TRANSPORT_NEVER */
};

#define TRANSPORT_NEVER INT64_MAX

struct http_call {
    struct http *http;
    CURL *easy;
    struct curl_slist *headers;
    char *request_body;
    size_t request_body_len;
    int64_t idle_timeout_ms;
    size_t max_reply_bytes;
    bool allow_private;
    bool is_stream;
    bool is_unix;
    bool sends_stream;

    /* guarded by http->lock */
    unsigned commands; /* not 0 while in the inbox */
    struct http_call *next_in_inbox;
    bool is_held;
    bool is_freed;

    /* the transport thread's own */
    struct http_call *prev;
    struct http_call *next;
    bool is_running;
    bool is_refused; /* the guard said no */
    bool is_too_large;
    bool is_late;
    int64_t deadline_ms; /* TRANSPORT_NEVER: none */
    int64_t active_ms;   /* when a byte last moved */
    curl_off_t n_moved;  /* bytes sent, as seen at the last look */
    size_t n_received;
    char why[CURL_ERROR_SIZE];

    struct lock lock; /* guards the rest, but for `reading`; never held over I/O */
    struct condition changed;
    bool is_over;
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

/* Bytes that wait for a slow reader or a slow wire before the other side is stopped. */
#define TRANSPORT_WINDOW_BYTES ((size_t)(128 * 1024))

/* Starts the thread. */
int transport_start(struct http *http, struct error *err) NONNULL MUST_CHECK;
/* Ends the thread and all its calls. */
void transport_stop(struct http *http) NONNULL;
/* Asks the thread to do something for a call; nothing when it does not hold the call any more. */
void transport_command(struct http_call *call, unsigned commands) NONNULL;
/*
 * The caller is done with the call, and leaves a last command: true when the thread still holds it,
 * and will free it.
 */
bool transport_abandon(struct http_call *call, unsigned last_command) NONNULL MUST_CHECK;
/* Releases a call that nobody uses. */
void http_call_destroy(struct http_call *call) NONNULL;
/* Wipes and releases a header list: it may hold a key. */
void http_headers_free(struct curl_slist *headers);

/* Sets up call->easy for the request's parts that are in the call already (http_setup.c). */
struct http_request;
int http_setup(struct http_call *call, const struct http_request *request,
               struct error *err) NONNULL MUST_CHECK;

#endif
