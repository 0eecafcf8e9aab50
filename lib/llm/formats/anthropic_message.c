/* Messages and tools of a call of Anthropic's Messages (see anthropic.h). */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/formats/anthropic.h"
#include "llm/formats/clip.h"
#include "llm/formats/thinking.h"
#include "llm/llm_prompt.h"

/* The first message must be the user's. */
#define OPENING_TEXT "(The conversation begins with a message of the assistant.)"
#define ID_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static const char *const image_types[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};

static const char *const message_heads[] = {
    [LLM_ROLE_USER] = "{\"role\":\"user\",\"content\":[",
    [LLM_ROLE_ASSISTANT] = "{\"role\":\"assistant\",\"content\":[",
};

/* --- the list --- */

static json_t *block_new(const char *type)
{
    json_t *block = json_object();

    json_put_text(block, "type", type);
    return block;
}

static json_t *text_block(const char *text, size_t len)
{
    json_t *block = block_new("text");

    json_put(block, "text", json_text(text, len));
    return block;
}

static void begin_message(struct llm_prompt *prompt, enum llm_role role)
{
    if (prompt->messages.len > 0)
        strbuf_append(&prompt->messages, "]},");
    strbuf_append(&prompt->messages, message_heads[role]);
    prompt->end.role = role;
}

static void begin_block(struct llm_prompt *prompt, enum llm_role role)
{
    if (prompt->end.role == role)
        strbuf_append_char(&prompt->messages, ',');
    else
        begin_message(prompt, role);
}

/* Adds a block, which it consumes, to the last message if that has the same role, else to a new
 * one. */
static void add_block(struct llm_prompt *prompt, enum llm_role role, json_t *block)
{
    begin_block(prompt, role);
    json_append_text(&prompt->messages, block);
    json_decref(block);
    /* A mark is the last member of its block. */
    if (prompt->features.marks_cache && role == LLM_ROLE_USER)
        prompt->end.mark_at = prompt->messages.len - strlen("}");
}

/* --- content --- */

static bool is_image_type(const char *type, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(image_types); i++) {
        if (strlen(image_types[i]) == len && memcmp(image_types[i], type, len) == 0)
            return true;
    }
    return false;
}

/* data:image/png;base64,… as a source; NULL if the format does not take it. */
static json_t *embedded_source(const char *url)
{
    const char *type = url + strlen("data:");
    const char *end = strchr(type, ';');
    json_t *source = NULL;

    if (end == NULL || !text_starts_with(end, ";base64,") ||
        !is_image_type(type, (size_t)(end - type)))
        return NULL;
    source = block_new("base64");
    json_put(source, "media_type", json_text(type, (size_t)(end - type)));
    json_put_text(source, "data", end + strlen(";base64,"));
    return source;
}

static json_t *image_block(const json_t *part)
{
    const char *url = json_text_or(json_object_get(part, "image_url"), "url", "");
    json_t *block = NULL;
    json_t *source = NULL;

    if (text_starts_with(url, "data:")) {
        source = embedded_source(url);
    } else if (text_starts_with(url, "https://")) {
        source = block_new("url");
        json_put_text(source, "url", url);
    }
    if (source == NULL)
        return text_block("[an image in a form that this model does not take]",
                          strlen("[an image in a form that this model does not take]"));
    block = block_new("image");
    json_put(block, "source", source);
    return block;
}

/* The block of a part; NULL to leave it out. */
static json_t *block_of(const struct llm_prompt *prompt, const json_t *part)
{
    const char *type = json_text_or(part, "type", "text");
    const char *text = json_text_or(part, "text", "");

    if (text_equal(type, "image_url"))
        return prompt->features.takes_images ? image_block(part) : NULL;
    return text_is_blank(text) ? NULL : text_block(text, strlen(text));
}

/* --- system --- */

/* The mark is on the first block: the rest differs from conversation to conversation. */
static void add_system(struct llm_prompt *prompt, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        const char *text = json_text_or(part, "text", "");
        json_auto_t *block = NULL;

        if (text_is_blank(text))
            continue;
        block = text_block(text, strlen(text));
        if (prompt->system.len > 0)
            strbuf_append_char(&prompt->system, ',');
        else if (prompt->features.marks_cache)
            json_put(block, "cache_control", block_new("ephemeral"));
        json_append_text(&prompt->system, block);
    }
}

/* --- the user --- */

static void add_user(struct llm_prompt *prompt, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        json_t *block = block_of(prompt, part);

        if (block != NULL)
            add_block(prompt, LLM_ROLE_USER, block);
    }
}

/* Other bytes than the format takes are written as _ and two hexadecimal digits. */
static void put_id(json_t *block, const char *key, const char *id)
{
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;

    for (; *id != '\0'; id++) {
        if (strchr(ID_BYTES, *id) != NULL)
            strbuf_append_char(&plain, *id);
        else
            strbuf_appendf(&plain, "_%02x", (unsigned)(unsigned char)*id);
    }
    json_put_text(block, key, plain.len > 0 ? plain.text : "_");
}

/* A text that is too long loses its middle. */
static void clip_block(json_t *block)
{
    const char *text = json_text_or(block, "text", NULL);

    if (text != NULL)
        json_put(block, "text", clip_tool_text(text));
}

