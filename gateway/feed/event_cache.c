#include "gateway/feed/event_cache.h"

#include "base/mem.h"
#include "base/text.h"
#include "gateway/core/frame.h"

enum { EVENTS_MAX = 64, BYTES_MAX = 2 << 20 };

struct cached_event {
    struct uuid id;
    struct frame *forms[N_FORMS]; /* the bare form always; others NULL until first used */
};

struct event_cache {
    int64_t first_seq;
    int64_t next_seq; /* first_seq when empty */
    size_t n_bytes;   /* in the bare frames */
    struct cached_event events[EVENTS_MAX];
};

struct event_cache *event_cache_new(void)
{
    return NEW(struct event_cache);
}

static struct cached_event *event_at(struct event_cache *cache, int64_t seq)
{
    return &cache->events[seq % EVENTS_MAX];
}

static void drop_oldest(struct event_cache *cache)
{
    struct cached_event *oldest = event_at(cache, cache->first_seq++);

    cache->n_bytes -= oldest->forms[FORM_EVENT]->len;
    for (size_t i = 0; i < N_FORMS; i++)
        frame_release(TAKE_PTR(oldest->forms[i]));
}

static void drop_all(struct event_cache *cache)
{
    while (cache->first_seq < cache->next_seq)
        drop_oldest(cache);
}

void event_cache_free(struct event_cache *cache)
{
    if (cache == NULL)
        return;
    drop_all(cache);
    mem_free(cache);
}

void event_cache_add(struct event_cache *cache, int64_t seq, const struct uuid *id,
                     const char *body, size_t body_len)
{
    struct cached_event *event = NULL;

    if (seq != cache->next_seq) {
        drop_all(cache);
        cache->first_seq = seq;
    } else if (seq - cache->first_seq == EVENTS_MAX) {
        drop_oldest(cache);
    }
    event = event_at(cache, seq);
    event->id = *id;
    event->forms[FORM_EVENT] = frame_new(body, body_len);
    cache->n_bytes += body_len;
    cache->next_seq = seq + 1;
    while (cache->n_bytes > BYTES_MAX && cache->first_seq + 1 < cache->next_seq)
        drop_oldest(cache);
}

struct frame *event_cache_frame(struct event_cache *cache, int64_t seq, enum frame_form form)
{
    struct cached_event *event = NULL;

    if (seq < cache->first_seq || seq >= cache->next_seq)
        return NULL;
    event = event_at(cache, seq);
    if (event->forms[form] == NULL)
        event->forms[form] = frame_durable((const char *)frame_text(event->forms[FORM_EVENT]), seq);
    return frame_hold(event->forms[form]);
}

bool event_cache_has(const struct event_cache *cache, const struct uuid *id)
{
    for (int64_t seq = cache->first_seq; seq < cache->next_seq; seq++) {
        if (text_equal(cache->events[seq % EVENTS_MAX].id.text, id->text))
            return true;
    }
    return false;
}
