#include "gateway/feed/event_reader.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "gateway/core/connection.h"
#include "gateway/core/frame.h"
#include "gateway/core/socket_request.h"
#include "gateway/feed/feed.h"
#include "gateway/feed/model_waits.h"
#include "gateway/feed/replay.h"
#include "model/event/progress.h"
#include "store/conversation/async_store.h"

/* --- joining --- */

static struct frame *progress_frame(const struct progress *progress)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    progress_append_frame(progress, &text);
    return frame_new(text.text, text.len);
}

/* Prepares frames that show the last failed attempt as if it had begun and ended now. */
static void tell_wait(struct event_reader *reader, const struct position_query *place)
{
    struct progress ended = {.conversation_id = place->conversation_id};
    struct progress started = ended;

    if (!model_waits_find(reader->feed->model_waits, place->conversation_id.text, place->last_seq,
                          clock_monotonic_ms(), &ended))
        return;
    started = ended;
    started.kind = PROGRESS_STARTED;
    reader->wait[0] = progress_frame(&started);
    reader->wait[1] = progress_frame(&ended);
}

/* Pieces of an answer end a silence, too, although they are not events. */
static int64_t silence(const struct event_reader *reader, const struct position_query *place)
{
    int64_t heard_ms = model_waits_heard_ms(reader->feed->model_waits, place->conversation_id.text);
    int64_t unheard_ms = clock_monotonic_ms() - heard_ms;

    return heard_ms >= 0 && unheard_ms < place->silent_ms ? unheard_ms : place->silent_ms;
}

/* Places the cursor before the first event to send. */
static void place_cursor(struct event_reader *reader, const struct event_reader_start *start)
{
    const struct socket_request *request = start->request;
    const struct position_query *place = start->place;

    reader->cursor = place->last_seq;
    reader->history_end = place->last_seq;
    if (request->kind == SOCKET_SESSION) {
        if (request->after_seq >= -1 && request->after_seq + 1 < place->last_seq)
            reader->cursor = request->after_seq + 1;
        reader->sync = frame_sync(&(struct sync){.from_seq = request->after_seq,
                                                 .through_seq = place->last_seq - 1,
                                                 .silent_ms = silence(reader, place)});
        tell_wait(reader, place);
        return;
    }
    if (request->resend == RESEND_ALL)
        reader->cursor = 0;
    if (request->resend == RESEND_SINCE && request->since[0] != '\0')
        reader->cursor = place->since_seq;
}

void event_reader_join(struct event_reader *reader, struct feed *feed,
                       struct connection *connection, const struct event_reader_start *start)
{
    const struct position_query *place = start->place;
    struct stream *stream =
        stream_registry_get(&feed->streams, &place->conversation_id, start->user_id);

    if ((int64_t)stream->n_readers >= feed->max_readers) {
        connection_close(connection, CONNECTION_TOO_MANY);
        stream_registry_drop_if_unused(&feed->streams, stream);
        return;
    }
    reader->feed = feed;
    reader->stream = stream;
    reader->link.connection = connection;
    reader->form = start->request->kind == SOCKET_SESSION ? FORM_SESSION : FORM_EVENT;
    reader->round_sent = -1;
    reader->link.deltas.wants_tool_progress = start->request->wants_tool_progress;
    stream_join(stream, &reader->link);
    /* A new stream starts at the log's end: its readers fetch older events themselves. */
    if (stream->last_seq < 0) {
        stream->last_seq = place->last_seq;
        stream->snapshot_version = place->snapshot_version;
    }
    place_cursor(reader, start);
    connection_wake(connection);
}

void event_reader_leave(struct event_reader *reader)
{
    struct stream *stream = TAKE_PTR(reader->stream);

    if (stream == NULL)
        return;
    stream_leave(stream, &reader->link);
    stream_registry_drop_if_unused(&reader->feed->streams, stream);
    replay_free(TAKE_PTR(reader->replay));
    frame_release(TAKE_PTR(reader->sync));
    frame_release(TAKE_PTR(reader->wait[0]));
    frame_release(TAKE_PTR(reader->wait[1]));
}

/* --- events --- */