static void add_result(struct llm_prompt *prompt, const json_t *message)
{
    json_t *block = block_new("tool_result");
    json_t *parts = json_array();
    const json_t *part = NULL;
    size_t i = 0;

    put_id(block, "tool_use_id", json_text_or(message, "tool_call_id", ""));
    json_array_foreach (json_object_get(message, "content"), i, part) {
        json_t *own = block_of(prompt, part);

        if (own == NULL)
            continue;
        clip_block(own);
        json_push(parts, own);
    }
    if (json_array_size(parts) > 0)
        json_put(block, "content", json_incref(parts));
    json_decref(parts);
    add_block(prompt, LLM_ROLE_USER, block);
}

/* --- the assistant --- */

static bool is_object(const char *text)
{
    struct error ignored = ERROR_INIT;
    json_auto_t *json = NULL;

    return json_parse(text, strlen(text), &json, &ignored) == 0 && json_is_object(json);
}

/*
 * The input is sent as the model wrote it, byte for byte. Arguments that are no object were
 * answered with an error, which tells what they were.
 */
static void add_call(struct llm_prompt *prompt, const json_t *call)
{
    const json_t *function = json_object_get(call, "function");
    const char *arguments = json_text_or(function, "arguments", "");
    json_auto_t *block = block_new("tool_use");

    put_id(block, "id", json_text_or(call, "id", ""));
    json_put_text(block, "name", json_text_or(function, "name", ""));
    begin_block(prompt, LLM_ROLE_ASSISTANT);
    json_append_text(&prompt->messages, block);
    strbuf_truncate(&prompt->messages, prompt->messages.len - strlen("}"));
    strbuf_append(&prompt->messages, ",\"input\":");
    strbuf_append(&prompt->messages, is_object(arguments) ? arguments : "{}");
    strbuf_append_char(&prompt->messages, '}');
}

/* A text at the very end must not end with white space. */
static json_t *answer_block(const json_t *part)
{
    const char *text = json_text_or(part, "text", "");
    size_t len = strlen(text);

    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
        len--;
    return len > 0 ? text_block(text, len) : NULL;
}

/* Thinking and words of an answer. Thinking that led to nothing is no answer. */
static json_t *answer_blocks(const struct llm_prompt *prompt, const json_t *message, bool has_calls)
{
    json_t *blocks = thinking_of_model(json_object_get(message, "thinking_blocks"), prompt->model);
    size_t n_thinking = json_array_size(blocks);
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(message, "content"), i, part) {
        json_t *block = answer_block(part);

        if (block != NULL)
            json_push(blocks, block);
    }
    if (!has_calls && json_array_size(blocks) == n_thinking)
        (void)json_array_clear(blocks);
    return blocks;
}

static void add_answer(struct llm_prompt *prompt, const json_t *message)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    bool has_calls = json_array_size(calls) > 0;
    json_auto_t *blocks = answer_blocks(prompt, message, has_calls);
    const char *first = json_text_or(json_array_get(blocks, 0), "type", "");
    json_t *entry = NULL;
    size_t i = 0;

    if (!has_calls && json_array_size(blocks) == 0)
        return;
    if (prompt->end.role == LLM_ROLE_NONE)
        add_block(prompt, LLM_ROLE_USER, text_block(OPENING_TEXT, strlen(OPENING_TEXT)));
    /* Two answers in one message: the thinking of the second would follow the words of the first.
     */
    if (prompt->end.role == LLM_ROLE_ASSISTANT)
        add_block(prompt, LLM_ROLE_USER,
                  text_block(ANTHROPIC_GO_ON_TEXT, strlen(ANTHROPIC_GO_ON_TEXT)));
    json_array_foreach (blocks, i, entry)
        add_block(prompt, LLM_ROLE_ASSISTANT, json_incref(entry));
    json_array_foreach (calls, i, entry)
        add_call(prompt, entry);
    prompt->end.is_without_thinking =
        has_calls && !text_equal(first, "thinking") && !text_equal(first, "redacted_thinking");
}

/* --- a prompt --- */

void anthropic_add_message(struct llm_prompt *prompt, json_t *message)
{
    const char *role = json_text_or(message, "role", "");
    const json_t *content = json_object_get(message, "content");

    if (text_equal(role, "system"))
        add_system(prompt, content);
    else if (text_equal(role, "assistant"))
        add_answer(prompt, message);
    else if (text_equal(role, "tool"))
        add_result(prompt, message);
    else
        add_user(prompt, content);
}

void anthropic_add_tools(struct llm_prompt *prompt, const json_t *tools)
{
    json_auto_t *own = json_array();
    const json_t *tool = NULL;
    size_t i = 0;

    json_array_foreach (tools, i, tool) {
        const json_t *function = json_object_get(tool, "function");
        json_t *copy = json_object();

        json_put_text(copy, "name", json_text_or(function, "name", ""));
        json_put_text(copy, "description", json_text_or(function, "description", NULL));
        json_put(copy, "input_schema", json_incref(json_object_get(function, "parameters")));
        json_push(own, copy);
    }
    json_append_text(&prompt->tools, own);
}
