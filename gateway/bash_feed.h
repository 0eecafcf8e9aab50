/*
 * The bash events of one sandbox (the global scope) for all sockets that watch them.
 *
 * The sandbox is looked for, never started, until a client gives a command. Then it is asked what
 * is new, again and again: the question waits in the sandbox. A sandbox that goes away ends that
 * quietly; it begins again with the next command, or when the sandbox is seen to run again.
 * Ownership: a feed lives as long as it has sockets, or commands that its sandbox has not taken.
 */
#ifndef DEFT_GATEWAY_BASH_FEED_H
#define DEFT_GATEWAY_BASH_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/principal.h"
#include "base/attr.h"
#include "client/runtime_api.h"
#include "gateway/bash_ask.h"
#include "gateway/bash_orders.h"
#include "gateway/bash_window.h"
#include "gateway/errand.h"

struct bash_socket;
struct gateway;

struct bash_feed {
    struct bash_feed *next; /* of the gateway */
    struct bash_feed *previous;
    struct gateway *gateway;
    struct principal principal; /* of the first socket: whose sandbox */
    struct bash_socket *sockets;
    size_t n_sockets;
    struct bash_orders orders;
    struct sandbox_endpoint endpoint; /* url NULL: it is not known to run */
    struct errand link;               /* to the Runtime API: where is it, or start it */
    struct errand poll;               /* to the sandbox: what is new */
    struct errand post;               /* to the sandbox: a command */
    bool is_placed;                   /* last_us is the sandbox's own word */
    bool is_started;                  /* for the first order */
    bool is_doubted;                  /* it did not answer: the next start looks for itself */
    bool is_looking;                  /* the start that is under way does */
    int64_t last_us;                  /* time of the newest event that was read; -1: not known */
    int64_t polled_at_ms;
    int64_t look_at_ms; /* not before: the next question whether there is news, or a sandbox */
    struct bash_window window;
};

/* The feed of that caller's sandbox, new or shared. */
struct bash_feed *bash_feed_get(struct gateway *gateway,
                                const struct principal *principal) NONNULL MUST_CHECK;
void bash_feed_join(struct bash_feed *feed, struct bash_socket *socket) NONNULL;
/* The feed may be freed by that. */
void bash_feed_leave(struct bash_feed *feed, struct bash_socket *socket) NONNULL;
/* Begins what is due and not under way; frees the feed when nobody needs it. */
void bash_feed_work(struct bash_feed *feed) NONNULL;
void bash_feeds_tick(struct gateway *gateway) NONNULL;
/* At the end of the process: drops what is under way. The sockets are gone. */
void bash_feeds_done(struct gateway *gateway) NONNULL;

/* For questions to the sandbox of a feed that is_placed. Borrows. */
struct bash_asker bash_feed_asker(struct bash_feed *feed) NONNULL MUST_CHECK;

#endif
