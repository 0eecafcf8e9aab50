#include "worker/agent/core/messages.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/observation_text.h"
#include "model/prompt/project_knowledge.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/model_view.h"

/* A longer result is cut in the middle: head and tail are the most informative. */
#define RESULT_MAX_CHARS 50000
#define TOOL_NAME_MAX_BYTES 64
#define TOOL_NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define CLIPPED_NOTE "\n[… the middle of this result is left out …]\n"
#define ERROR_PREFIX "[An error occurred during execution.]\n"

/* {"type":"text","text":…}; shares the string. */
static json_t *text_part(json_t *text)
{
    json_t *part = json_object();

    json_put(part, "type", json_text_of("text"));
    json_put(part, "text", json_incref(text));
    return part;
}

static void push_text(json_t *parts, const char *text, size_t len)
{
    json_auto_t *string = json_text(text, len);

    json_push(parts, text_part(string));
}

static void push_images(json_t *parts, const json_t *image)
{
    json_t *urls = json_object_get(image, "image_urls");

    for (size_t i = 0; i < json_array_size(urls); i++) {
        json_t *part = json_object();
        json_t *target = json_object();

        json_put(target, "url", json_incref(json_array_get(urls, i)));
        json_put(part, "type", json_text_of("image_url"));
        json_put(part, "image_url", target);
        json_push(parts, part);
    }
}

/* Adds the parts of a stored content list, except blank text, which some models refuse. */
static void push_content(json_t *parts, const json_t *content)
{
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        const char *text = json_text_or(part, "text", "");

        if (text_equal(json_text_or(part, "type", ""), "image"))
            push_images(parts, part);
        else if (!text_is_blank(text))
            json_push(parts, text_part(json_object_get(part, "text")));
    }
}

static json_t *message_new(const char *role, json_t *parts)
{
    json_t *message = json_object();

    json_put(message, "role", json_text_of(role));
    json_put(message, "content", parts);
    return message;
}

/* Merges the content into the last message if that is also the user's. */
static void push_user_message(json_t *messages, json_t *parts)
{
    size_t n = json_array_size(messages);
    json_t *last = n == 0 ? NULL : json_array_get(messages, n - 1);

    if (last != NULL && text_equal(json_text_or(last, "role", ""), "user")) {
        json_array_extend(json_object_get(last, "content"), parts);
        json_decref(parts);
        return;
    }
    json_push(messages, message_new("user", parts));
}

/* What the workspace told, in all readings: events of the history, the newest last. */
struct knowledge_list {
    const json_t **items;
    size_t n;
};

static void knowledge_list_done(struct knowledge_list *list)
{
    mem_free(list->items);
}

static void knowledge_list_fill(struct knowledge_list *list, const struct history *history)
{
    size_t size = 0;

    for (size_t i = 0; i < history->n; i++) {
        const json_t *knowledge = stored_event_knowledge(&history->items[i]);

        if (knowledge == NULL)
            continue;
        if (list->n == size) {
            size = size == 0 ? 1 : 2 * size;
            list->items = mem_resize(list->items, size * sizeof(*list->items));
        }
        list->items[list->n++] = knowledge;
    }
}

/* The newest reading's context takes the place of the event's. */
static void push_system_prompt(json_t *messages, const json_t *event,
                               const struct knowledge_list *knowledge)
{
    json_t *parts = json_array();
    json_t *prompt = json_object_get(json_object_get(event, "system_prompt"), "text");
    json_t *context =
        knowledge->n > 0 ? project_knowledge_context(knowledge->items[knowledge->n - 1]) : NULL;

    if (context == NULL)
        context = json_object_get(json_object_get(event, "dynamic_context"), "text");
    if (json_is_string(prompt))
        json_push(parts, text_part(prompt));
    if (json_is_string(context))
        json_push(parts, text_part(context));
    json_push(messages, message_new("system", parts));
}

