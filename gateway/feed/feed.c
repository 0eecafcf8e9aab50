#include "gateway/feed/feed.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "gateway/feed/model_waits.h"

void feed_init(struct feed *feed, struct db_async *live, struct db_async *back,
               struct ticker *ticker)
{
    stream_registry_init(&feed->streams, live, ticker);
    feed->model_waits = model_waits_new();
    feed->back = back;
}

void feed_done(struct feed *feed)
{
    stream_registry_done(&feed->streams);
    model_waits_free(TAKE_PTR(feed->model_waits));
}

void feed_take_change(struct feed *feed, const char *conversation_id)
{
    struct stream *stream = stream_registry_find(&feed->streams, conversation_id);

    if (stream != NULL)
        stream_registry_poll(&feed->streams, stream);
}

static void take_line(struct feed *feed, char *line)
{
    char *json = strchr(line, ' ');
    struct stream *stream = NULL;

    if (json == NULL)
        return;
    *json++ = '\0';
    model_waits_hear(feed->model_waits, line, json, clock_monotonic_ms());
    stream = stream_registry_find(&feed->streams, line);
    if (stream != NULL)
        stream_take_progress(stream, json);
}

void feed_take_progress(struct feed *feed, const char *lines)
{
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");
        CLEANUP(mem_freep) char *line = mem_dup_bytes(lines, len);

        lines += len + (lines[len] == '\n' ? 1 : 0);
        take_line(feed, line);
    }
}

void feed_refresh(struct feed *feed)
{
    stream_registry_poll_all(&feed->streams);
}

int64_t feed_tick(struct feed *feed, int64_t now_ms)
{
    return stream_registry_tick(&feed->streams, now_ms);
}
