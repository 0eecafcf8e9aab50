/*
 * The context of the process: created by main() and passed down.
 *
 * Threading: everything in gateway/ runs on the service thread, and nothing there blocks.
 */
#ifndef DEFT_GATEWAY_GATEWAY_H
#define DEFT_GATEWAY_GATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libwebsockets.h>

#include "base/crypto.h"
#include "base/secret.h"
#include "gateway/callers.h"
#include "gateway/door.h"
#include "gateway/errand.h"
#include "gateway/news.h"
#include "gateway/preview/relay.h"
#include "gateway/streams.h"
#include "store/conversation/conversation_store.h"
#include "store/db/live_listen.h"

struct bash_feed;
struct db_pipe;
struct model_waits;
struct subscriber;
struct wrong_keys;

/* How to find and start sandboxes; borrowed from the settings. */
struct sandbox_service {
    const char *url;
    const char *socket; /* NULL: over TCP */
    const struct secret *key;
    const char *image;
};

struct gateway {
    /* For live data; its answers never show an older state than earlier ones. */
    struct db_pipe *live;
    /* For longer queries: callers, replays, messages. */
    struct db_pipe *back;
    struct db_pipe *hints;
    struct keyring keyring;
    struct wrong_keys *wrong_keys;
    const char *app_url; /* of the web page; borrowed from the settings */
    struct lws_context *lws;
    struct door door;
    struct preview_relay previews;
    struct streams streams;
    struct news news;
    struct callers callers;
    struct model_waits *model_waits;
    struct live_listener listener;
    struct sandbox_service sandboxes;
    struct errands errands;
    struct bash_feed *feeds;          /* of the sandboxes whose commands are watched */
    struct subscriber *waiting_first; /* for a turn to write, the longest waiting first */
    struct subscriber *waiting_last;
    struct run_limits run_limits;
    int64_t max_subscribers; /* per conversation */
    int64_t auth_timeout_ms;
    int64_t slow_ms; /* how long a socket may stay unwritable while data is due */
    lws_sorted_usec_list_t tick;
    int64_t tick_at_ms;
    int watch_fd; /* epoll of all non-socket descriptors; owned by lws once adopted */
    int stop_fd;
    bool is_dormant; /* a deferred start is not known to be over */
    bool is_stopping;
};

#endif
