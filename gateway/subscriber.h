/*
 * One socket: its caller, its position, and what to send next.
 *
 *   authenticate → (session: sync) → (events: snapshot) → history → (session: snapshot) → live
 *
 * On bash-events, where there is no conversation: authenticate → history → live (bash_socket.h).
 */
#ifndef DEFT_GATEWAY_SUBSCRIBER_H
#define DEFT_GATEWAY_SUBSCRIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/principal.h"
#include "base/attr.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "gateway/callers.h"
#include "gateway/progress_log.h"

struct arrival;
struct bash_socket;
struct frame;
struct gateway;
struct inbox;
struct lws;
struct replay;
struct stream;

/* A client with more unsent error replies than this does not read its socket. */
enum { SUBSCRIBER_REPLIES = 8 };

enum socket_kind { SOCKET_EVENTS, SOCKET_SESSION, SOCKET_BASH, SOCKET_N_KINDS };

enum resend { RESEND_NONE, RESEND_ALL, RESEND_SINCE };

/* A client's request, from its URL. */
struct socket_request {
    enum socket_kind kind;
    struct uuid conversation_id;
    enum resend resend;
    char since[32];    /* naive timestamp for RESEND_SINCE; "": none */
    int64_t after_seq; /* session: as on the wire; -2: not given */
    char address[46];  /* of the client; "": not known */
};

enum subscriber_end {
    SUBSCRIBER_OPEN,
    SUBSCRIBER_UNAUTHENTICATED, /* 4001 */
    SUBSCRIBER_TOO_MANY_KEYS,   /* 1013: its address sent too many wrong keys */
    SUBSCRIBER_NOT_FOUND,       /* 4004 */
    SUBSCRIBER_TOO_MANY,        /* 1013 */
    SUBSCRIBER_TOO_MANY_BASH,   /* 1013 */
    SUBSCRIBER_UNMASKED,        /* 1002: it sent an unmasked frame */
    SUBSCRIBER_TOO_LARGE,       /* 1009 */
    SUBSCRIBER_TOO_NOISY,       /* 1008 */
    SUBSCRIBER_TOO_SLOW,        /* 1013: it does not read */
    SUBSCRIBER_UNAVAILABLE,     /* 1013: the database is unreachable; the client may retry */
    SUBSCRIBER_N_ENDS,
};

struct subscriber {
    struct subscriber *next; /* in its stream's list */
    struct subscriber *previous;
    struct subscriber *waiting_next; /* in the list of those that wait for a turn */
    struct subscriber *waiting_previous;
    int64_t waiting_since_ms;
    struct lws *wsi;
    struct gateway *gateway;
    struct stream *stream;    /* NULL until it is authenticated and attached */
    struct bash_socket *bash; /* replaces stream on bash-events */
    struct socket_request request;
    struct principal principal;
    struct caller_link caller;
    int64_t n_hints;  /* of callers, when its key was looked up */
    int64_t valid_ms; /* of its session; 0: it has none */
    enum subscriber_end end;
    bool is_waiting;
    struct strbuf incoming;                    /* a partial message */
    struct frame *sync;                        /* session: the first frame */
    struct frame *wait[2];                     /* session: the failed attempt that preceded it */
    struct frame *replies[SUBSCRIBER_REPLIES]; /* to the client's bad frames, oldest first */
    size_t n_replies;
    struct arrival *arrival; /* state while attaching; NULL otherwise */
    struct replay *replay;   /* events older than the stream keeps; NULL: none */
    struct inbox *inbox;     /* its messages being stored; NULL: none */
    struct progress_cursor progress;
    int64_t cursor;      /* seq of the last event sent or skipped */
    int64_t history_end; /* the newest event when it connected */
    int64_t round_sent;  /* of the stream's snapshots; -1: none yet */
};

/* Initializes a new socket; libwebsockets owns the memory. */
void subscriber_init(struct subscriber *subscriber, struct gateway *gateway,
                     struct lws *wsi) NONNULL;
/* Leaves the stream and releases everything. */
void subscriber_done(struct subscriber *subscriber) NONNULL;
/* Asks libwebsockets for a writable callback. */
void subscriber_wake(struct subscriber *subscriber) NONNULL;
/* It has had its turn, or no longer needs one. */
void subscriber_stop_waiting(struct subscriber *subscriber) NONNULL;
/* Closes those that waited too long for a turn. */
void subscribers_tick(struct gateway *gateway, int64_t now_ms) NONNULL;
/*
 * Queues a reply to a bad frame (takes over the caller's reference); closes when too many are
 * queued.
 */
void subscriber_reply(struct subscriber *subscriber, struct frame *frame) NONNULL;
/* Requests a close with that reason; only the first request counts. */
void subscriber_close(struct subscriber *subscriber, enum subscriber_end end) NONNULL;
/*
 * Returns the next frame to send (the caller owns a reference). NULL when there is nothing now:
 * missing data is requested, and the subscriber is woken when it has arrived.
 */
struct frame *subscriber_next_frame(struct subscriber *subscriber) NONNULL MUST_CHECK;
/* Whether another frame may follow at once. */
bool subscriber_has_more(const struct subscriber *subscriber) NONNULL MUST_CHECK;
/* Close code and text of an end (RFC 6455, section 7.4, and the contract's 4001 and 4004). */
int subscriber_close_code(enum subscriber_end end, const char **reason_out) NONNULL MUST_CHECK;

#endif
