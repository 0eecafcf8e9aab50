#include "gateway/subscriber.h"

#include <string.h>

#include <libwebsockets.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/arrival.h"
#include "gateway/bash_socket.h"
#include "gateway/frame.h"
#include "gateway/gateway.h"
#include "gateway/inbox.h"
#include "gateway/news.h"
#include "gateway/replay.h"
#include "gateway/snapshot.h"
#include "gateway/stream.h"

struct close_row {
    int code;
    const char *reason;
};

static const struct close_row closes[SUBSCRIBER_N_ENDS] = {
    [SUBSCRIBER_OPEN] = {1000, ""},
    [SUBSCRIBER_UNAUTHENTICATED] = {4001, "Authentication failed"},
    [SUBSCRIBER_TOO_MANY_KEYS] = {1013, "Too many wrong keys; try again in a minute"},
    [SUBSCRIBER_NOT_FOUND] = {4004, "Conversation not found"},
    [SUBSCRIBER_TOO_MANY] = {1013, "Too many connections for this conversation"},
    [SUBSCRIBER_TOO_MANY_BASH] = {1013, "Too many bash event connections"},
    [SUBSCRIBER_UNMASKED] = {1002, "Frames of a client must be masked"},
    [SUBSCRIBER_TOO_LARGE] = {1009, "Message too large"},
    [SUBSCRIBER_TOO_NOISY] = {1008, "Too many bad messages"},
    [SUBSCRIBER_TOO_SLOW] = {1013, "slow_consumer"},
    [SUBSCRIBER_UNAVAILABLE] = {1013, "The database is out of reach; try again"},
};

int subscriber_close_code(enum subscriber_end end, const char **reason_out)
{
    *reason_out = closes[end].reason;
    return closes[end].code;
}

void subscriber_init(struct subscriber *subscriber, struct gateway *gateway, struct lws *wsi)
{
    *subscriber = (struct subscriber){
        .gateway = gateway, .wsi = wsi, .incoming = STRBUF_INIT, .round_sent = -1};
}

static void leave_stream(struct subscriber *subscriber)
{
    struct stream *stream = subscriber->stream;

    if (stream == NULL)
        return;
    if (subscriber->previous != NULL)
        subscriber->previous->next = subscriber->next;
    else
        stream->subscribers = subscriber->next;
    if (subscriber->next != NULL)
        subscriber->next->previous = subscriber->previous;
    stream->n_subscribers--;
    subscriber->stream = NULL;
    stream_drop_if_unused(stream);
}

void subscriber_done(struct subscriber *subscriber)
{
    subscriber_stop_waiting(subscriber);
    callers_leave(subscriber);
    leave_stream(subscriber);
    bash_socket_leave(TAKE_PTR(subscriber->bash));
    arrival_free(TAKE_PTR(subscriber->arrival));
    replay_free(TAKE_PTR(subscriber->replay));
    inbox_leave(TAKE_PTR(subscriber->inbox));
    strbuf_done(&subscriber->incoming);
    frame_release(TAKE_PTR(subscriber->sync));
    frame_release(TAKE_PTR(subscriber->wait[0]));
    frame_release(TAKE_PTR(subscriber->wait[1]));
    while (subscriber->n_replies > 0)
        frame_release(subscriber->replies[--subscriber->n_replies]);
}

/* --- turns --- */

void subscriber_wake(struct subscriber *subscriber)
{
    struct gateway *gateway = subscriber->gateway;

    (void)lws_callback_on_writable(subscriber->wsi);
    if (subscriber->is_waiting)
        return;
    subscriber->is_waiting = true;
    subscriber->waiting_since_ms = clock_monotonic_ms();
    subscriber->waiting_next = NULL;
    subscriber->waiting_previous = gateway->waiting_last;
    if (gateway->waiting_last != NULL)
        gateway->waiting_last->waiting_next = subscriber;
    else
        gateway->waiting_first = subscriber;
    gateway->waiting_last = subscriber;
}

void subscriber_stop_waiting(struct subscriber *subscriber)
{
    struct gateway *gateway = subscriber->gateway;

    if (!subscriber->is_waiting)
        return;
    subscriber->is_waiting = false;
    if (subscriber->waiting_previous != NULL)
        subscriber->waiting_previous->waiting_next = subscriber->waiting_next;
    else
        gateway->waiting_first = subscriber->waiting_next;
    if (subscriber->waiting_next != NULL)
        subscriber->waiting_next->waiting_previous = subscriber->waiting_previous;
    else
        gateway->waiting_last = subscriber->waiting_previous;
}

/* The close frame goes out when the socket becomes writable; until then it costs nothing more. */
void subscribers_tick(struct gateway *gateway, int64_t now_ms)
{
    while (gateway->waiting_first != NULL &&
           now_ms - gateway->waiting_first->waiting_since_ms >= gateway->slow_ms) {
        struct subscriber *subscriber = gateway->waiting_first;

        subscriber_stop_waiting(subscriber);
        if (subscriber->end == SUBSCRIBER_OPEN)
            subscriber->end = SUBSCRIBER_TOO_SLOW;
        log_info("socket.slow",
                 LOG_STR("conversation_id", subscriber->request.conversation_id.text),
                 LOG_STR("session_id", subscriber->principal.runtime_session));
        leave_stream(subscriber);
        bash_socket_leave(TAKE_PTR(subscriber->bash));
        replay_free(TAKE_PTR(subscriber->replay));
    }
}

void subscriber_close(struct subscriber *subscriber, enum subscriber_end end)
{
    if (subscriber->end == SUBSCRIBER_OPEN)
        subscriber->end = end;
    subscriber_wake(subscriber);
}

