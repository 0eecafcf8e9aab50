#include "store/conversation/stored_event.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

static bool is_packable(const struct stored_event *event)
{
    return text_equal(event->kind, "ActionEvent") || text_equal(event->kind, "ObservationEvent");
}

void stored_event_set_body(struct stored_event *event, const char *kind, json_t *json)
{
    memcpy(event->kind, kind, strnlen(kind, sizeof(event->kind) - 1));
    event->body = json;
    event->response_id = json_text_or(json, "llm_response_id", NULL);
    if (text_equal(kind, "ActionEvent"))
        event->call_id = json_text_or(json, "tool_call_id", NULL);
    if (text_equal(kind, "ConversationStateUpdateEvent"))
        event->state_key = json_text_or(json, "key", NULL);
}

const char *stored_event_response(const struct stored_event *event)
{
    return event->response_id != NULL ? event->response_id : "";
}

static json_t *unpack(const struct stored_event *event)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    /* It is a text of this process, in its own memory. */
    if (json_parse_own(event->packed, event->packed_len, &json, &err) < 0)
        abort();
    return json;
}

json_t *stored_event_json(const struct stored_event *event)
{
    /* How the body is kept is no part of an event's value. */
    struct stored_event *kept = (struct stored_event *)(uintptr_t)event;

    if (kept->body == NULL && kept->packed != NULL)
        kept->body = unpack(kept);
    return kept->body;
}

static size_t id_bytes(const char *id)
{
    return id != NULL ? strlen(id) + 1 : 0;
}

/* Copies an id, or none, to the place; returns where the next one belongs. */
static char *move_id(const char **id, char *to)
{
    size_t n_bytes = id_bytes(*id);

    if (n_bytes == 0)
        return to;
    memcpy(to, *id, n_bytes);
    *id = to;
    return to + n_bytes;
}

void stored_event_take_text(struct stored_event *event, char *text, size_t text_len)
{
    char *end = NULL;

    if (!is_packable(event)) {
        mem_free(text);
        return;
    }
    event->packed =
        mem_resize(text, text_len + id_bytes(event->call_id) + id_bytes(event->response_id));
    event->packed_len = text_len;
    end = move_id(&event->call_id, event->packed + text_len);
    (void)move_id(&event->response_id, end);
}

static void write_text(struct stored_event *event)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    size_t len = 0;

    json_append_text(&text, event->body);
    len = text.len;
    stored_event_take_text(event, strbuf_take(&text), len);
}

void stored_event_pack(struct stored_event *event)
{
    if (event->body == NULL || !is_packable(event))
        return;
    if (event->packed == NULL)
        write_text(event);
    json_decref(event->body);
    event->body = NULL;
}

struct stored_event stored_event_copy(const struct stored_event *event)
{
    struct stored_event copy = *event;

    copy.body =
        event->body == NULL && event->packed != NULL ? unpack(event) : json_incref(event->body);
    copy.packed = NULL;
    copy.packed_len = 0;
    copy.summary = NULL;
    return copy;
}

void stored_event_drop(struct stored_event *event)
{
    json_decref(event->body);
    mem_free(event->packed);
    *event = (struct stored_event){0};
}