/* The model's reasoning for this message; the provider's format decides whether it is sent back. */
static void put_reasoning(json_t *message, const json_t *stored)
{
    json_t *blocks = json_object_get(stored, "thinking_blocks");
    json_t *item = json_object_get(stored, "responses_reasoning_item");

    json_put_text(message, "reasoning_content", json_text_or(stored, "reasoning_content", NULL));
    if (json_array_size(blocks) > 0)
        json_put(message, "thinking_blocks", json_incref(blocks));
    if (json_is_object(item))
        json_put(message, "responses_reasoning_item", json_incref(item));
}

static void push_message_event(json_t *messages, const struct stored_event *stored_event,
                               const struct knowledge_list *knowledge)
{
    const json_t *event = stored_event_json(stored_event);
    const json_t *stored = json_object_get(event, "llm_message");
    json_t *parts = json_array();
    json_t *message = NULL;

    push_content(parts, json_object_get(stored, "content"));
    push_content(parts, json_object_get(event, "extended_content"));
    for (size_t i = 0; i < knowledge->n; i++)
        push_content(parts, project_knowledge_extra(knowledge->items[i], stored_event->id.text));
    if (text_equal(json_text_or(stored, "role", "user"), "user")) {
        push_user_message(messages, parts);
        return;
    }
    message = message_new("assistant", parts);
    put_reasoning(message, stored);
    json_push(messages, message);
}

/*
 * Providers only accept valid tool names, even for names made up by the model: other characters
 * become '_'.
 */
static void put_tool_name(json_t *object, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;

    for (size_t i = 0; i < TOOL_NAME_MAX_BYTES && name[i] != '\0'; i++)
        strbuf_append_char(&plain,
                           (char)(strchr(TOOL_NAME_BYTES, name[i]) != NULL ? name[i] : '_'));
    json_put_text(object, "name", plain.len > 0 ? plain.text : "_");
}

static json_t *call_from_action(const json_t *event)
{
    const json_t *stored = json_object_get(event, "tool_call");
    json_t *function = json_object();
    json_t *call = json_object();

    put_tool_name(function, json_text_or(stored, "name", ""));
    json_put(function, "arguments", json_incref(json_object_get(stored, "arguments")));
    json_put_text(call, "id", json_text_or(event, "tool_call_id", ""));
    json_put_text(call, "item_id", json_text_or(stored, "responses_item_id", NULL));
    json_put(call, "type", json_text_of("function"));
    json_put(call, "function", function);
    return call;
}

static void push_clipped(json_t *parts, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf clipped = STRBUF_INIT;
    size_t len = strlen(text);
    size_t n_chars = utf8_length(text, len);
    size_t kept = RESULT_MAX_CHARS - utf8_length(CLIPPED_NOTE, strlen(CLIPPED_NOTE));
    size_t head = 0;
    size_t tail = 0;

    if (n_chars <= RESULT_MAX_CHARS) {
        push_text(parts, text, len);
        return;
    }
    head = utf8_offset(text, len, (kept + 1) / 2);
    tail = utf8_offset(text, len, n_chars - kept / 2);
    strbuf_append_bytes(&clipped, text, head);
    strbuf_append(&clipped, CLIPPED_NOTE);
    strbuf_append_bytes(&clipped, text + tail, len - tail);
    push_text(parts, clipped.text, clipped.len);
}

/* Adds a browser's screenshot. */
static void push_screenshot(json_t *parts, const json_t *observation)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    const char *picture = json_text_or(observation, "screenshot_data", "");
    json_auto_t *image = json_object();
    json_t *urls = json_array();

    json_put(image, "image_urls", urls);
    if (picture[0] == '\0')
        return;
    strbuf_appendf(&url, "data:image/png;base64,%s", picture);
    json_push(urls, json_text(url.text, url.len));
    push_images(parts, image);
}

