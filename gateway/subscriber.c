#include "gateway/subscriber.h"

#include <string.h>

#include <libwebsockets.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/frame.h"
#include "gateway/gateway.h"
#include "gateway/stream.h"
#include "model/conversation.h"
#include "store/conversation_store.h"

enum { REPLAY_BATCH = 32 };

struct close_row {
    int code;
    const char *reason;
};

static const struct close_row closes[SUBSCRIBER_N_ENDS] = {
    [SUBSCRIBER_OPEN] = {1000, ""},
    [SUBSCRIBER_UNAUTHENTICATED] = {4001, "Authentication failed"},
    [SUBSCRIBER_NOT_FOUND] = {4004, "Conversation not found"},
    [SUBSCRIBER_TOO_MANY] = {1013, "Too many connections for this conversation"},
    [SUBSCRIBER_TOO_LARGE] = {1009, "Message too large"},
    [SUBSCRIBER_TOO_NOISY] = {1008, "Too many bad messages"},
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
    leave_stream(subscriber);
    strbuf_done(&subscriber->incoming);
    frame_release(TAKE_PTR(subscriber->sync));
    while (subscriber->n_replies > 0)
        frame_release(subscriber->replies[--subscriber->n_replies]);
    event_batch_done(&subscriber->replay);
}

void subscriber_wake(struct subscriber *subscriber)
{
    (void)lws_callback_on_writable(subscriber->wsi);
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

static void join_stream(struct subscriber *subscriber, struct stream *stream)
{
    subscriber->stream = stream;
    subscriber->next = stream->subscribers;
    if (stream->subscribers != NULL)
        stream->subscribers->previous = subscriber;
    stream->subscribers = subscriber;
    stream->n_subscribers++;
}

/* Where the replay begins: the cursor stands before the first event that is to be sent. */
static int place_cursor(struct subscriber *subscriber, int64_t last_seq, struct error *err)
{
    const struct socket_request *request = &subscriber->request;

    subscriber->cursor = last_seq;
    subscriber->history_end = last_seq;
    if (request->kind == SOCKET_SESSION) {
        if (request->after_seq >= -1 && request->after_seq + 1 < last_seq)
            subscriber->cursor = request->after_seq + 1;
        subscriber->sync = frame_sync(request->after_seq, last_seq - 1);
        return 0;
    }
    if (request->resend == RESEND_ALL)
        subscriber->cursor = 0;
    if (request->resend == RESEND_SINCE && request->since[0] != '\0')
        return event_store_seq_before(subscriber->gateway->db, &request->conversation_id,
                                      request->since, &subscriber->cursor, err);
    return 0;
}

static int try_attach(struct subscriber *subscriber, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    struct conversation_scope scope = principal_scope(&subscriber->principal);
    struct stream *stream = NULL;

    if (conversation_store_load(subscriber->gateway->db, &scope,
                                &subscriber->request.conversation_id, &conversation, err) < 0)
        return -1;
    stream = stream_get(subscriber->gateway, &conversation.id, &conversation.user_id);
    if ((int64_t)stream->n_subscribers >= subscriber->gateway->max_subscribers) {
        subscriber_close(subscriber, SUBSCRIBER_TOO_MANY);
        return 0;
    }
    join_stream(subscriber, stream);
    if (stream->last_seq < 0)
        stream->snapshot_version = conversation.snapshot_version;
    stream_refresh(stream);
    return place_cursor(subscriber, stream->last_seq, err);
}

void subscriber_attach(struct subscriber *subscriber)
{
    struct error err = ERROR_INIT;

    if (try_attach(subscriber, &err) < 0)
        subscriber_close(subscriber, err.code == ERROR_NOT_FOUND ? SUBSCRIBER_NOT_FOUND
                                                                 : SUBSCRIBER_UNAVAILABLE);
    subscriber_wake(subscriber);
}

static struct frame *event_frame(const struct subscriber *subscriber, const char *body, int64_t seq)
{
    if (subscriber->request.kind == SOCKET_SESSION)
        return frame_durable(body, seq);
    return frame_new(body, strlen(body), seq);
}

/* The next of the subscriber's own batch, or NULL when it does not continue at the cursor. */
static const char *replayed(const struct subscriber *subscriber)
{
    const struct event_batch *replay = &subscriber->replay;
    size_t at = 0;

    if (replay->n > 0 && subscriber->cursor + 1 >= replay->seqs[0])
        at = (size_t)(subscriber->cursor + 1 - replay->seqs[0]);
    else
        at = replay->n;
    return at < replay->n ? replay->bodies[at] : NULL;
}

/* The event behind the cursor: from the stream's cache, or a batch read for this one alone. */
static int next_event(struct subscriber *subscriber, struct frame **frame_out, struct error *err)
{
    const char *body = stream_cached(subscriber->stream, subscriber->cursor + 1);

    if (body == NULL)
        body = replayed(subscriber);
    if (body == NULL) {
        event_batch_done(&subscriber->replay);
        if (event_store_read_batch(subscriber->gateway->db, &subscriber->request.conversation_id,
                                   subscriber->cursor, REPLAY_BATCH, &subscriber->replay, err) < 0)
            return -1;
        body = replayed(subscriber);
    }
    if (body != NULL)
        *frame_out = event_frame(subscriber, body, subscriber->cursor + 1);
    return 0;
}

static int next_snapshot(struct subscriber *subscriber, struct frame **frame_out, struct error *err)
{
    struct frame *frame = NULL;
    int64_t seq = 0;

    if (stream_snapshot(subscriber->stream, &frame, &seq, err) < 0)
        return -1;
    if (seq > subscriber->cursor && subscriber->round_sent >= 0) {
        /* It speaks of events that this socket has not seen: those go first. */
        frame_release(frame);
        stream_refresh(subscriber->stream);
        return 0;
    }
    subscriber->round_sent = subscriber->stream->snapshot_round;
    if (subscriber->request.kind == SOCKET_SESSION) {
        *frame_out = frame_transient((const char *)frame_text(frame));
        frame_release(frame);
        return 0;
    }
    *frame_out = frame;
    return 0;
}

/* The first snapshot: before all history on /sockets/events, behind it on /sockets/session. */
static bool first_snapshot_is_due(const struct subscriber *subscriber)
{
    if (subscriber->round_sent >= 0)
        return false;
    return subscriber->request.kind == SOCKET_EVENTS ||
           subscriber->cursor >= subscriber->history_end;
}

int subscriber_next_frame(struct subscriber *subscriber, struct frame **frame_out,
                          struct error *err)
{
    struct stream *stream = subscriber->stream;

    *frame_out = NULL;
    if (subscriber->sync != NULL)
        *frame_out = TAKE_PTR(subscriber->sync);
    else if (subscriber->n_replies > 0)
        *frame_out = take_reply(subscriber);
    if (*frame_out != NULL || stream == NULL)
        return 0;
    if (first_snapshot_is_due(subscriber))
        return next_snapshot(subscriber, frame_out, err);
    if (subscriber->cursor < stream->last_seq) {
        if (next_event(subscriber, frame_out, err) < 0)
            return -1;
        if (*frame_out != NULL)
            subscriber->cursor++;
        return 0;
    }
    if (subscriber->round_sent < stream->snapshot_round)
        return next_snapshot(subscriber, frame_out, err);
    return 0;
}
