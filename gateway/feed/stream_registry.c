#include "gateway/feed/stream_registry.h"

#include <malloc.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <libwebsockets.h>

enum {
    POLL_MS = 2000,     /* how often each is polled without a hint, while there are few */
    POLL_MAX = 1000,    /* limit per tick, however many there are */
    TRIM_STREAMS = 256, /* malloc_trim() runs once per this many released streams */
    WARM_MS = 10000,    /* how long events are kept after the last one */
};

void stream_registry_init(struct stream_registry *registry, struct db_async *live,
                          struct ticker *ticker)
{
    *registry = (struct stream_registry){.parts = {.live = live, .ticker = ticker}};
    TAILQ_INIT(&registry->all);
    TAILQ_INIT(&registry->parts.due);
    TAILQ_INIT(&registry->parts.warm);
    event_poller_init(&registry->poller, live);
}

void stream_registry_done(struct stream_registry *registry)
{
    event_poller_done(&registry->poller);
}

/* --- by conversation --- */

static int compare(const void *one, const void *other)
{
    return strcmp(one, other);
}

struct stream *stream_registry_find(const struct stream_registry *registry,
                                    const char *conversation_id)
{
    char *const *node = tfind(conversation_id, &registry->by_conversation, compare);

    return node != NULL ? lws_container_of(*node, struct stream, conversation_id.text) : NULL;
}

struct stream *stream_registry_get(struct stream_registry *registry,
                                   const struct uuid *conversation_id, const struct uuid *user_id)
{
    struct stream *stream = stream_registry_find(registry, conversation_id->text);

    if (stream != NULL)
        return stream;
    stream = stream_new(&registry->parts, conversation_id, user_id);
    if (tsearch(stream->conversation_id.text, &registry->by_conversation, compare) == NULL)
        abort(); /* out of memory, as in mem_alloc() */
    TAILQ_INSERT_TAIL(&registry->all, stream, all);
    return stream;
}

void stream_registry_drop_if_unused(struct stream_registry *registry, struct stream *stream)
{
    if (stream->n_readers > 0)
        return;
    event_poller_forget(&registry->poller, stream);
    (void)tdelete(stream->conversation_id.text, &registry->by_conversation, compare);
    TAILQ_REMOVE(&registry->all, stream, all);
    stream_free(stream);
}

/* --- polling --- */

void stream_registry_poll(struct stream_registry *registry, struct stream *stream)
{
    event_poller_want(&registry->poller, stream);
}

void stream_registry_poll_all(struct stream_registry *registry)
{
    event_poller_want_all(&registry->poller, &registry->all);
}

/* --- later --- */

/*
 * Polls for events whose hint was lost. A tick polls at most POLL_MAX streams: with many streams
 * each is polled less often, and the load on the database stays the same.
 */
static void poll_oldest(struct stream_registry *registry, int64_t now_ms)
{
    for (size_t n = 0; n < POLL_MAX; n++) {
        struct stream *stream = TAILQ_FIRST(&registry->all);

        if (stream == NULL || now_ms - stream->polled_at_ms < POLL_MS)
            return;
        stream->polled_at_ms = now_ms;
        TAILQ_REMOVE(&registry->all, stream, all);
        TAILQ_INSERT_TAIL(&registry->all, stream, all);
        event_poller_want(&registry->poller, stream);
    }
}

/* Freed memory lies between live blocks: the allocator returns its pages only when told to. */
static void cool(struct stream_registry *registry, int64_t now_ms)
{
    const struct stream_list *warm = &registry->parts.warm;
    struct stream *stream = TAILQ_FIRST(warm);

    while (stream != NULL && now_ms - stream->used_at_ms >= WARM_MS) {
        stream_cool(stream);
        registry->n_cooled++;
        stream = TAILQ_FIRST(warm);
    }
    if (registry->n_cooled == 0 || (registry->n_cooled < TRIM_STREAMS && stream != NULL))
        return;
    registry->n_cooled = 0;
    (void)malloc_trim(0);
}

/* The list is short: runs that ended almost at once stay on it for about a second. */
static int64_t tell_ends(struct stream_registry *registry, int64_t now_ms)
{
    struct stream *stream = TAILQ_FIRST(&registry->parts.due);
    int64_t next_ms = -1;

    while (stream != NULL) {
        struct stream *next = TAILQ_NEXT(stream, due);
        int64_t left_ms = stream->snapshot_due_ms - now_ms;

        if (left_ms <= 0)
            stream_end_run(stream);
        else if (next_ms < 0 || left_ms < next_ms)
            next_ms = left_ms;
        stream = next;
    }
    return next_ms;
}

int64_t stream_registry_tick(struct stream_registry *registry, int64_t now_ms)
{
    poll_oldest(registry, now_ms);
    cool(registry, now_ms);
    return tell_ends(registry, now_ms);
}
