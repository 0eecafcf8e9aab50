/* Items and tools of a call of OpenAI's Responses (see responses.h). */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/crypto.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/formats/clip.h"
#include "llm/formats/responses.h"
#include "llm/llm_prompt.h"

/* Between the texts of two system messages. */
#define SYSTEM_BORDER "\n\n---\n\n"
/* Longer ids are refused. */
#define ID_MAX_BYTES 64
/* Of a shortened id: the beginning and a hash. */
#define ID_HEAD_BYTES 31

/* --- the list --- */

static json_t *item_new(const char *type)
{
    json_t *item = json_object();

    json_put_text(item, "type", type);
    return item;
}

/* Consumes the item. */
static void add_item(struct llm_prompt *prompt, json_t *item)
{
    if (prompt->messages.len > 0)
        strbuf_append_char(&prompt->messages, ',');
    json_append_text(&prompt->messages, item);
    json_decref(item);
}

/* A call's id, also that of its result. Other providers' ids can be longer than this one's. */
static void put_call_id(json_t *item, const char *id)
{
    char hex[CRYPTO_HASH_HEX_BYTES];
    char shortened[ID_MAX_BYTES + 1] = "";

    if (strlen(id) <= ID_MAX_BYTES) {
        json_put_text(item, "call_id", id);
        return;
    }
    crypto_sha256_hex(id, strlen(id), hex);
    (void)memcpy(shortened, id, ID_HEAD_BYTES);
    shortened[ID_HEAD_BYTES] = '_';
    (void)memcpy(shortened + ID_HEAD_BYTES + 1, hex, ID_MAX_BYTES - ID_HEAD_BYTES - 1);
    json_put(item, "call_id", json_text(shortened, strlen(shortened)));
}

/* --- content --- */

static json_t *image_part(const json_t *part)
{
    json_t *image = item_new("input_image");

    json_put_text(image, "image_url", json_text_or(json_object_get(part, "image_url"), "url", ""));
    json_put_text(image, "detail", "auto");
    return image;
}

/* The part in this form; NULL to leave it out. */
static json_t *input_part(const struct llm_prompt *prompt, const json_t *part)
{
    const char *text = json_text_or(part, "text", "");
    json_t *own = NULL;

    if (text_equal(json_text_or(part, "type", "text"), "image_url"))
        return prompt->features.takes_images ? image_part(part) : NULL;
    if (text_is_blank(text))
        return NULL;
    own = item_new("input_text");
    json_put_text(own, "text", text);
    return own;
}

static void add_system(struct llm_prompt *prompt, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;
    bool is_first = true;

    json_array_foreach (content, i, part) {
        const char *text = json_text_or(part, "text", "");

        if (text_is_blank(text))
            continue;
        if (prompt->system.len > 0)
            strbuf_append(&prompt->system, is_first ? SYSTEM_BORDER : "\n");
        strbuf_append(&prompt->system, text);
        is_first = false;
    }
}

static void add_user(struct llm_prompt *prompt, const json_t *content)
{
    json_t *item = item_new("message");
    json_t *parts = json_array();
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        json_t *own = input_part(prompt, part);

        if (own != NULL)
            json_push(parts, own);
    }
    json_put_text(item, "role", "user");
    json_put(item, "content", parts);
    if (json_array_size(parts) > 0)
        add_item(prompt, item);
    else
        json_decref(item);
}

/* --- results --- */

static void append_text(struct strbuf *out, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        const char *text = json_text_or(part, "text", "");

        if (text_is_blank(text))
            continue;
        if (out->len > 0)
            strbuf_append_char(out, '\n');
        strbuf_append(out, text);
    }
}

/* A text, or a list if there are images. */
static json_t *output_of(const struct llm_prompt *prompt, const json_t *content)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *parts = json_array();
    json_t *clipped = NULL;
    json_t *words = NULL;
    const json_t *part = NULL;
    size_t i = 0;

    append_text(&text, content);
    clipped = clip_tool_text(text.text);
    if (clipped == NULL)
        clipped = json_text(text.text, text.len);
    json_array_foreach (content, i, part) {
        if (text_equal(json_text_or(part, "type", "text"), "image_url") &&
            prompt->features.takes_images)
            json_push(parts, image_part(part));
    }
    if (json_array_size(parts) == 0) {
        json_decref(parts);
        return clipped;
    }
    words = item_new("input_text");
    json_put(words, "text", clipped);
    (void)json_array_insert_new(parts, 0, words);
    return parts;
}

