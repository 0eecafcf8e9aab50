#include "store/conversation/event_insert.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "store/db/db_query.h"

void event_insert_done(struct event_insert *arrays)
{
    strbuf_done(&arrays->id);
    strbuf_done(&arrays->kind);
    strbuf_done(&arrays->source);
    strbuf_done(&arrays->timestamp);
    strbuf_done(&arrays->result_of);
    strbuf_done(&arrays->body);
}

void event_list_stamp(struct event_list *events, const struct conversation *conversation)
{
    int64_t stamp_us = clock_utc_us();

    if (stamp_us <= conversation->last_timestamp_us)
        stamp_us = conversation->last_timestamp_us + 1;
    for (size_t i = 0; i < events->n; i++) {
        if (!uuid_is_set(&events->items[i].id))
            events->items[i].id = uuid_random();
        events->items[i].timestamp_us = stamp_us++;
    }
}

static bool is_leaf(const struct event *event)
{
    return !text_equal(event->kind, "ConversationStateUpdateEvent");
}

const struct uuid *event_list_leaf(const struct event_list *events)
{
    for (size_t i = events->n; i > 0; i--) {
        if (is_leaf(&events->items[i - 1]))
            return &events->items[i - 1].id;
    }
    return NULL;
}

int event_write_checked(struct event *event, struct error *err)
{
    event_write_text(event);
    if (event->text_len > EVENT_MAX_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "%s of %zu bytes; the limit is %d", event->kind,
                         event->text_len, EVENT_MAX_BYTES);
    return 0;
}

static int add_event(struct event_insert *arrays, struct event *event, struct error *err)
{
    char timestamp[CLOCK_TEXT_BYTES];

    if (event_write_checked(event, err) < 0)
        return -1;
    clock_format_naive(event->timestamp_us, timestamp);
    db_array_add(&arrays->id, event->id.text);
    db_array_add(&arrays->kind, event->kind);
    db_array_add(&arrays->source, event->source);
    db_array_add(&arrays->timestamp, timestamp);
    db_array_add(&arrays->result_of, db_uuid(&event->result_of));
    db_array_add(&arrays->body, event->text);
    return 0;
}

int event_insert_fill(struct event_insert *arrays, const struct conversation *conversation,
                      struct event_list *events, struct error *err)
{
    struct strbuf *const all[] = {&arrays->id,        &arrays->kind,      &arrays->source,
                                  &arrays->timestamp, &arrays->result_of, &arrays->body};

    event_list_stamp(events, conversation);
    if (event_list_leaf(events) != NULL)
        arrays->leaf = *event_list_leaf(events);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        db_array_begin(all[i]);
    for (size_t i = 0; i < events->n; i++) {
        if (add_event(arrays, &events->items[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        db_array_end(all[i]);
    return 0;
}

void conversation_move_log_end(struct conversation *conversation, const struct event_list *events)
{
    conversation->last_seq += (int64_t)events->n;
    for (size_t i = 0; i < events->n; i++) {
        conversation->last_timestamp_us = events->items[i].timestamp_us;
        if (is_leaf(&events->items[i]))
            conversation->leaf_event_id = events->items[i].id;
        if (text_equal(events->items[i].kind, "SystemPromptEvent"))
            conversation->is_begun = true;
    }
}
