/*
 * Inside of lib/client: the thread that drives libcurl for all calls without a lane.
 *
 * Such a call is used by two sides: its caller's thread, and the transport's while the call
 * `is_held`. The caller never touches the easy handle after http_start(); it leaves a command in
 * the inbox and wakes the thread. The last of the two sides frees the call.
 */
#ifndef DEFT_CLIENT_TRANSPORT_H
#define DEFT_CLIENT_TRANSPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <curl/curl.h>

#include "base/attr.h"
#include "base/lock.h"

struct error;
struct http_call;

/* What a call asks the thread to do; several may wait at once. */
enum transport_command {
    TRANSPORT_BEGIN = 1U << 0U,
    TRANSPORT_RESUME = 1U << 1U, /* the reader or the writer has made room */
    TRANSPORT_DRAIN = 1U << 2U,  /* nobody reads any more: what is left has little time */
    TRANSPORT_DROP = 1U << 3U,
};

struct http {
    char *ca_file;          /* NULL: the system's */
    bool are_users_trusted; /* set before the first call */
    int epoll_fd;
    int wake_fd;
    pthread_t thread;
    struct lock
        lock; /* guards inbox, is_ending, is_stopping, and the fields of calls that say so */
    struct http_call *inbox;
    bool is_ending; /* no call goes on */
    bool is_stopping;
    /* the thread's own */
    CURLM *multi;
    struct http_call *running; /* linked by prev and next */
    int64_t timer_ms;          /* when libcurl wants to be called; HTTP_NEVER */
    int64_t expiry_ms;         /* no call is due before; HTTP_NEVER */
};

/* Starts the thread. */
int transport_start(struct http *http, struct error *err) NONNULL MUST_CHECK;
/* Ends all calls, and each that begins later. */
void transport_cancel_all(struct http *http) NONNULL;
/* Ends the thread and all its calls. */
void transport_stop(struct http *http) NONNULL;
/* Finds where the call's server is to prove itself, before TRANSPORT_BEGIN. ERROR_UNAVAILABLE when
 * the URL holds no plain address. */
int transport_prepare_proof(struct http_call *call, const char *url,
                            struct error *err) NONNULL MUST_CHECK;
/* Asks the thread to do something for a call; nothing when it does not hold the call any more. */
void transport_command(struct http_call *call, unsigned commands) NONNULL;
/*
 * The caller is done with the call, and leaves a last command: true when the thread still holds it,
 * and will free it.
 */
bool transport_abandon(struct http_call *call, unsigned last_command) NONNULL MUST_CHECK;
#endif
