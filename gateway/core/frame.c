#include "gateway/core/frame.h"

#include <string.h>

#include <jansson.h>
#include <libwebsockets.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"

struct frame *frame_new(const char *text, size_t len)
{
    struct frame *frame = mem_alloc(sizeof(*frame) + LWS_PRE + len + 1);

    frame->n_holders = 1;
    frame->len = len;
    memcpy(frame->bytes + LWS_PRE, text, len);
    return frame;
}

struct frame *frame_hold(struct frame *frame)
{
    frame->n_holders++;
    return frame;
}

void frame_release(struct frame *frame)
{
    if (frame != NULL && --frame->n_holders == 0)
        mem_free(frame);
}

unsigned char *frame_text(struct frame *frame)
{
    return frame->bytes + LWS_PRE;
}

/* The event's text is inserted as stored: parsing a megabyte to print it again is waste. */
static struct frame *wrap(const char *head, const char *event)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_append(&text, head);
    strbuf_append(&text, event);
    strbuf_append_char(&text, '}');
    return frame_new(text.text, text.len);
}

struct frame *frame_durable(const char *event, int64_t seq)
{
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;

    /* The wire counts from 0, the store from 1. */
    /* NOLINTNEXTLINE(words): the head of a frame whose event goes in as it was stored */
    strbuf_appendf(&head, "{\"type\":\"durable\",\"seq\":%lld,\"event\":", (long long)seq - 1);
    return wrap(head.text, event);
}

struct frame *frame_transient(const char *event)
{
    return wrap("{\"type\":\"transient\",\"event\":", event);
}

/* silent_ms is deft's own member: clients ignore members that they do not know. */
struct frame *frame_sync(const struct sync *sync)
{
    json_auto_t *json = json_object();
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    json_put_text(json, "type", "sync");
    if (sync->from_seq >= -1)
        json_put(json, "from_seq", json_integer(sync->from_seq));
    if (sync->through_seq >= 0)
        json_put(json, "through_seq", json_integer(sync->through_seq));
    if (sync->silent_ms >= SYNC_SILENT_MS)
        json_put(json, "silent_ms", json_integer(sync->silent_ms));
    json_append_text(&text, json);
    return frame_new(text.text, text.len);
}
