#include "gateway/stream.h"

#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "gateway/news.h"
#include "gateway/progress_log.h"
#include "gateway/server.h"
#include "gateway/snapshot.h"
#include "gateway/stream_list.h"
#include "gateway/streams.h"
#include "gateway/subscriber.h"
#include "model/event/progress.h"
#include "store/conversation/live_store.h"

enum {
    /*
     * A client arms its end-of-run detector only after it has received the answer to POST /run: a
     * run's end is sent at the earliest this long after its beginning.
     */
    RUN_TOLD_MS = 300,
    STATUS_MAX_BYTES = 400,
};

struct stream *stream_get(struct gateway *gateway, const struct uuid *conversation_id,
                          const struct uuid *user_id)
{
    struct stream *stream = streams_find(&gateway->streams, conversation_id->text);

    if (stream != NULL)
        return stream;
    stream = NEW(struct stream);
    stream->gateway = gateway;
    stream->conversation_id = *conversation_id;
    stream->user_id = *user_id;
    stream->last_seq = -1;
    stream->looked_at_ms = clock_monotonic_ms();
    streams_add(&gateway->streams, stream);
    return stream;
}

void stream_drop_if_unused(struct stream *stream)
{
    if (stream->n_subscribers > 0)
        return;
    news_forget(&stream->gateway->news, stream);
    streams_remove(&stream->gateway->streams, stream);
    recent_free(stream->recent);
    snapshot_free(stream->snapshot);
    progress_log_free(stream->progress);
    mem_free(stream);
}

void stream_warm(struct stream *stream)
{
    struct stream_list *list = &stream->gateway->streams.warm;

    stream->used_at_ms = clock_monotonic_ms();
    stream_list_remove(list, stream, LINK_WARM);
    stream_list_append(list, stream, LINK_WARM);
}

void stream_cool(struct stream *stream)
{
    recent_free(TAKE_PTR(stream->recent));
    snapshot_free(TAKE_PTR(stream->snapshot));
    if (stream->progress == NULL || progress_log_is_open(stream->progress))
        return;
    stream->n_progress = progress_log_count(stream->progress);
    progress_log_free(TAKE_PTR(stream->progress));
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
    if (stream->recent == NULL)
        stream->recent = recent_new();
    recent_add(stream->recent, event->seq, &event->id, event->body, event->body_len);
    if (stream->progress != NULL)
        progress_log_see_event(stream->progress, &event->id);
    if (begins_run(event))
        stream->run_seen_ms = clock_monotonic_ms();
    stream->last_seq = event->seq;
    stream->has_news = true;
    stream_warm(stream);
}

void stream_begin_round(struct stream *stream)
{
    stream->snapshot_round++;
    stream->has_news = true;
    stream_warm(stream);
}

void stream_take_version(struct stream *stream, int64_t version)
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t due_ms = stream->run_seen_ms + RUN_TOLD_MS;

    if (version <= stream->snapshot_version)
        return;
    stream->snapshot_version = version;
    if (stream->progress != NULL)
        progress_log_abort(stream->progress, "the run is over", stream->last_seq);
    if (stream->run_seen_ms == 0 || due_ms <= now_ms) {
        stream_list_remove(&stream->gateway->streams.due, stream, LINK_DUE);
        stream_begin_round(stream);
        return;
    }
    stream->snapshot_due_ms = due_ms;
    stream_list_append(&stream->gateway->streams.due, stream, LINK_DUE);
    server_schedule(stream->gateway, due_ms - now_ms);
}

/* The number of pieces that no socket needs any more. */
static int64_t n_seen_by_all(const struct stream *stream)
{
    int64_t n_seen = INT64_MAX;

    for (const struct subscriber *subscriber = stream->subscribers; subscriber != NULL;
         subscriber = subscriber->next) {
        if (subscriber->progress.n_seen < n_seen)
            n_seen = subscriber->progress.n_seen;
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
        log_warning("progress.unreadable", LOG_ERROR(&err));
        return;
    }
    /* The event itself arrived first. */
    if (stream->recent != NULL && recent_has(stream->recent, &progress.item_id))
        return;
    if (stream->progress == NULL)
        stream->progress = progress_log_new(stream->n_progress);
    progress_log_keep(stream->progress, n_seen_by_all(stream));
    chunks = progress_chunks_of(json, &progress);
    while (progress_next_chunk(&chunks, &progress, &chunk))
        progress_log_add(stream->progress, &chunk, stream->last_seq);
    stream_warm(stream);
    stream_wake_all(stream);
}

struct frame *stream_event_frame(struct stream *stream, int64_t seq, enum frame_form form)
{
    return stream->recent != NULL ? recent_frame(stream->recent, seq, form) : NULL;
}

/* --- subscribers --- */

void stream_wake_all(struct stream *stream)
{
    for (struct subscriber *subscriber = stream->subscribers; subscriber != NULL;
         subscriber = subscriber->next)
        subscriber_wake(subscriber);
}

void stream_close_all(struct stream *stream)
{
    for (struct subscriber *subscriber = stream->subscribers; subscriber != NULL;
         subscriber = subscriber->next)
        subscriber_close(subscriber, SUBSCRIBER_NOT_FOUND);
}
