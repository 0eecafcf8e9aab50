/*
 * The bash events of one sandbox (the global scope) for all sockets that watch them.
 *
 * A running sandbox is looked up and long-polled for new events; it is started only for a client's
 * command. If it goes away, polling stops silently, and resumes with the next command or when the
 * sandbox is found running again.
 * Ownership: a feed lives as long as it has sockets, or commands that its sandbox has not accepted.
 * Decision: docs/decisions/0007-gateway-asks-the-sandbox.md
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
    struct bash_feed *next; /* in the gateway's list */
    struct bash_feed *previous;
    struct gateway *gateway;
    struct principal principal; /* of the first socket: the sandbox's owner */
    struct bash_socket *sockets;
    size_t n_sockets;
    struct bash_orders orders;
    struct sandbox_endpoint endpoint; /* url NULL: not known to run */
    struct errand link;               /* to the Runtime API: locate or start the sandbox */
    struct errand poll;               /* to the sandbox: new events */
    struct errand post;               /* to the sandbox: a command */
    bool is_placed;                   /* last_us was reported by the sandbox */
    bool is_started;                  /* for the first order */
    bool is_doubted; /* it did not answer: the next start checks whether it is alive */
    bool is_looking; /* the start under way does that check */
    int64_t last_us; /* time of the newest event read; -1: unknown */
    int64_t polled_at_ms;
    int64_t look_at_ms; /* earliest time of the next poll or sandbox look-up */
    struct bash_window window;
};

/* Returns the feed of that caller's sandbox, new or shared. */
struct bash_feed *bash_feed_get(struct gateway *gateway,
                                const struct principal *principal) NONNULL MUST_CHECK;
void bash_feed_join(struct bash_feed *feed, struct bash_socket *socket) NONNULL;
/* May free the feed. */
void bash_feed_leave(struct bash_feed *feed, struct bash_socket *socket) NONNULL;
/* Starts all due requests that are not under way; frees the feed when it is unused. */
void bash_feed_work(struct bash_feed *feed) NONNULL;
void bash_feeds_tick(struct gateway *gateway) NONNULL;
/* On process exit: drops what is under way. The sockets are gone. */
void bash_feeds_done(struct gateway *gateway) NONNULL;

/* For requests to the sandbox of a feed that is_placed. Borrows. */
struct bash_asker bash_feed_asker(struct bash_feed *feed) NONNULL MUST_CHECK;

#endif
