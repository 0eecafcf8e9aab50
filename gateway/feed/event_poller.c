#include "gateway/feed/event_poller.h"

#include <stdbool.h>

#include <libwebsockets.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/db/db_async.h"

/* Maximum number of streams in one query. */
enum { STREAMS_MAX = 256 };

static void query_new_events(struct event_poller *poller);

static void enqueue(struct event_poller *poller, struct stream *stream)
{
    if (stream->is_queued)
        return;
    stream->is_queued = true;
    TAILQ_INSERT_TAIL(&poller->queue, stream, poll);
}

static void on_event(struct new_events_query *query, const struct fresh_event *event)
{
    struct event_poller *poller = lws_container_of(query, struct event_poller, query);
    struct stream *stream = poller->asked[event->watch];

    if (stream != NULL)
        stream_take_event(stream, event);
}

/* Handles one stream's part of the result. */
static void settle(struct event_poller *poller, struct stream *stream, const struct watched *watch)
{
    stream->is_polled = false;
    if (watch->is_gone) {
        stream_close_all(stream);
        return;
    }
    stream_take_version(stream, watch->snapshot_version);
    if (watch->has_more)
        enqueue(poller, stream);
    if (stream->has_news)
        stream_wake_all(stream);
    stream->has_news = false;
}

/* PostgreSQL is unavailable: the pipe delays the next query until it has reconnected. */
static void try_again(struct event_poller *poller, struct stream *stream)
{
    stream->is_polled = false;
    stream->has_news = false;
    enqueue(poller, stream);
}

/* The next query starts only when all are settled: a stream has one place in one query. */
static void on_done(struct new_events_query *query, const struct error *err)
{
    struct event_poller *poller = lws_container_of(query, struct event_poller, query);
    struct stream **asked = TAKE_PTR(poller->asked);
    struct watched *watches = TAKE_PTR(query->watches);
    size_t n = query->n;

    if (err != NULL)
        log_warning("event_poll.failed", LOG_INT("streams", (int64_t)n), LOG_ERROR(err));
    query->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (asked[i] == NULL)
            continue;
        if (err != NULL)
            try_again(poller, asked[i]);
        else
            settle(poller, asked[i], &watches[i]);
    }
    mem_free(asked);
    mem_free(watches);
    query_new_events(poller);
}

static struct stream *take_first(struct event_poller *poller)
{
    struct stream *stream = TAILQ_FIRST(&poller->queue);

    TAILQ_REMOVE(&poller->queue, stream, poll);
    stream->is_queued = false;
    return stream;
}

/* Queries all queued streams, unless a query is under way. */
static void query_new_events(struct event_poller *poller)
{
    struct new_events_query *query = &poller->query;

    if (TAILQ_EMPTY(&poller->queue) || poller->asked != NULL)
        return;
    poller->asked = mem_alloc_array(STREAMS_MAX, sizeof(*poller->asked));
    query->watches = mem_alloc_array(STREAMS_MAX, sizeof(*query->watches));
    for (query->n = 0; query->n < STREAMS_MAX && !TAILQ_EMPTY(&poller->queue); query->n++) {
        struct stream *stream = take_first(poller);

        poller->asked[query->n] = stream;
        stream->is_polled = true;
        stream->poll_index = query->n;
        query->watches[query->n] = (struct watched){.conversation_id = stream->conversation_id,
                                                    .last_seq = stream->last_seq,
                                                    .snapshot_version = stream->snapshot_version};
    }
    async_store_read_new(poller->live, query);
}

void event_poller_init(struct event_poller *poller, struct db_async *live)
{
    *poller = (struct event_poller){.live = live, .query = {.event = on_event, .done = on_done}};
    TAILQ_INIT(&poller->queue);
}

void event_poller_done(struct event_poller *poller)
{
    async_query_cancel(&poller->query.pending);
    mem_free(TAKE_PTR(poller->asked));
    mem_free(TAKE_PTR(poller->query.watches));
}

void event_poller_want(struct event_poller *poller, struct stream *stream)
{
    enqueue(poller, stream);
    query_new_events(poller);
}

void event_poller_want_all(struct event_poller *poller, const struct stream_list *all)
{
    struct stream *stream = NULL;

    TAILQ_FOREACH (stream, all, all)
        enqueue(poller, stream);
    query_new_events(poller);
}

void event_poller_forget(struct event_poller *poller, struct stream *stream)
{
    if (stream->is_polled && poller->asked != NULL && poller->asked[stream->poll_index] == stream)
        poller->asked[stream->poll_index] = NULL;
    if (stream->is_queued)
        TAILQ_REMOVE(&poller->queue, stream, poll);
    stream->is_queued = false;
}