static void push_observation(json_t *parts, json_t *observation)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const json_t *content = json_object_get(observation, "content");

    if (json_bool_or(observation, "is_error", 0) != 0)
        push_text(parts, ERROR_PREFIX, strlen(ERROR_PREFIX));
    observation_append_text(observation, &text);
    push_clipped(parts, text.text);
    for (size_t i = 0; i < json_array_size(content); i++)
        push_images(parts, json_array_get(content, i));
    push_screenshot(parts, observation);
}

static void push_rejection(json_t *parts, const json_t *event)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text, "Action rejected: %s", json_text_or(event, "rejection_reason", ""));
    push_text(parts, text.text, text.len);
}

/* True if the call has not done what was asked of it. */
static bool has_failed(const struct stored_event *result)
{
    const json_t *observation = json_object_get(stored_event_json(result), "observation");

    return !stored_event_is(result, "ObservationEvent") ||
           json_bool_or(observation, "is_error", 0) != 0;
}

static json_t *message_from_result(const struct stored_event *result)
{
    const json_t *event = stored_event_json(result);
    json_t *parts = json_array();
    json_t *message = message_new("tool", parts);

    if (stored_event_is(result, "ObservationEvent")) {
        push_observation(parts, json_object_get(event, "observation"));
        push_content(parts, json_object_get(event, "extended_content"));
    } else if (stored_event_is(result, "UserRejectObservation")) {
        push_rejection(parts, event);
    } else {
        push_clipped(parts, json_text_or(event, "error", ""));
    }
    json_put_text(message, "tool_call_id", json_text_or(event, "tool_call_id", ""));
    put_tool_name(message, json_text_or(event, "tool_name", ""));
    if (has_failed(result))
        json_put(message, "is_error", json_true());
    return message;
}

/*
 * The calls of one answer: their events are consecutive, with errors of invalid calls and hooks in
 * between.
 */
struct batch {
    json_t *calls;
    json_t *results;
    bool lacks_results;
};

static void batch_collect(const struct history *history, size_t first, struct batch *batch)
{
    const char *response_id = stored_event_response(&history->items[first]);

    for (size_t i = first; i < history->n; i++) {
        const struct stored_event *event = &history->items[i];
        const struct stored_event *result = NULL;

        if (stored_event_is(event, "AgentErrorEvent") ||
            stored_event_is(event, "HookExecutionEvent"))
            continue;
        if (!stored_event_is(event, "ActionEvent") ||
            !text_equal(stored_event_response(event), response_id))
            return;
        result = history_find_result(history, i);
        /* Models refuse a call without a result. */
        if (result == NULL) {
            batch->lacks_results = true;
            continue;
        }
        json_push(batch->calls, call_from_action(stored_event_json(event)));
        json_push(batch->results, message_from_result(result));
    }
}

/* False if calls lack results: once those exist, the messages will differ. */
static bool push_batch(json_t *messages, const struct history *history, size_t first)
{
    const json_t *event = stored_event_json(&history->items[first]);
    json_auto_t *calls = json_array();
    json_auto_t *results = json_array();
    json_auto_t *message = json_object();
    json_auto_t *parts = json_array();
    struct batch batch = {.calls = calls, .results = results};

    batch_collect(history, first, &batch);
    if (json_array_size(calls) == 0)
        return false;
    push_content(parts, json_object_get(event, "thought"));
    json_put(message, "role", json_text_of("assistant"));
    if (json_array_size(parts) > 0)
        json_put(message, "content", json_incref(parts));
    put_reasoning(message, event);
    json_put(message, "tool_calls", json_incref(calls));
    json_push(messages, json_incref(message));
    json_array_extend(messages, results);
    return !batch.lacks_results;
}

/* True for the first ActionEvent of an answer; the others are in its batch. */
static bool begins_batch(const struct history *history, size_t index)
{
    const char *id = stored_event_response(&history->items[index]);

    for (size_t i = index; i > 0; i--) {
        const struct stored_event *before = &history->items[i - 1];

        if (stored_event_is(before, "ActionEvent"))
            return !text_equal(stored_event_response(before), id);
    }
    return true;
}

