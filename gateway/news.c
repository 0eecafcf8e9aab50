#include "gateway/news.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "gateway/stream.h"
#include "gateway/streams.h"
#include "store/db/db_pipe.h"

/* Maximum number of streams in one query. */
enum { STREAMS_MAX = 256 };

static void ask(struct news *news);

static void on_event(struct news_question *question, const struct fresh_event *event)
{
    struct news *news = lws_container_of(question, struct news, question);
    struct stream *stream = news->asked[event->watch];

    if (stream != NULL)
        stream_take_event(stream, event);
}

/* Handles one stream's part of the result. */
static void settle(struct news *news, struct stream *stream, const struct watched *watch)
{
    stream->is_asked = false;
    if (watch->is_gone) {
        stream_close_all(stream);
        return;
    }
    stream_take_version(stream, watch->snapshot_version);
    if (watch->has_more)
        news_want(news, stream);
    if (stream->has_news)
        stream_wake_all(stream);
    stream->has_news = false;
}

/* PostgreSQL is unavailable: the pipe delays the next query until it has reconnected. */
static void try_again(struct news *news, struct stream *stream)
{
    stream->is_asked = false;
    stream->has_news = false;
    news_want(news, stream);
}

static void on_done(struct news_question *question, const struct error *err)
{
    struct news *news = lws_container_of(question, struct news, question);
    struct stream **asked = TAKE_PTR(news->asked);
    struct watched *watches = TAKE_PTR(question->watches);
    size_t n = question->n;

    if (err != NULL)
        log_warning("news.failed", LOG_INT("streams", (int64_t)n), LOG_ERROR(err));
    question->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (asked[i] == NULL)
            continue;
        if (err != NULL)
            try_again(news, asked[i]);
        else
            settle(news, asked[i], &watches[i]);
    }
    mem_free(asked);
    mem_free(watches);
    ask(news);
}

static struct stream *take_first(struct news *news)
{
    struct stream *stream = news->first;

    news->first = stream->next_dirty;
    if (news->first == NULL)
        news->last = NULL;
    stream->next_dirty = NULL;
    stream->is_dirty = false;
    return stream;
}

/* Queries all queued streams, unless a query is under way. */
static void ask(struct news *news)
{
    struct news_question *question = &news->question;

    if (news->first == NULL || news->asked != NULL)
        return;
    news->asked = mem_alloc_array(STREAMS_MAX, sizeof(*news->asked));
    question->watches = mem_alloc_array(STREAMS_MAX, sizeof(*question->watches));
    for (question->n = 0; question->n < STREAMS_MAX && news->first != NULL; question->n++) {
        struct stream *stream = take_first(news);

        news->asked[question->n] = stream;
        stream->is_asked = true;
        stream->asked_at = question->n;
        question->watches[question->n] =
            (struct watched){.conversation_id = stream->conversation_id,
                             .last_seq = stream->last_seq,
                             .snapshot_version = stream->snapshot_version};
    }
    live_ask_news(news->gateway->live, question);
}

void news_init(struct news *news, struct gateway *gateway)
{
    *news = (struct news){.gateway = gateway, .question = {.event = on_event, .done = on_done}};
}

void news_done(struct news *news)
{
    db_ticket_forget(&news->question.ticket);
    mem_free(news->asked);
    mem_free(news->question.watches);
    *news = (struct news){.gateway = NULL};
}

static void add(struct news *news, struct stream *stream)
{
    if (stream->is_dirty)
        return;
    stream->is_dirty = true;
    stream->next_dirty = NULL;
    if (news->last != NULL)
        news->last->next_dirty = stream;
    else
        news->first = stream;
    news->last = stream;
}

void news_want(struct news *news, struct stream *stream)
{
    add(news, stream);
    ask(news);
}

void news_want_all(struct news *news)
{
    struct stream *stream = news->gateway->streams.all.first;

    for (; stream != NULL; stream = stream->places[LINK_ALL].next)
        add(news, stream);
    ask(news);
}

static void remove_dirty(struct news *news, struct stream *stream)
{
    struct stream **at = &news->first;
    struct stream *previous = NULL;

    while (*at != stream) {
        previous = *at;
        at = &(*at)->next_dirty;
    }
    *at = stream->next_dirty;
    if (news->last == stream)
        news->last = previous;
}

void news_forget(struct news *news, struct stream *stream)
{
    if (stream->is_asked && news->asked != NULL && news->asked[stream->asked_at] == stream)
        news->asked[stream->asked_at] = NULL;
    if (stream->is_dirty)
        remove_dirty(news, stream);
}