static void add_result(struct llm_prompt *prompt, const json_t *message)
{
    json_t *item = item_new("function_call_output");

    put_call_id(item, json_text_or(message, "tool_call_id", ""));
    json_put(item, "output", output_of(prompt, json_object_get(message, "content")));
    add_item(prompt, item);
}

/* --- the assistant --- */

static json_t *summary_of(const json_t *texts)
{
    json_t *parts = json_array();
    const json_t *text = NULL;
    size_t i = 0;

    json_array_foreach (texts, i, text) {
        json_t *part = item_new("summary_text");

        json_put(part, "text", json_text_of(json_string_value(text)));
        json_push(parts, part);
    }
    return parts;
}

/*
 * Reasoning is sent back to the model that made it. Without its encrypted form the server, which
 * stores nothing, would look for it in vain.
 */
static void add_reasoning(struct llm_prompt *prompt, const json_t *stored)
{
    const char *encrypted = json_text_or(stored, "encrypted_content", NULL);
    json_t *item = NULL;

    if (encrypted == NULL ||
        !text_equal(json_text_or(stored, "model", prompt->model), prompt->model))
        return;
    item = item_new("reasoning");
    json_put_text(item, "id", json_text_or(stored, "id", NULL));
    json_put(item, "summary", summary_of(json_object_get(stored, "summary")));
    json_put_text(item, "encrypted_content", encrypted);
    json_put_text(item, "status", json_text_or(stored, "status", NULL));
    add_item(prompt, item);
}

static void add_words(struct llm_prompt *prompt, const json_t *content)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *item = NULL;
    json_t *part = NULL;
    json_t *parts = NULL;

    append_text(&text, content);
    if (text.len == 0)
        return;
    part = item_new("output_text");
    json_put_text(part, "text", text.text);
    parts = json_array();
    json_push(parts, part);
    item = item_new("message");
    json_put_text(item, "role", "assistant");
    json_put(item, "content", parts);
    add_item(prompt, item);
}

/* The item's own id is optional; one of another form than the server's is refused. */
static void put_item_id(json_t *item, const json_t *call)
{
    CLEANUP(strbuf_done) struct strbuf made = STRBUF_INIT;
    const char *stored = json_text_or(call, "item_id", "");

    strbuf_appendf(&made, "fc_%s", json_text_or(call, "id", ""));
    if (stored[0] != '\0')
        json_put_text(item, "id", stored);
    else if (made.len <= ID_MAX_BYTES)
        json_put_text(item, "id", made.text);
}

static void add_call(struct llm_prompt *prompt, const json_t *call)
{
    const json_t *function = json_object_get(call, "function");
    json_t *item = item_new("function_call");

    put_item_id(item, call);
    put_call_id(item, json_text_or(call, "id", ""));
    json_put_text(item, "name", json_text_or(function, "name", ""));
    json_put_text(item, "arguments", json_text_or(function, "arguments", "{}"));
    add_item(prompt, item);
}

static void add_answer(struct llm_prompt *prompt, const json_t *message)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    const json_t *content = json_object_get(message, "content");
    const json_t *call = NULL;
    size_t i = 0;

    add_reasoning(prompt, json_object_get(message, "responses_reasoning_item"));
    add_words(prompt, content);
    json_array_foreach (calls, i, call)
        add_call(prompt, call);
}

/* --- a prompt --- */

void responses_add_message(struct llm_prompt *prompt, json_t *message)
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
    prompt->end.role = text_equal(role, "assistant") ? LLM_ROLE_ASSISTANT : LLM_ROLE_USER;
}

void responses_add_tools(struct llm_prompt *prompt, const json_t *tools)
{
    json_auto_t *own = json_array();
    const json_t *tool = NULL;
    size_t i = 0;

    json_array_foreach (tools, i, tool) {
        json_t *copy = item_new("function");

        (void)json_object_update(copy, json_object_get(tool, "function"));
        json_put(copy, "strict", json_false());
        json_push(own, copy);
    }
    json_append_text(&prompt->tools, own);
}
