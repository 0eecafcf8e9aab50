/*
 * One socket: who it is, what it has been sent, what comes next.
 *
 *   authenticate → (session: sync) → (events: snapshot) → history → (session: snapshot) → live
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
#include "store/event_store.h"

struct error;
struct frame;
struct gateway;
struct lws;
struct stream;

/* A client with more bad frames unanswered than this is not listening. */
enum { SUBSCRIBER_REPLIES = 8 };

enum socket_kind { SOCKET_EVENTS, SOCKET_SESSION };

enum resend { RESEND_NONE, RESEND_ALL, RESEND_SINCE };

/* What a client asked for with its URL. */
struct socket_request {
    enum socket_kind kind;
    struct uuid conversation_id;
    enum resend resend;
    char since[32];    /* naive timestamp for RESEND_SINCE */
    int64_t after_seq; /* session: as on the wire; -2: not given */
};

enum subscriber_end {
    SUBSCRIBER_OPEN,
    SUBSCRIBER_UNAUTHENTICATED, /* 4001 */
    SUBSCRIBER_NOT_FOUND,       /* 4004 */
    SUBSCRIBER_TOO_MANY,        /* 1013 */
    SUBSCRIBER_TOO_LARGE,       /* 1009 */
    SUBSCRIBER_TOO_NOISY,       /* 1008 */
    SUBSCRIBER_UNAVAILABLE,     /* 1013: the database is out of reach; come back */
    SUBSCRIBER_N_ENDS,
};

struct subscriber {
    struct subscriber *next;
    struct subscriber *previous;
    struct lws *wsi;
    struct gateway *gateway;
    struct stream *stream; /* NULL until it is authenticated and attached */
    struct socket_request request;
    struct principal principal;
    enum subscriber_end end;
    struct strbuf incoming;                    /* a message under way */
    struct frame *sync;                        /* session: the first frame */
    struct frame *replies[SUBSCRIBER_REPLIES]; /* to the client's bad frames, oldest first */
    size_t n_replies;
    struct event_batch replay; /* events older than the stream's cache */
    int64_t cursor;            /* seq of the last event sent or skipped */
    int64_t history_end;       /* session: the first snapshot goes behind this one */
    int64_t round_sent;        /* of the stream's snapshots; -1: none yet */
};

/* Prepares a fresh socket; memory is libwebsockets' own. */
void subscriber_init(struct subscriber *subscriber, struct gateway *gateway,
                     struct lws *wsi) NONNULL;
/* Leaves the stream and releases everything. */
void subscriber_done(struct subscriber *subscriber) NONNULL;
/* After authentication: finds the conversation and the place in its log. Sets `end` on refusal. */
void subscriber_attach(struct subscriber *subscriber) NONNULL;
/* Asks libwebsockets for a turn. */
void subscriber_wake(struct subscriber *subscriber) NONNULL;
/* Queues an answer to a bad frame (takes the caller's hold); closes when too many wait. */
void subscriber_reply(struct subscriber *subscriber, struct frame *frame) NONNULL;
/* Asks for a close with that reason; the first reason stands. */
void subscriber_close(struct subscriber *subscriber, enum subscriber_end end) NONNULL;
/*
 * The next frame to send (a hold of the caller's), or NULL when there is nothing now. A failure of
 * the database leaves everything as it is and says so in err.
 */
int subscriber_next_frame(struct subscriber *subscriber, struct frame **frame_out,
                          struct error *err) NONNULL MUST_CHECK;
/* Close code and text of an end (RFC 6455, section 7.4, and the contract's 4001 and 4004). */
int subscriber_close_code(enum subscriber_end end, const char **reason_out) NONNULL MUST_CHECK;

#endif
