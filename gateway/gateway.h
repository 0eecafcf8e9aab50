/*
 * The one context of the process: made by main(), passed down.
 *
 * Threading: everything in gateway/ runs on the service thread.
 */
#ifndef DEFT_GATEWAY_GATEWAY_H
#define DEFT_GATEWAY_GATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libwebsockets.h>

#include "base/crypto.h"

struct db;
struct hints;
struct stream;

struct gateway {
    struct db *db;
    struct hints *hints;
    struct keyring keyring;
    struct lws_context *lws;
    struct stream *streams; /* list by next */
    size_t n_streams;
    int64_t max_subscribers; /* of one conversation */
    int64_t auth_timeout_s;
    lws_sorted_usec_list_t tick;
    int64_t looked_at_ms;
    int watch_fd;   /* epoll, owned by lws once adopted */
    int watched[2]; /* what hints_fds() said last */
    int stop_fd;
    bool is_stopping;
};

#endif
