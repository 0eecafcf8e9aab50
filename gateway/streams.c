#include "gateway/streams.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/gateway.h"
#include "gateway/news.h"
#include "gateway/stream.h"
#include "gateway/stream_list.h"

enum {
    BUCKETS_FIRST = 64,
    LOOK_MS = 2000,     /* how often each is checked, while there are few */
    LOOK_MAX = 1000,    /* limit per tick, however many there are */
    TRIM_STREAMS = 256, /* malloc_trim() runs once per this many released streams */
    WARM_MS = 10000,    /* how long events are kept after the last one */
};

/* --- a list through one link --- */

void stream_list_append(struct stream_list *list, struct stream *stream, enum stream_link link)
{
    struct stream_place *place = &stream->places[link];

    if (place->is_listed)
        return;
    *place = (struct stream_place){.previous = list->last, .is_listed = true};
    if (list->last != NULL)
        list->last->places[link].next = stream;
    else
        list->first = stream;
    list->last = stream;
}

void stream_list_remove(struct stream_list *list, struct stream *stream, enum stream_link link)
{
    struct stream_place *place = &stream->places[link];

    if (!place->is_listed)
        return;
    if (place->previous != NULL)
        place->previous->places[link].next = place->next;
    else
        list->first = place->next;
    if (place->next != NULL)
        place->next->places[link].previous = place->previous;
    else
        list->last = place->previous;
    *place = (struct stream_place){NULL, NULL, false};
}

/* --- by conversation --- */

/* FNV-1a: ids are random, so any hash distributes them. */
static size_t hash(const char *text)
{
    uint64_t value = 14695981039346656037U;

    for (; *text != '\0'; text++)
        value = (value ^ (unsigned char)*text) * 1099511628211U;
    return (size_t)value;
}

static struct stream **bucket_of(const struct streams *streams, const char *conversation_id)
{
    return &streams->buckets[hash(conversation_id) & (streams->n_buckets - 1)];
}

static void grow(struct streams *streams)
{
    struct stream **old = streams->buckets;
    size_t n_old = streams->n_buckets;

    streams->n_buckets = n_old > 0 ? 2 * n_old : BUCKETS_FIRST;
    streams->buckets = mem_alloc_array(streams->n_buckets, sizeof(struct stream *));
    for (size_t i = 0; i < n_old; i++) {
        while (old[i] != NULL) {
            struct stream *stream = old[i];
            struct stream **bucket = bucket_of(streams, stream->conversation_id.text);

            old[i] = stream->next_in_bucket;
            stream->next_in_bucket = *bucket;
            *bucket = stream;
        }
    }
    mem_free(old);
}

void streams_done(struct streams *streams)
{
    mem_free(streams->buckets);
    *streams = (struct streams){0};
}

struct stream *streams_find(const struct streams *streams, const char *conversation_id)
{
    struct stream *stream = streams->n_buckets > 0 ? *bucket_of(streams, conversation_id) : NULL;

    while (stream != NULL && !text_equal(stream->conversation_id.text, conversation_id))
        stream = stream->next_in_bucket;
    return stream;
}

void streams_add(struct streams *streams, struct stream *stream)
{
    struct stream **bucket = NULL;

    if (streams->n >= streams->n_buckets)
        grow(streams);
    bucket = bucket_of(streams, stream->conversation_id.text);
    stream->next_in_bucket = *bucket;
    *bucket = stream;
    streams->n++;
    stream_list_append(&streams->all, stream, LINK_ALL);
}

void streams_remove(struct streams *streams, struct stream *stream)
{
    struct stream **at = bucket_of(streams, stream->conversation_id.text);

    while (*at != stream)
        at = &(*at)->next_in_bucket;
    *at = stream->next_in_bucket;
    streams->n--;
    stream_list_remove(&streams->all, stream, LINK_ALL);
    stream_list_remove(&streams->due, stream, LINK_DUE);
    stream_list_remove(&streams->warm, stream, LINK_WARM);
}

/* --- later --- */

/*
 * Polls for events whose hint was lost. A tick checks at most LOOK_MAX streams: with many streams
 * each is checked less often, and the load on the database stays the same.
 */
static void look(struct gateway *gateway, int64_t now_ms)
{
    struct stream_list *all = &gateway->streams.all;

    for (size_t n = 0; n < LOOK_MAX && all->first != NULL; n++) {
        struct stream *stream = all->first;

        if (now_ms - stream->looked_at_ms < LOOK_MS)
            return;
        stream->looked_at_ms = now_ms;
        stream_list_remove(all, stream, LINK_ALL);
        stream_list_append(all, stream, LINK_ALL);
        news_want(&gateway->news, stream);
    }
}

/* Freed memory lies between live blocks: the allocator returns its pages only when told to. */
static void cool(struct streams *streams, int64_t now_ms)
{
    while (streams->warm.first != NULL && now_ms - streams->warm.first->used_at_ms >= WARM_MS) {
        struct stream *stream = streams->warm.first;

        stream_list_remove(&streams->warm, stream, LINK_WARM);
        stream_cool(stream);
        streams->n_cooled++;
    }
    if (streams->n_cooled == 0 || (streams->n_cooled < TRIM_STREAMS && streams->warm.first != NULL))
        return;
    streams->n_cooled = 0;
    (void)malloc_trim(0);
}

/* The list is short: runs that ended almost at once stay on it for RUN_TOLD_MS at most. */
static int64_t tell_ends(struct streams *streams, int64_t now_ms)
{
    struct stream *stream = streams->due.first;
    int64_t next_ms = -1;

    while (stream != NULL) {
        struct stream *next = stream->places[LINK_DUE].next;
        int64_t left_ms = stream->snapshot_due_ms - now_ms;

        if (left_ms <= 0) {
            stream_list_remove(&streams->due, stream, LINK_DUE);
            stream_begin_round(stream);
            stream_wake_all(stream);
        } else if (next_ms < 0 || left_ms < next_ms) {
            next_ms = left_ms;
        }
        stream = next;
    }
    return next_ms;
}

int64_t streams_tick(struct gateway *gateway, int64_t now_ms)
{
    struct streams *streams = &gateway->streams;

    look(gateway, now_ms);
    cool(streams, now_ms);
    return tell_ends(streams, now_ms);
}
