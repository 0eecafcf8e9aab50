/* Messages and tools of a Chat Completions call (see chat.h). */
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/call_id.h"
#include "llm/formats/call_signature.h"
#include "llm/formats/chat.h"
#include "llm/formats/clip.h"
#include "llm/formats/thinking.h"
#include "llm/llm_prompt.h"

/* The part in the form to send, or NULL to leave it out. A new reference. */
static json_t *adapt_part(json_t *part, const struct llm_features *features, bool is_tool)
{
    const char *type = json_text_or(part, "type", "text");
    const char *text = json_text_or(part, "text", "");
    json_t *copy = NULL;

    if (text_equal(type, "image_url"))
        return features->takes_images ? json_incref(part) : NULL;
    if (!text_equal(type, "text"))
        return json_incref(part);
    if (text_is_blank(text))
        return NULL;
    copy = json_copy(part);
    if (is_tool)
        json_put(copy, "text", clip_tool_text(text));
    return copy;
}

static json_t *join_parts(const json_t *parts)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (parts, i, part) {
        if (i > 0)
            strbuf_append_char(&text, '\n');
        strbuf_append(&text, json_text_or(part, "text", ""));
    }
    return json_text(text.text, text.len);
}

static json_t *adapt_content(const json_t *content, const struct llm_features *features,
                             bool is_tool)
{
    json_t *parts = json_array();
    json_t *part = NULL;
    json_t *joined = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        json_t *adapted = adapt_part(part, features, is_tool);

        if (adapted != NULL)
            json_push(parts, adapted);
    }
    if (!features->takes_plain)
        return parts;
    joined = join_parts(parts);
    json_decref(parts);
    return joined;
}

static bool is_empty_content(const json_t *content)
{
    return json_is_string(content) ? json_string_length(content) == 0
                                   : json_array_size(content) == 0;
}

static void put_content(json_t *copy, const json_t *message, const struct llm_features *features)
{
    const char *role = json_text_or(message, "role", "");
    bool is_tool = text_equal(role, "tool");
    bool has_calls = json_array_size(json_object_get(message, "tool_calls")) > 0;
    json_t *content = json_object_get(message, "content");

    if (json_is_array(content))
        json_put(copy, "content", adapt_content(content, features, is_tool));
    content = json_object_get(copy, "content");
    if (!is_empty_content(content))
        return;
    if (has_calls)
        (void)json_object_del(copy, "content");
    else
        json_put(copy, "content", json_text_of(""));
}

static void put_thinking(json_t *copy, const struct llm_prompt *prompt)
{
    json_auto_t *own = NULL;

    if (prompt->features.takes_litellm)
        own = thinking_of_model(json_object_get(copy, "thinking_blocks"), prompt->model);
    (void)json_object_del(copy, "thinking_blocks");
    if (json_array_size(own) > 0)
        json_put(copy, "thinking_blocks", json_incref(own));
}

static bool has_item_ids(const json_t *calls)
{
    const json_t *call = NULL;
    size_t i = 0;

    json_array_foreach (calls, i, call) {
        if (json_object_get(call, "item_id") != NULL)
            return true;
    }
    return false;
}

/* Of another format. A message with them has its own list of calls in the copy. */
static void drop_item_ids(json_t *copy)
{
    json_t *calls = json_object_get(copy, "tool_calls");
    json_t *own = NULL;
    json_t *call = NULL;
    size_t i = 0;

    if (!has_item_ids(calls))
        return;
    own = json_array();
    json_array_foreach (calls, i, call) {
        json_t *plain = json_copy(call);

        (void)json_object_del(plain, "item_id");
        json_push(own, plain);
    }
    json_put(copy, "tool_calls", own);
}

/* Google's compatible endpoint wants signatures beside the ids. */
static void put_signatures(json_t *copy, const struct llm_prompt *prompt, const json_t *message)
{
    const json_t *calls = json_object_get(copy, "tool_calls");
    json_t *own = json_array();
    json_t *call = NULL;
    size_t i = 0;

    json_array_foreach (calls, i, call) {
        const char *signature = call_signature(prompt, message, i);
        json_t *plain = json_copy(call);

        if (signature != NULL)
            json_put_text(json_need_object(json_need_object(plain, "extra_content"), "google"),
                          "thought_signature", signature);
        json_push(own, plain);
    }
    if (json_array_size(own) > 0)
        json_put(copy, "tool_calls", json_incref(own));
    json_decref(own);
}

static json_t *adapt_message(json_t *message, const struct llm_prompt *prompt)
{
    bool has_signatures = prompt->features.signatures == LLM_SIGNATURES_BESIDE;
    json_auto_t *bare = has_signatures ? call_ids_without_signatures(message) : NULL;
    json_t *copy = json_copy(bare != NULL ? bare : message);

    if (has_signatures)
        put_signatures(copy, prompt, message);

    put_content(copy, message, &prompt->features);
    put_thinking(copy, prompt);
    if (!prompt->features.takes_reasoning)
        (void)json_object_del(copy, "reasoning_content");
    (void)json_object_del(copy, "responses_reasoning_item");
    (void)json_object_del(copy, "is_error");
    drop_item_ids(copy);
    return copy;
}

/* --- cache marks --- */

/* On the first part of the system message: the rest differs from conversation to conversation. */
static void mark_system(json_t *message)
{
    json_t *part = json_array_get(json_object_get(message, "content"), 0);
    json_t *mark = json_object();

    json_put_text(mark, "type", "ephemeral");
    if (part != NULL)
        json_put(part, "cache_control", mark);
    else
        json_decref(mark);
}

/*
 * Where the mark of the last message is inserted when the request is written: at the end of a
 * tool's message, or of the last part of the user's, both of which end the text.
 */
static void note_mark(struct llm_prompt *prompt, const char *role)
{
    const struct strbuf *text = &prompt->messages;

    if (text_equal(role, "tool"))
        prompt->end.mark_at = text->len - strlen("}");
    else if (text_equal(role, "user") && text_ends_with(text->text, "}]}"))
        prompt->end.mark_at = text->len - strlen("}]}");
}

/* --- a prompt --- */

void chat_add_message(struct llm_prompt *prompt, json_t *message)
{
    const char *role = json_text_or(message, "role", "");
    json_auto_t *adapted = adapt_message(message, prompt);

    if (prompt->features.marks_cache && text_equal(role, "system"))
        mark_system(adapted);
    if (prompt->messages.len > 0)
        strbuf_append_char(&prompt->messages, ',');
    json_append_text(&prompt->messages, adapted);
    if (prompt->features.marks_cache)
        note_mark(prompt, role);
    prompt->end.role = text_equal(role, "assistant") ? LLM_ROLE_ASSISTANT : LLM_ROLE_USER;
}

void chat_add_tools(struct llm_prompt *prompt, const json_t *tools)
{
    json_append_text(&prompt->tools, tools);
}