static void on_replay(void *owner, const struct error *err)
{
    const struct event_reader *reader = owner;

    if (err == NULL)
        connection_wake(reader->link.connection);
    else
        connection_close(reader->link.connection, err->code == ERROR_NOT_FOUND
                                                      ? CONNECTION_NOT_FOUND
                                                      : CONNECTION_UNAVAILABLE);
}

static const char *replay_next(struct event_reader *reader, int64_t seq)
{
    const struct replay_source source = {reader->feed->back, on_replay, reader};

    if (reader->replay == NULL)
        reader->replay = replay_new(&source, &reader->stream->conversation_id);
    return replay_body(reader->replay, seq);
}

/* The event after the cursor: from the stream, or from a batch read for this reader alone. */
static struct frame *next_event(struct event_reader *reader)
{
    int64_t seq = reader->cursor + 1;
    struct frame *frame = stream_event_frame(reader->stream, seq, reader->form);
    const char *body = NULL;

    if (frame != NULL) {
        replay_free(TAKE_PTR(reader->replay));
    } else {
        body = replay_next(reader, seq);
        if (body == NULL)
            return NULL;
        frame =
            reader->form == FORM_SESSION ? frame_durable(body, seq) : frame_new(body, strlen(body));
    }
    reader->cursor = seq;
    return frame;
}

/* --- snapshots --- */

bool event_reader_has_begun(const struct event_reader *reader)
{
    return reader->stream != NULL && reader->round_sent >= 0;
}

static bool snapshot_is_due(const struct event_reader *reader)
{
    return reader->round_sent < reader->stream->snapshot_round;
}

/* The first snapshot: before all history on /sockets/events, after it on /sockets/session. */
static bool first_snapshot_is_due(const struct event_reader *reader)
{
    if (event_reader_has_begun(reader))
        return false;
    return reader->form == FORM_EVENT || reader->cursor >= reader->history_end;
}

static struct frame *send_snapshot(struct event_reader *reader)
{
    reader->round_sent = reader->stream->snapshot_round;
    return stream_snapshot_frame(reader->stream, reader->form);
}

static struct frame *first_snapshot(struct event_reader *reader)
{
    if (stream_snapshot_seq(reader->stream, reader->history_end) < 0)
        return NULL;
    return send_snapshot(reader);
}

/*
 * A snapshot is sent directly after the newest event that it covers: an old "finished" after the
 * start of a new run would end that run for its client.
 */
static struct frame *due_snapshot(struct event_reader *reader)
{
    struct stream *stream = reader->stream;
    int64_t seq = stream_snapshot_seq(stream, reader->cursor);

    if (seq > stream->last_seq)
        stream_registry_poll(&reader->feed->streams, stream);
    return seq == reader->cursor ? send_snapshot(reader) : NULL;
}

/* --- frames --- */

/* Sent after the first snapshot, before everything newer. */
static struct frame *take_wait(struct event_reader *reader)
{
    if (!event_reader_has_begun(reader))
        return NULL;
    if (reader->wait[0] != NULL)
        return TAKE_PTR(reader->wait[0]);
    return TAKE_PTR(reader->wait[1]);
}

struct frame *event_reader_next_frame(struct event_reader *reader)
{
    struct stream *stream = reader->stream;
    struct frame *frame = NULL;

    if (stream == NULL)
        return NULL;
    if (reader->sync != NULL)
        return TAKE_PTR(reader->sync);
    if (first_snapshot_is_due(reader))
        return first_snapshot(reader);
    frame = take_wait(reader);
    if (frame == NULL && stream->deltas != NULL)
        frame =
            delta_buffer_next(stream->deltas, &reader->link.deltas, reader->cursor, reader->form);
    if (frame == NULL && event_reader_has_begun(reader) && snapshot_is_due(reader))
        frame = due_snapshot(reader);
    if (frame == NULL && reader->cursor < stream->last_seq)
        frame = next_event(reader);
    return frame;
}

bool event_reader_has_more(const struct event_reader *reader)
{
    const struct stream *stream = reader->stream;

    if (stream == NULL)
        return false;
    return reader->wait[1] != NULL || snapshot_is_due(reader) ||
           reader->cursor < stream->last_seq ||
           (stream->deltas != NULL &&
            reader->link.deltas.n_seen < delta_buffer_count(stream->deltas));
}
