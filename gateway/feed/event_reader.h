/*
 * A socket's position in a conversation's stream, and the next frame to send from there.
 *
 *   (session: sync) → (events: snapshot) → history → (session: snapshot) → live
 *
 * Ownership: embedded in its owner, which calls event_reader_leave() before it is freed.
 */
#ifndef DEFT_GATEWAY_FEED_EVENT_READER_H
#define DEFT_GATEWAY_FEED_EVENT_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "gateway/feed/stream.h"

struct connection;
struct feed;
struct frame;
struct position_query;
struct replay;
struct socket_request;
struct uuid;

struct event_reader {
    struct stream_reader link;
    struct feed *feed;
    struct stream *stream; /* NULL until it has joined, and after it has left */
    enum frame_form form;
    struct frame *sync;    /* session: the first frame */
    struct frame *wait[2]; /* session: the failed attempt that preceded it */
    struct replay *replay; /* events older than the stream keeps; NULL: none */
    int64_t cursor;        /* seq of the last event sent or skipped */
    int64_t history_end;   /* the newest event when it connected */
    int64_t round_sent;    /* of the stream's snapshots; -1: none yet */
};

/* Where the log ends, as read for this client, and where it wants to begin. */
struct event_reader_start {
    const struct socket_request *request;
    const struct position_query *place; /* answered */
    const struct uuid *user_id;
};

/*
 * Joins the conversation's stream, and wakes or closes the connection, which is borrowed until
 * event_reader_leave(). reader is zeroed.
 */
void event_reader_join(struct event_reader *reader, struct feed *feed,
                       struct connection *connection,
                       const struct event_reader_start *start) NONNULL;
/* Releases all; does nothing for one that has not joined. */
void event_reader_leave(struct event_reader *reader) NONNULL;
/* True when replies to the client's frames may go out: the first snapshot was sent. */
bool event_reader_has_begun(const struct event_reader *reader) NONNULL MUST_CHECK;
/*
 * Returns the next frame to send (the caller owns a reference). NULL when there is nothing now:
 * missing data is requested, and the connection is woken when it has arrived.
 */
struct frame *event_reader_next_frame(struct event_reader *reader) NONNULL MUST_CHECK;
/* Whether another frame may follow at once. */
bool event_reader_has_more(const struct event_reader *reader) NONNULL MUST_CHECK;

#endif
