#include "gateway/feed/stream.h"

#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/core/connection.h"
#include "gateway/core/ticker.h"
#include "gateway/feed/snapshot.h"
#include "model/event/progress.h"
#include "store/conversation/async_store.h"

enum {
    /*
     * A client arms its end-of-run detector only after it has received the answer to POST /run; if
     * it misses the end, openhands-sdk waits for 30 s. A run's end is therefore sent at the
     * earliest this long after its beginning: more than an answer takes on a busy machine, less
     * than a run with a real model. A run with nothing to do has no event that tells its beginning:
     * its end counts as that.
     */
    RUN_TOLD_MS = 1000,
    STATUS_MAX_BYTES = 400,
};

struct stream *stream_new(struct stream_parts *parts, const struct uuid *conversation_id,
                          const struct uuid *user_id)
{
    struct stream *stream = NEW(struct stream);

    stream->parts = parts;
    stream->conversation_id = *conversation_id;
    stream->user_id = *user_id;
    stream->last_seq = -1;
    stream->polled_at_ms = clock_monotonic_ms();
    return stream;
}

/* --- lists of due streams --- */

static void warm(struct stream *stream)
{
    stream->used_at_ms = clock_monotonic_ms();
    if (stream->is_warm)
        TAILQ_REMOVE(&stream->parts->warm, stream, warm);
    TAILQ_INSERT_TAIL(&stream->parts->warm, stream, warm);
    stream->is_warm = true;
}

static void unlist_warm(struct stream *stream)
{
    if (stream->is_warm)
        TAILQ_REMOVE(&stream->parts->warm, stream, warm);
    stream->is_warm = false;
}

static void list_due(struct stream *stream, int64_t due_ms)
{
    stream->snapshot_due_ms = due_ms;
    if (!stream->is_due)
        TAILQ_INSERT_TAIL(&stream->parts->due, stream, due);
    stream->is_due = true;
}

static void unlist_due(struct stream *stream)
{
    if (stream->is_due)
        TAILQ_REMOVE(&stream->parts->due, stream, due);
    stream->is_due = false;
}

void stream_free(struct stream *stream)
{
    unlist_warm(stream);
    unlist_due(stream);
    event_cache_free(stream->cache);
    snapshot_free(stream->snapshot);
    delta_buffer_free(stream->deltas);
    mem_free(stream);
}

void stream_cool(struct stream *stream)
{
    unlist_warm(stream);
    event_cache_free(TAKE_PTR(stream->cache));
    snapshot_free(TAKE_PTR(stream->snapshot));
    if (stream->deltas == NULL || delta_buffer_is_open(stream->deltas))
        return;
    stream->n_deltas = delta_buffer_count(stream->deltas);
    delta_buffer_free(TAKE_PTR(stream->deltas));
}

/* --- readers --- */

void stream_join(struct stream *stream, struct stream_reader *reader)
{
    LIST_INSERT_HEAD(&stream->readers, reader, link);
    stream->n_readers++;
    reader->deltas.n_seen =
        stream->deltas != NULL ? delta_buffer_count(stream->deltas) : stream->n_deltas;
}

void stream_leave(struct stream *stream, struct stream_reader *reader)
{
    LIST_REMOVE(reader, link);
    stream->n_readers--;
}

void stream_wake_all(struct stream *stream)
{
    const struct stream_reader *reader = NULL;

    LIST_FOREACH (reader, &stream->readers, link)
        connection_wake(reader->connection);
}

void stream_close_all(struct stream *stream)
{
    const struct stream_reader *reader = NULL;

    LIST_FOREACH (reader, &stream->readers, link)
        connection_close(reader->connection, CONNECTION_NOT_FOUND);
}

/* --- news --- */

/* The format that event_add_status() writes: small, with its members in this order. */
static bool begins_run(const struct fresh_event *event)
{
    static const char words[] = "\"key\":\"execution_status\",\"value\":\"running\"";

    return event->body_len <= STATUS_MAX_BYTES &&
           memmem(event->body, event->body_len, words, sizeof(words) - 1) != NULL;
}

