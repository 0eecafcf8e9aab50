#include "gateway/stream.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "gateway/frame.h"
#include "gateway/gateway.h"
#include "gateway/subscriber.h"
#include "model/conversation.h"
#include "store/event_store.h"

enum {
    /* A client arms its end-of-run detector only after the answer to POST /run has reached it. */
    SNAPSHOT_REPEAT_MS = 300,
};

struct stream *stream_find(struct gateway *gateway, const char *conversation_id)
{
    for (struct stream *stream = gateway->streams; stream != NULL; stream = stream->next) {
        if (text_equal(stream->conversation_id.text, conversation_id))
            return stream;
    }
    return NULL;
}

struct stream *stream_get(struct gateway *gateway, const struct uuid *conversation_id,
                          const struct uuid *user_id)
{
    struct stream *stream = stream_find(gateway, conversation_id->text);

    if (stream != NULL)
        return stream;
    stream = NEW(struct stream);
    stream->gateway = gateway;
    stream->conversation_id = *conversation_id;
    stream->user_id = *user_id;
    stream->last_seq = -1;
    stream->next = gateway->streams;
    if (gateway->streams != NULL)
        gateway->streams->previous = stream;
    gateway->streams = stream;
    gateway->n_streams++;
    return stream;
}

void stream_drop_if_unused(struct stream *stream)
{
    if (stream->n_subscribers > 0)
        return;
    if (stream->previous != NULL)
        stream->previous->next = stream->next;
    else
        stream->gateway->streams = stream->next;
    if (stream->next != NULL)
        stream->next->previous = stream->previous;
    stream->gateway->n_streams--;
    for (size_t i = 0; i < STREAM_CACHE_EVENTS; i++)
        mem_free(stream->cache[i]);
    frame_release(stream->snapshot);
    mem_free(stream);
}

const char *stream_cached(const struct stream *stream, int64_t seq)
{
    if (seq > stream->last_seq || seq <= stream->last_seq - STREAM_CACHE_EVENTS || seq < 1)
        return NULL;
    return stream->cache[seq % STREAM_CACHE_EVENTS];
}

static void keep(struct stream *stream, struct event_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        char **slot = &stream->cache[batch->seqs[i] % STREAM_CACHE_EVENTS];

        mem_free(*slot);
        *slot = TAKE_PTR(batch->bodies[i]);
        stream->last_seq = batch->seqs[i];
    }
}

/* A new stream begins at the log's end: its subscribers fetch what is older by themselves. */
static int find_end(struct stream *stream, struct error *err)
{
    if (stream->last_seq >= 0)
        return 0;
    return event_store_seq_before(stream->gateway->db, &stream->conversation_id, "9999",
                                  &stream->last_seq, err);
}

static void forget_snapshot(struct stream *stream)
{
    frame_release(stream->snapshot);
    stream->snapshot = NULL;
}

static int read_new(struct stream *stream, struct error *err)
{
    int64_t version = 0;
    size_t n = 0;

    if (find_end(stream, err) < 0)
        return -1;
    do {
        CLEANUP(event_batch_done) struct event_batch batch = {0};

        if (event_store_read_batch(stream->gateway->db, &stream->conversation_id, stream->last_seq,
                                   STREAM_CACHE_EVENTS, &batch, err) < 0)
            return -1;
        n = batch.n;
        version = batch.snapshot_version;
        keep(stream, &batch);
    } while (n == STREAM_CACHE_EVENTS);
    if (version > stream->snapshot_version) {
        stream->snapshot_version = version;
        stream->snapshot_round++;
        forget_snapshot(stream);
        stream->repeat_at_ms = clock_monotonic_ms() + SNAPSHOT_REPEAT_MS;
    }
    return 0;
}

static void wake_all(struct stream *stream)
{
    for (struct subscriber *subscriber = stream->subscribers; subscriber != NULL;
         subscriber = subscriber->next)
        subscriber_wake(subscriber);
}

static void close_all(struct stream *stream)
{
    for (struct subscriber *subscriber = stream->subscribers; subscriber != NULL;
         subscriber = subscriber->next)
        subscriber_close(subscriber, SUBSCRIBER_NOT_FOUND);
}

void stream_refresh(struct stream *stream)
{
    struct error err = ERROR_INIT;

    stream->is_dirty = false;
    if (read_new(stream, &err) == 0) {
        wake_all(stream);
        return;
    }
    if (err.code == ERROR_NOT_FOUND) {
        close_all(stream);
        return;
    }
    stream->is_dirty = true;
    log_warning("stream.read_failed", LOG_STR("conversation_id", stream->conversation_id.text),
                LOG_ERROR(&err));
}

static int build_snapshot(struct stream *stream, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct conversation_scope scope = {.user_id = stream->user_id};

    if (conversation_store_load(stream->gateway->db, &scope, &stream->conversation_id,
                                &conversation, err) < 0)
        return -1;
    conversation_append_snapshot(&conversation, clock_utc_us(), &text);
    frame_release(stream->snapshot);
    stream->snapshot = frame_new(text.text, text.len, 0);
    stream->snapshot_seq = conversation.last_seq;
    return 0;
}

/*
 * One snapshot serves all subscribers of a round, unless the log has moved on meanwhile: an old
 * "finished" behind a new run would end that run for its client.
 */
int stream_snapshot(struct stream *stream, struct frame **frame_out, int64_t *seq_out,
                    struct error *err)
{
    if (stream->snapshot == NULL || stream->snapshot_seq != stream->last_seq) {
        if (build_snapshot(stream, err) < 0)
            return -1;
    }
    *frame_out = frame_hold(stream->snapshot);
    *seq_out = stream->snapshot_seq;
    return 0;
}

void stream_tick(struct stream *stream, int64_t now_ms)
{
    bool repeats = stream->repeat_at_ms > 0 && now_ms >= stream->repeat_at_ms;

    if (repeats) {
        stream->repeat_at_ms = 0;
        stream->snapshot_round++;
        forget_snapshot(stream);
    }
    if (stream->is_dirty)
        stream_refresh(stream);
    else if (repeats)
        wake_all(stream);
}
