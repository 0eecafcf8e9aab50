/*
 * Internal to lib/client: the thread that drives libcurl for all calls that are not direct.
 *
 * Two sides use such a call: its caller's thread and, while the call `is_held`, the transport's.
 * The caller never touches the easy handle after http_start(); it puts a command into the inbox and
 * wakes the thread. The side that is done last frees the call.
 * Decision: docs/decisions/0008-http-transport.md
 *           docs/decisions/0071-linked-lists.md (running)
 */
#ifndef DEFT_CLIENT_TRANSPORT_H
#define DEFT_CLIENT_TRANSPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <curl/curl.h>

#include "base/attr.h"
#include "base/lock.h"

struct error;
struct http_call;

/* Commands from a call to the thread; several may be pending at once. */
enum transport_command {
    TRANSPORT_BEGIN = 1U << 0U,
    TRANSPORT_RESUME = 1U << 1U, /* the reader or the writer has made room */
    TRANSPORT_DRAIN = 1U << 2U,  /* no reader any more: HTTP_DRAIN_MS for the rest */
    TRANSPORT_DROP = 1U << 3U,
};

struct http {
    char *ca_file;          /* NULL: the system's */
    bool are_users_trusted; /* set before the first call */
    int epoll_fd;
    int wake_fd;
    pthread_t thread;
    struct lock lock; /* guards inbox, is_ending, is_stopping, and the fields of calls marked so */
    struct http_call *inbox;
    bool is_ending; /* all calls end */
    bool is_stopping;
    /* used by the thread only */
    CURLM *multi;
    LIST_HEAD(http_call_list, http_call) running;
    size_t n_running;
    bool frees_buffers; /* of libcurl, for sending */
    struct http_call_list sending_rest;
    int64_t timer_ms;  /* when libcurl wants to be called; HTTP_NEVER: not */
    int64_t expiry_ms; /* no call times out before; HTTP_NEVER */
};

/* Starts the thread. */
int transport_start(struct http *http, struct error *err) NONNULL MUST_CHECK;
/* Ends all calls, and later ones as soon as they start. */
void transport_cancel_all(struct http *http) NONNULL;
/* Ends the thread and all its calls. */
void transport_stop(struct http *http) NONNULL;
/*
 * Sets where the call's server has to prove its identity, before TRANSPORT_BEGIN. ERROR_UNAVAILABLE
 * if the URL has no numeric address.
 */
int transport_prepare_proof(struct http_call *call, const char *url,
                            struct error *err) NONNULL MUST_CHECK;
/* Notes that libcurl has read a call's given body to its end; on the thread. */
void transport_note_read(struct http_call *call) NONNULL;
/* Sends a command for a call to the thread; no-op if the thread no longer holds the call. */
void transport_command(struct http_call *call, unsigned commands) NONNULL;
/*
 * Leaves a last command for a call that its caller is done with. True if the thread still holds the
 * call and will free it.
 */
bool transport_abandon(struct http_call *call, unsigned last_command) NONNULL MUST_CHECK;
#endif
