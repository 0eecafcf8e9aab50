/*
 * The sending side of a client's socket, as every room sees it: it asks for a turn to write, queues
 * error replies, and closes with a reason.
 *
 * Ownership: embedded in its owner, which calls connection_done().
 */
#ifndef DEFT_GATEWAY_CORE_CONNECTION_H
#define DEFT_GATEWAY_CORE_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/attr.h"
#include "gateway/core/socket_request.h"

struct frame;
struct lws;

/* A client with more unsent error replies than this does not read its socket. */
enum { CONNECTION_REPLIES = 8 };

enum connection_end {
    CONNECTION_OPEN,
    CONNECTION_UNAUTHENTICATED, /* 4001 */
    CONNECTION_TOO_MANY_KEYS,   /* 1013: its address sent too many wrong keys */
    CONNECTION_NOT_FOUND,       /* 4004 */
    CONNECTION_TOO_MANY,        /* 1013 */
    CONNECTION_TOO_MANY_BASH,   /* 1013 */
    CONNECTION_UNMASKED,        /* 1002: it sent an unmasked frame */
    CONNECTION_TOO_LARGE,       /* 1009 */
    CONNECTION_TOO_NOISY,       /* 1008 */
    CONNECTION_TOO_SLOW,        /* 1013: it does not read */
    CONNECTION_UNAVAILABLE,     /* 1013: the database is unreachable; the client may retry */
    CONNECTION_N_ENDS,
};

/* Those that wait for a turn to write, the longest waiting first. */
TAILQ_HEAD(connection_queue, connection);

struct connection {
    TAILQ_ENTRY(connection) turn; /* while is_waiting */
    struct connection_queue *queue;
    struct lws *wsi;
    int64_t waiting_since_ms;
    enum socket_kind kind;
    enum connection_end end;
    bool is_waiting;
    size_t n_replies;
    struct frame *replies[CONNECTION_REPLIES]; /* to the client's bad frames, oldest first */
};

void connection_done(struct connection *connection) NONNULL;
/* Asks libwebsockets for a writable callback. */
void connection_wake(struct connection *connection) NONNULL;
/* It has had its turn, or no longer needs one. */
void connection_stop_waiting(struct connection *connection) NONNULL;
/* Requests a close with that reason; only the first request counts. */
void connection_close(struct connection *connection, enum connection_end end) NONNULL;
/* Takes the longest waiting one off the queue; NULL when none has waited for that long. */
struct connection *connection_take_slow(struct connection_queue *queue, int64_t now_ms,
                                        int64_t slow_ms) NONNULL MUST_CHECK;
/* Close code and text of an end (RFC 6455, section 7.4, and the contract's 4001 and 4004). */
int connection_close_code(enum connection_end end, const char **reason_out) NONNULL MUST_CHECK;

/* Queues a reply to a bad frame, and owns it; closes when too many are queued. */
void connection_reply(struct connection *connection, struct frame *frame) NONNULL;
/* Returns the oldest reply, owned by the caller; there must be one. */
struct frame *connection_take_reply(struct connection *connection) NONNULL MUST_CHECK;

#endif
