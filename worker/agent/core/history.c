#include "worker/agent/core/history.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/event.h"
#include "model/prompt/knowledge_request.h"
#include "model/prompt/project_knowledge.h"
#include "store/conversation/event_store.h"

#define ITEMS_AT_FIRST 32

bool stored_event_is(const struct stored_event *event, const char *kind)
{
    return text_equal(event->kind, kind);
}

bool stored_event_is_message(const struct stored_event *event, const char *source)
{
    return stored_event_is(event, "MessageEvent") &&
           text_equal(json_text_or(stored_event_json(event), "source", ""), source);
}

struct call_ref call_ref_of(const struct stored_event *action)
{
    return (struct call_ref){
        .action_id = action->id,
        .tool_name = json_text_or(stored_event_json(action), "tool_name", ""),
        .tool_call_id = json_text_or(stored_event_json(action), "tool_call_id", ""),
    };
}

void index_list_done(struct index_list *list)
{
    if (list == NULL)
        return;
    mem_free(list->items);
    *list = (struct index_list)INDEX_LIST_INIT;
}

void index_list_add(struct index_list *list, size_t index)
{
    if (list->n == list->size) {
        list->size = list->size == 0 ? ITEMS_AT_FIRST : 2 * list->size;
        list->items = mem_resize(list->items, list->size * sizeof(*list->items));
    }
    list->items[list->n++] = index;
}

const struct stored_event *history_find_result(const struct history *history, size_t action)
{
    const struct uuid *id = &history->items[action].id;

    for (size_t i = action + 1; i < history->n; i++) {
        if (text_equal(history->items[i].result_of.text, id->text))
            return &history->items[i];
    }
    return NULL;
}

bool history_has_result_of(const struct history *history, const struct uuid *action_id)
{
    for (size_t i = history->n; i > 0; i--) {
        if (text_equal(history->items[i - 1].result_of.text, action_id->text))
            return true;
    }
    return false;
}

void history_find_pending(const struct history *history, struct index_list *pending)
{
    for (size_t i = 0; i < history->n; i++) {
        const struct stored_event *event = &history->items[i];

        if (stored_event_is(event, "ActionEvent") && history_find_result(history, i) == NULL &&
            json_is_object(json_object_get(stored_event_json(event), "action")))
            index_list_add(pending, i);
    }
}

void history_drop_open_calls(struct history *history, int64_t through_seq)
{
    size_t n = 0;

    if (through_seq == 0)
        return;
    for (size_t i = 0; i < history->n; i++) {
        struct stored_event event = history->items[i];

        if (event.seq <= through_seq && stored_event_is(&event, "ActionEvent") &&
            history_find_result(history, i) == NULL) {
            stored_event_drop(&event);
            continue;
        }
        history->items[n++] = event;
    }
    history->n = n;
}

bool history_has_user_message_after(const struct history *history, int64_t seq)
{
    for (size_t i = history->n; i > 0 && history->items[i - 1].seq > seq; i--) {
        if (stored_event_is_message(&history->items[i - 1], "user"))
            return true;
    }
    return false;
}

const struct stored_event *history_first_user_message(const struct history *history)
{
    for (size_t i = 0; i < history->n; i++) {
        if (stored_event_is_message(&history->items[i], "user"))
            return &history->items[i];
    }
    return NULL;
}

static bool is_status(const struct stored_event *event)
{
    return event->state_key != NULL && text_equal(event->state_key, "execution_status");
}

const struct stored_event *history_find_status(const struct history *history)
{
    for (size_t i = history->n; i > 0; i--) {
        if (is_status(&history->items[i - 1]))
            return &history->items[i - 1];
    }
    return NULL;
}

bool history_event_begins_run(const struct stored_event *event)
{
    return is_status(event) &&
           text_equal(json_text_or(stored_event_json(event), "value", ""), "running");
}

int64_t history_count_iterations_until(const struct history *history, size_t end)
{
    const char *last_id = "";
    int64_t n = 0;

    for (size_t i = end; i > 0; i--) {
        const struct stored_event *event = &history->items[i - 1];
        const char *id = stored_event_response(event);

        if (event->seq <= history->gap.seq)
            return n + history->gap.n_iterations;
        if (history_event_begins_run(event))
            break;
        if (id[0] == '\0' || text_equal(id, last_id) || stored_event_is(event, "Condensation"))
            continue;
        last_id = id;
        n++;
    }
    return n;
}

int64_t history_count_iterations(const struct history *history)
{
    return history_count_iterations_until(history, history->n);
}

/* --- ids --- */

