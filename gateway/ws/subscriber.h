/*
 * One client's socket: its caller, its position, and its next frame.
 *
 * Between authentication and a position it is attaching (attach.h). Then it reads a conversation's
 * events or, on bash-events, those of a sandbox.
 */
#ifndef DEFT_GATEWAY_WS_SUBSCRIBER_H
#define DEFT_GATEWAY_WS_SUBSCRIBER_H

#include <stdbool.h>
#include <stdint.h>

#include "auth/principal.h"
#include "base/attr.h"
#include "base/strbuf.h"
#include "gateway/core/connection.h"
#include "gateway/core/socket_request.h"
#include "gateway/feed/event_reader.h"
#include "gateway/ws/revocation.h"

struct attach;
struct bash_reader;
struct client_messages;
struct frame;
struct ws_services;

struct subscriber {
    struct connection connection;
    const struct ws_services *services;
    struct socket_request request;
    struct principal principal; /* PRINCIPAL_NOBODY until it is authenticated */
    struct revocable revocable;
    int64_t n_hints;                  /* of revocations, when its credential was looked up */
    struct strbuf incoming;           /* a partial message */
    struct attach *attach;            /* state while attaching; NULL otherwise */
    struct client_messages *messages; /* being stored; NULL: none */
    struct event_reader events;
    struct bash_reader *bash; /* replaces events on bash-events */
};

/* Releases everything; attach_free() comes first. libwebsockets owns the memory. */
void subscriber_done(struct subscriber *subscriber) NONNULL;
/* Starts watching for the end of its credential. */
void subscriber_watch_credential(struct subscriber *subscriber) NONNULL;
/* Closes those that did not accept a due frame for that long. */
void subscribers_close_slow(struct connection_queue *waiting, int64_t now_ms,
                            int64_t slow_ms) NONNULL;
/*
 * Returns the next frame to send (the caller owns a reference). NULL when there is nothing now:
 * missing data is requested, and the connection is woken when it has arrived.
 */
struct frame *subscriber_next_frame(struct subscriber *subscriber) NONNULL MUST_CHECK;
/* Whether another frame may follow at once. */
bool subscriber_has_more(const struct subscriber *subscriber) NONNULL MUST_CHECK;

#endif