void stream_take_event(struct stream *stream, const struct fresh_event *event)
{
    if (event->seq <= stream->last_seq)
        return;
    if (stream->cache == NULL)
        stream->cache = event_cache_new();
    event_cache_add(stream->cache, event->seq, &event->id, event->body, event->body_len);
    if (stream->deltas != NULL)
        delta_buffer_see_event(stream->deltas, &event->id);
    if (begins_run(event))
        stream->run_seen_ms = clock_monotonic_ms();
    stream->last_seq = event->seq;
    stream->has_news = true;
    warm(stream);
}

static void begin_round(struct stream *stream)
{
    stream->snapshot_round++;
    stream->has_news = true;
    warm(stream);
}

void stream_end_run(struct stream *stream)
{
    unlist_due(stream);
    begin_round(stream);
    stream_wake_all(stream);
}

void stream_take_version(struct stream *stream, int64_t version)
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t begun_ms = stream->run_seen_ms != 0 ? stream->run_seen_ms : now_ms;
    int64_t due_ms = begun_ms + RUN_TOLD_MS;

    if (version <= stream->snapshot_version)
        return;
    stream->snapshot_version = version;
    stream->run_seen_ms = 0;
    if (stream->deltas != NULL)
        delta_buffer_abort(stream->deltas, "the run has ended", stream->last_seq);
    if (due_ms <= now_ms) {
        unlist_due(stream);
        begin_round(stream);
        return;
    }
    list_due(stream, due_ms);
    ticker_advance(stream->parts->ticker, due_ms - now_ms);
}

/* The number of pieces that no socket needs any more. */
static int64_t n_seen_by_all(const struct stream *stream)
{
    const struct stream_reader *reader = NULL;
    int64_t n_seen = INT64_MAX;

    LIST_FOREACH (reader, &stream->readers, link) {
        if (reader->deltas.n_seen < n_seen)
            n_seen = reader->deltas.n_seen;
    }
    return n_seen;
}

void stream_take_progress(struct stream *stream, const char *text)
{
    json_auto_t *json = NULL;
    CLEANUP(progress_chunks_done) struct progress_chunks chunks = {.text = STRBUF_INIT};
    struct progress progress = {.conversation_id = stream->conversation_id};
    struct progress chunk = progress;
    struct error err = ERROR_INIT;

    if (progress_read(text, strlen(text), &json, &progress, &err) < 0) {
        log_warning("delta.unreadable", LOG_ERROR(&err));
        return;
    }
    /* The event itself arrived first; that of a tool's call always does. */
    if (progress.kind != PROGRESS_TOOL && stream->cache != NULL &&
        event_cache_has(stream->cache, &progress.item_id))
        return;
    if (stream->deltas == NULL)
        stream->deltas = delta_buffer_new(stream->n_deltas);
    delta_buffer_keep(stream->deltas, n_seen_by_all(stream));
    chunks = progress_chunks_of(json, &progress);
    while (progress_next_chunk(&chunks, &progress, &chunk))
        delta_buffer_add(stream->deltas, &chunk, stream->last_seq);
    warm(stream);
    stream_wake_all(stream);
}

struct frame *stream_event_frame(struct stream *stream, int64_t seq, enum frame_form form)
{
    return stream->cache != NULL ? event_cache_frame(stream->cache, seq, form) : NULL;
}

/* --- snapshots --- */

/* While PostgreSQL is unavailable the readers ask again, and the pipe delays them. */
static void on_snapshot(void *owner, const struct error *err)
{
    struct stream *stream = owner;

    warm(stream);
    if (err == NULL || error_is_transient(err))
        stream_wake_all(stream);
    else
        stream_close_all(stream);
}

int64_t stream_snapshot_seq(struct stream *stream, int64_t min_seq)
{
    const struct snapshot_source source = {.live = stream->parts->live,
                                           .conversation_id = &stream->conversation_id,
                                           .user_id = &stream->user_id,
                                           .loaded = on_snapshot,
                                           .owner = stream};

    if (stream->snapshot == NULL)
        stream->snapshot = snapshot_new();
    return snapshot_seq(stream->snapshot, &source, stream->snapshot_round, min_seq);
}

struct frame *stream_snapshot_frame(struct stream *stream, enum frame_form form)
{
    struct frame *frame = snapshot_frame(stream->snapshot, form);

    /* Most conversations have one reader: no other reader will need it. */
    if (stream->n_readers == 1)
        snapshot_free(TAKE_PTR(stream->snapshot));
    return frame;
}