/*
 * Models refuse a request that ends with an assistant message. That happens if the user sent a
 * message while a text answer was in progress, since the message is stored before the answer: it is
 * moved after the answer. Returns its index, or history->n.
 */
static size_t find_unheard(const struct history *history)
{
    bool has_answer = false;

    for (size_t i = history->n; i > 0; i--) {
        const struct stored_event *event = &history->items[i - 1];

        if (stored_event_is(event, "ConversationStateUpdateEvent") ||
            stored_event_is(event, "HookExecutionEvent") || event->is_forgotten)
            continue;
        if (has_answer && stored_event_is_message(event, "user"))
            return i - 1;
        if (has_answer || !stored_event_is_message(event, "agent"))
            break;
        has_answer = true;
    }
    return history->n;
}

/*
 * The effect of an event on the messages up to and including its own: none, final, or subject to
 * change.
 */
enum effect { EFFECT_NONE, EFFECT_SETTLES, EFFECT_OPENS };

static enum effect push_event(json_t *messages, const struct history *history, size_t index,
                              const struct knowledge_list *knowledge)
{
    const struct stored_event *event = &history->items[index];
    const json_t *stored = json_object_get(stored_event_json(event), "llm_message");

    if (event->summary != NULL)
        messages_append_user(messages, json_string_value(event->summary));
    if (event->is_forgotten)
        return EFFECT_NONE;
    if (stored_event_is(event, "SystemPromptEvent")) {
        push_system_prompt(messages, stored_event_json(event), knowledge);
        return EFFECT_SETTLES;
    }
    if (stored_event_is(event, "MessageEvent")) {
        push_message_event(messages, event, knowledge);
        /* The user's next message is merged into it. */
        return text_equal(json_text_or(stored, "role", "user"), "user") ? EFFECT_NONE
                                                                        : EFFECT_SETTLES;
    }
    if (model_view_is_context(event)) {
        messages_append_user(messages,
                             json_text_or(stored_event_json(event), "additional_context", ""));
        return EFFECT_NONE;
    }
    if (stored_event_is(event, "ActionEvent") && begins_batch(history, index))
        return push_batch(messages, history, index) ? EFFECT_SETTLES : EFFECT_OPENS;
    return EFFECT_NONE;
}

static struct messages_mark append_from(json_t *messages, const struct history *history,
                                        size_t first, size_t unheard)
{
    CLEANUP(knowledge_list_done) struct knowledge_list knowledge = {NULL, 0};
    struct messages_mark mark = {first, 0};
    bool is_open = false;
    bool is_heard = unheard == history->n;

    knowledge_list_fill(&knowledge, history);
    for (size_t i = first; i < history->n; i++) {
        enum effect effect = EFFECT_OPENS;

        /* What hooks add comes after the message. */
        if (!is_heard && i > unheard && model_view_is_context(&history->items[i])) {
            push_message_event(messages, &history->items[unheard], &knowledge);
            is_heard = true;
        }
        if (i != unheard)
            effect = push_event(messages, history, i, &knowledge);
        is_open = is_open || effect == EFFECT_OPENS;
        if (!is_open && effect == EFFECT_SETTLES)
            mark = (struct messages_mark){i + 1, json_array_size(messages)};
    }
    if (!is_heard)
        push_message_event(messages, &history->items[unheard], &knowledge);
    return mark;
}

struct messages_mark messages_append(json_t *messages, const struct history *history, size_t first)
{
    return append_from(messages, history, first, find_unheard(history));
}

void messages_append_as_said(json_t *messages, const struct history *history)
{
    (void)append_from(messages, history, 0, history->n);
}

json_t *messages_system(const char *text)
{
    json_t *parts = json_array();

    push_text(parts, text, strlen(text));
    return message_new("system", parts);
}

void messages_append_user(json_t *messages, const char *text)
{
    json_t *parts = json_array();

    push_text(parts, text, strlen(text));
    push_user_message(messages, parts);
}