/* FNV-1a. Stored with views: another function would not find their ids. */
static uint32_t hash_of(const char *id)
{
    uint32_t hash = 2166136261U;

    for (const char *at = id; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619U;
    return hash;
}

/* True for an id that was left out; for a few others, too, which does no harm. */
static bool is_left_out(const struct history_gap *gap, const char *id)
{
    uint32_t hash = hash_of(id);

    for (size_t i = 0; i < gap->n_ids; i++) {
        if (gap->ids[i] == hash)
            return true;
    }
    return false;
}

static void note_id(struct history_gap *gap, const char *id)
{
    uint32_t hash = id != NULL ? hash_of(id) : 0;

    /* The calls of an answer follow one another. */
    if (id == NULL || (gap->n_ids > 1 && gap->ids[gap->n_ids - 2] == hash))
        return;
    if (gap->n_ids == gap->size) {
        gap->size = gap->size == 0 ? ITEMS_AT_FIRST : 2 * gap->size;
        gap->ids = mem_resize(gap->ids, gap->size * sizeof(*gap->ids));
    }
    gap->ids[gap->n_ids++] = hash;
}

void history_note_ids(struct history_gap *gap, const struct stored_event *event)
{
    note_id(gap, event->response_id);
    note_id(gap, event->call_id);
}

bool history_has_call_id(const struct history *history, const char *tool_call_id)
{
    for (size_t i = 0; i < history->n; i++) {
        const char *used = history->items[i].call_id;

        if (used != NULL && text_equal(used, tool_call_id))
            return true;
    }
    return is_left_out(&history->gap, tool_call_id);
}

bool history_has_response_id(const struct history *history, const char *response_id)
{
    for (size_t i = 0; i < history->n; i++) {
        const char *used = history->items[i].response_id;

        if (used != NULL && text_equal(used, response_id))
            return true;
    }
    return is_left_out(&history->gap, response_id);
}

bool history_has_answer(const struct history *history)
{
    for (size_t i = 0; i < history->n; i++) {
        if (history->items[i].response_id != NULL)
            return true;
    }
    return history->gap.n_ids > 0;
}

const json_t *stored_event_knowledge(const struct stored_event *event)
{
    return event->state_key != NULL && text_equal(event->state_key, PROJECT_KNOWLEDGE_KEY)
               ? project_knowledge_of(stored_event_json(event))
               : NULL;
}

const json_t *history_find_knowledge(const struct history *history)
{
    for (size_t i = history->n; i > 0; i--) {
        const json_t *knowledge = stored_event_knowledge(&history->items[i - 1]);

        if (knowledge != NULL)
            return knowledge;
    }
    return NULL;
}

size_t history_find_hook_request(const struct history *history)
{
    for (size_t i = history->n; i > 0; i--) {
        const struct stored_event *event = &history->items[i - 1];

        if (event->state_key == NULL || !text_equal(event->state_key, PROJECT_KNOWLEDGE_KEY))
            continue;
        if (knowledge_request_is_of_hook(stored_event_json(event)))
            return i - 1;
        if (knowledge_request_is_ended_by(stored_event_json(event)))
            break;
    }
    return history->n;
}

size_t history_index_after_answer(const struct history *history)
{
    size_t i = history->n;

    while (i > 0 && history->items[i - 1].response_id == NULL)
        i--;
    return i;
}

bool history_has_event(const struct history *history, const struct uuid *id)
{
    for (size_t i = history->n; i > 0; i--) {
        if (text_equal(history->items[i - 1].id.text, id->text))
            return true;
    }
    return false;
}

/* Sets the members that the worker reads from a stored event; kind and source are in the body. */
static void history_add_event(struct history *history, struct event *event, int64_t seq)
{
    struct stored_event *stored = history_add(history);

    *stored = (struct stored_event){
        .seq = seq, .id = event->id, .result_of = event->result_of, .is_of_run = true};
    stored_event_set_body(stored, event->kind, json_incref(event->json));
    if (event->text != NULL)
        stored_event_take_text(stored, TAKE_PTR(event->text), event->text_len);
    history->last_seq = seq;
    if (event->timestamp_us > history->last_timestamp_us)
        history->last_timestamp_us = event->timestamp_us;
}

void history_add_written(struct history *history, struct event_list *events, int64_t first_seq)
{
    for (size_t i = 0; i < events->n; i++)
        history_add_event(history, &events->items[i], first_seq + (int64_t)i);
}

size_t history_index_after(const struct history *history, int64_t seq)
{
    size_t index = history->n;

    while (index > 0 && history->items[index - 1].seq > seq)
        index--;
    return index;
}

/* What stays is what every event has; its body has no members. */
static void drop_body(struct stored_event *event)
{
    struct stored_event bare = *event;

    bare.body = json_null();
    bare.packed = NULL;
    bare.packed_len = 0;
    bare.call_id = NULL;
    bare.response_id = NULL;
    bare.state_key = NULL;
    stored_event_drop(event);
    *event = bare;
}

void history_thin(struct history *history, size_t n)
{
    for (size_t i = n; i < history->n; i++) {
        struct stored_event *event = &history->items[i];

        if (stored_event_is(event, "SystemPromptEvent"))
            (void)json_object_del(stored_event_json(event), "tools");
        else if (event->state_key != NULL && text_equal(event->state_key, "stats"))
            drop_body(event);
    }
}