void subscriber_reply(struct subscriber *subscriber, struct frame *frame)
{
    if (subscriber->n_replies == SUBSCRIBER_REPLIES) {
        frame_release(frame);
        subscriber_close(subscriber, SUBSCRIBER_TOO_NOISY);
        return;
    }
    subscriber->replies[subscriber->n_replies++] = frame;
    subscriber_wake(subscriber);
}

static struct frame *take_reply(struct subscriber *subscriber)
{
    struct frame *first = subscriber->replies[0];

    subscriber->n_replies--;
    for (size_t i = 0; i < subscriber->n_replies; i++)
        subscriber->replies[i] = subscriber->replies[i + 1];
    return first;
}

/* --- frames --- */

static enum frame_form form_of(const struct subscriber *subscriber)
{
    return subscriber->request.kind == SOCKET_SESSION ? FORM_SESSION : FORM_EVENT;
}

/* The event after the cursor: from the stream, or from a batch read for this subscriber alone. */
static struct frame *next_event(struct subscriber *subscriber)
{
    int64_t seq = subscriber->cursor + 1;
    enum frame_form form = form_of(subscriber);
    struct frame *frame = stream_event_frame(subscriber->stream, seq, form);
    const char *body = NULL;

    if (frame != NULL) {
        replay_free(TAKE_PTR(subscriber->replay));
    } else {
        body = replay_body(subscriber, seq);
        if (body == NULL)
            return NULL;
        frame = form == FORM_SESSION ? frame_durable(body, seq) : frame_new(body, strlen(body));
    }
    subscriber->cursor = seq;
    return frame;
}

static bool has_first_snapshot(const struct subscriber *subscriber)
{
    return subscriber->round_sent >= 0;
}

static bool snapshot_is_due(const struct subscriber *subscriber)
{
    return subscriber->round_sent < subscriber->stream->snapshot_round;
}

/* The first snapshot: before all history on /sockets/events, after it on /sockets/session. */
static bool first_snapshot_is_due(const struct subscriber *subscriber)
{
    if (has_first_snapshot(subscriber))
        return false;
    return subscriber->request.kind == SOCKET_EVENTS ||
           subscriber->cursor >= subscriber->history_end;
}

static struct frame *send_snapshot(struct subscriber *subscriber)
{
    struct stream *stream = subscriber->stream;
    struct frame *frame = snapshot_frame(stream, form_of(subscriber));

    subscriber->round_sent = stream->snapshot_round;
    /* Most conversations have one reader: no other subscriber will need it. */
    if (stream->n_subscribers == 1)
        snapshot_free(TAKE_PTR(stream->snapshot));
    return frame;
}

static struct frame *first_snapshot(struct subscriber *subscriber)
{
    if (snapshot_seq(subscriber->stream, subscriber->history_end) < 0)
        return NULL;
    return send_snapshot(subscriber);
}

/*
 * A snapshot is sent directly after the newest event that it covers: an old "finished" after the
 * start of a new run would end that run for its client.
 */
static struct frame *due_snapshot(struct subscriber *subscriber)
{
    struct stream *stream = subscriber->stream;
    int64_t seq = snapshot_seq(stream, subscriber->cursor);

    if (seq > stream->last_seq)
        news_want(&stream->gateway->news, stream);
    return seq == subscriber->cursor ? send_snapshot(subscriber) : NULL;
}

/* Sent after the first snapshot, before everything newer. */
static struct frame *take_wait(struct subscriber *subscriber)
{
    if (!has_first_snapshot(subscriber))
        return NULL;
    if (subscriber->wait[0] != NULL)
        return TAKE_PTR(subscriber->wait[0]);
    return TAKE_PTR(subscriber->wait[1]);
}

static struct frame *next_of_stream(struct subscriber *subscriber)
{
    struct stream *stream = subscriber->stream;
    struct frame *frame = NULL;

    if (first_snapshot_is_due(subscriber))
        return first_snapshot(subscriber);
    frame = take_wait(subscriber);
    if (frame == NULL && stream->progress != NULL)
        frame = progress_log_next(stream->progress, &subscriber->progress, subscriber->cursor,
                                  form_of(subscriber));
    if (frame == NULL && has_first_snapshot(subscriber) && snapshot_is_due(subscriber))
        frame = due_snapshot(subscriber);
    if (frame == NULL && subscriber->cursor < stream->last_seq)
        frame = next_event(subscriber);
    return frame;
}

/* Replies are held back until the first snapshot was sent. */
static bool reply_is_due(const struct subscriber *subscriber)
{
    return subscriber->n_replies > 0 &&
           (subscriber->bash != NULL || has_first_snapshot(subscriber));
}

struct frame *subscriber_next_frame(struct subscriber *subscriber)
{
    if (subscriber->sync != NULL)
        return TAKE_PTR(subscriber->sync);
    if (reply_is_due(subscriber))
        return take_reply(subscriber);
    if (subscriber->bash != NULL)
        return bash_socket_next_frame(subscriber->bash);
    return subscriber->stream != NULL ? next_of_stream(subscriber) : NULL;
}

bool subscriber_has_more(const struct subscriber *subscriber)
{
    const struct stream *stream = subscriber->stream;

    if (subscriber->end != SUBSCRIBER_OPEN || reply_is_due(subscriber))
        return true;
    if (subscriber->bash != NULL)
        return bash_socket_has_more(subscriber->bash);
    if (stream == NULL)
        return false;
    return subscriber->wait[1] != NULL || snapshot_is_due(subscriber) ||
           subscriber->cursor < stream->last_seq ||
           (stream->progress != NULL &&
            subscriber->progress.n_seen < progress_log_count(stream->progress));
}
