#include "gateway/recent.h"

#include "base/mem.h"
#include "base/text.h"
#include "gateway/frame.h"

enum { EVENTS_MAX = 64, BYTES_MAX = 2 << 20 };

struct recent_event {
    struct uuid id;
    struct frame *forms[N_FORMS]; /* the bare form always; others NULL until first used */
};

struct recent {
    int64_t first_seq;
    int64_t next_seq; /* first_seq when empty */
    size_t n_bytes;   /* in the bare frames */
    struct recent_event events[EVENTS_MAX];
};

struct recent *recent_new(void)
{
    return NEW(struct recent);
}

static struct recent_event *event_at(struct recent *recent, int64_t seq)
{
    return &recent->events[seq % EVENTS_MAX];
}

static void drop_oldest(struct recent *recent)
{
    struct recent_event *oldest = event_at(recent, recent->first_seq++);

    recent->n_bytes -= oldest->forms[FORM_EVENT]->len;
    for (size_t i = 0; i < N_FORMS; i++)
        frame_release(TAKE_PTR(oldest->forms[i]));
}

static void drop_all(struct recent *recent)
{
    while (recent->first_seq < recent->next_seq)
        drop_oldest(recent);
}

void recent_free(struct recent *recent)
{
    if (recent == NULL)
        return;
    drop_all(recent);
    mem_free(recent);
}

void recent_add(struct recent *recent, int64_t seq, const struct uuid *id, const char *body,
                size_t body_len)
{
    struct recent_event *event = NULL;

    if (seq != recent->next_seq) {
        drop_all(recent);
        recent->first_seq = seq;
    } else if (seq - recent->first_seq == EVENTS_MAX) {
        drop_oldest(recent);
    }
    event = event_at(recent, seq);
    event->id = *id;
    event->forms[FORM_EVENT] = frame_new(body, body_len);
    recent->n_bytes += body_len;
    recent->next_seq = seq + 1;
    while (recent->n_bytes > BYTES_MAX && recent->first_seq + 1 < recent->next_seq)
        drop_oldest(recent);
}

struct frame *recent_frame(struct recent *recent, int64_t seq, enum frame_form form)
{
    struct recent_event *event = NULL;

    if (seq < recent->first_seq || seq >= recent->next_seq)
        return NULL;
    event = event_at(recent, seq);
    if (event->forms[form] == NULL)
        event->forms[form] = frame_durable((const char *)frame_text(event->forms[FORM_EVENT]), seq);
    return frame_hold(event->forms[form]);
}

bool recent_has(const struct recent *recent, const struct uuid *id)
{
    for (int64_t seq = recent->first_seq; seq < recent->next_seq; seq++) {
        if (text_equal(recent->events[seq % EVENTS_MAX].id.text, id->text))
            return true;
    }
    return false;
}
