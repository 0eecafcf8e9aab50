#include "worker/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/conversation/event_store.h"

#define FILE_MAX_BYTES 1000000

/* The action that a result belongs to: errors of calls name it by the call's id alone. */
static struct uuid action_of(const struct history *history, const json_t *event)
{
    const char *call_id = json_text_or(event, "tool_call_id", "");
    struct uuid none = UUID_INIT;

    for (size_t i = history->n; i > 0; i--) {
        const struct stored_event *before = &history->items[i - 1];

        if (text_equal(before->kind, "ActionEvent") &&
            text_equal(json_text_or(stored_event_json(before), "tool_call_id", ""), call_id))
            return before->id;
    }
    return none;
}

static void add(struct history *history, json_t *event)
{
    const char *kind = json_text_or(event, "kind", "");
    struct stored_event stored = {.seq = (int64_t)history->n + 1};

    stored_event_set_body(&stored, kind, json_incref(event));
    if (!uuid_parse(json_text_or(event, "id", ""), &stored.id))
        stored.id = uuid_random();
    if (!text_equal(kind, "ActionEvent") && json_object_get(event, "tool_call_id") != NULL)
        stored.result_of = action_of(history, event);
    history->items = mem_resize(history->items, (history->n + 1) * sizeof(*history->items));
    history->items[history->n++] = stored;
    history->size = history->n;
    history->last_seq = stored.seq;
}

void history_add_json(struct history *history, const json_t *events)
{
    for (size_t i = 0; i < json_array_size(events); i++)
        add(history, json_array_get(events, i));
}

json_t *test_json(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    if (json_parse(text, strlen(text), &json, &err) < 0)
        fail_msg("%s", err.message);
    return json;
}

void history_add_text(struct history *history, const char *events)
{
    json_auto_t *list = test_json(events);

    history_add_json(history, list);
}

json_t *worker_data(const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    strbuf_appendf(&path, "%s/tests/data/worker/%s", DEFT_TOP_SRCDIR, name);
    if (file_read(path.text, FILE_MAX_BYTES, &text, &err) < 0 ||
        json_parse(text.text, text.len, &json, &err) < 0)
        fail_msg("%s", err.message);
    return json;
}
