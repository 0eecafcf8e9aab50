#include "llm/formats/turn_list.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/formats/clip.h"
#include "llm/formats/thinking.h"
#include "llm/llm_prompt.h"

/* Between results and words of the user, if they must not be in one message. */
#define RESULTS_READ_TEXT "I have read the results."
#define ID_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static const char *const image_types[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};

static const char *const message_heads[] = {
    [LLM_ROLE_USER] = "{\"role\":\"user\",\"content\":[",
    [LLM_ROLE_ASSISTANT] = "{\"role\":\"assistant\",\"content\":[",
};

/* What the additions of one message share. */
struct turn_writer {
    struct llm_prompt *prompt;
    const struct turn_blocks *blocks;
    enum turn_results results;
};

/* --- the list --- */

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
    prompt->end.is_result = false;
}

/* Adds a block, which it consumes, to the last message if that has the same role, else to a new
 * one. */
static void add_block(const struct turn_writer *writer, enum llm_role role, json_t *block)
{
    struct llm_prompt *prompt = writer->prompt;
    size_t mark_len = writer->blocks->has_mark_blocks ? 0 : strlen("}");

    begin_block(prompt, role);
    json_append_text(&prompt->messages, block);
    json_decref(block);
    if (prompt->features.marks_cache && role == LLM_ROLE_USER)
        prompt->end.mark_at = prompt->messages.len - mark_len;
}

static void add_text(const struct turn_writer *writer, enum llm_role role, const char *text)
{
    add_block(writer, role, writer->blocks->text(text, strlen(text)));
}

/* --- content --- */

const char *turn_image_type(const char *url, const char **data_out)
{
    const char *type = url + strlen("data:");
    const char *end = strchr(url, ';');

    if (!text_starts_with(url, "data:") || end == NULL || !text_starts_with(end, ";base64,"))
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(image_types); i++) {
        size_t len = strlen(image_types[i]);

        if (len == (size_t)(end - type) && memcmp(image_types[i], type, len) == 0) {
            *data_out = end + strlen(";base64,");
            return image_types[i];
        }
    }
    return NULL;
}

static json_t *image_block(const struct turn_writer *writer, const json_t *part)
{
    const char *url = json_text_or(json_object_get(part, "image_url"), "url", "");
    json_t *block = writer->blocks->image(url);

    writer->prompt->end.n_images += block != NULL;
    writer->prompt->end.image_bytes += block != NULL ? strlen(url) : 0;
    return block != NULL ? block
                         : writer->blocks->text(TURN_NO_IMAGE_TEXT, strlen(TURN_NO_IMAGE_TEXT));
}

/* The block of a part; NULL to leave it out. */
static json_t *block_of(const struct turn_writer *writer, const json_t *part)
{
    const char *type = json_text_or(part, "type", "text");
    const char *text = json_text_or(part, "text", "");

    if (text_equal(type, "image_url"))
        return writer->prompt->features.takes_images ? image_block(writer, part) : NULL;
    return text_is_blank(text) ? NULL : writer->blocks->text(text, strlen(text));
}

/* --- the user --- */

static void add_user(const struct turn_writer *writer, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        json_t *block = block_of(writer, part);

        if (block == NULL)
            continue;
        if (writer->prompt->end.is_result && writer->results == TURN_RESULTS_APART)
            add_text(writer, LLM_ROLE_ASSISTANT, RESULTS_READ_TEXT);
        add_block(writer, LLM_ROLE_USER, block);
    }
}

/* Other bytes than the formats take are written as _ and two hexadecimal digits. */
static void append_id(struct strbuf *out, const char *id)
{
    for (; *id != '\0'; id++) {
        if (strchr(ID_BYTES, *id) != NULL)
            strbuf_append_char(out, *id);
        else
            strbuf_appendf(out, "_%02x", (unsigned)(unsigned char)*id);
    }
    if (out->len == 0)
        strbuf_append_char(out, '_');
}

/* A text that is too long loses its middle. */
static void clip_block(json_t *block)
{
    const char *text = json_text_or(block, "text", NULL);

    if (text != NULL)
        json_put(block, "text", clip_tool_text(text));
}

static bool is_image(const json_t *part)
{
    return text_equal(json_text_or(part, "type", "text"), "image_url");
}

static json_t *result_part(const struct turn_writer *writer, const json_t *part)
{
    json_t *block = NULL;

    if (is_image(part) && writer->prompt->features.takes_images &&
        !writer->prompt->features.takes_result_images)
        return writer->blocks->text(TURN_NO_IMAGE_TEXT, strlen(TURN_NO_IMAGE_TEXT));
    block = block_of(writer, part);
    if (block != NULL)
        clip_block(block);
    return block;
}

/* A failure with an image is told in words only: servers refuse the image with the outcome. */
static enum turn_outcome outcome_of(const struct turn_writer *writer, const json_t *message,
                                    const json_t *parts)
{
    const json_t *part = NULL;
    size_t i = 0;

    if (!writer->prompt->features.takes_outcomes || json_bool_or(message, "is_error", 0) == 0 ||
        json_array_size(parts) == 0)
        return TURN_OUTCOME_UNTOLD;
    json_array_foreach (parts, i, part) {
        if (json_object_get(part, "text") == NULL)
            return TURN_OUTCOME_UNTOLD;
    }
    return TURN_OUTCOME_FAILED;
}

static void add_result(const struct turn_writer *writer, const json_t *message)
{
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    json_t *parts = json_array();
    const json_t *part = NULL;
    enum turn_outcome outcome = TURN_OUTCOME_UNTOLD;
    size_t i = 0;

    append_id(&id, json_text_or(message, "tool_call_id", ""));
    json_array_foreach (json_object_get(message, "content"), i, part) {
        json_t *block = result_part(writer, part);

        if (block != NULL)
            json_push(parts, block);
    }
    outcome = outcome_of(writer, message, parts);
    add_block(writer, LLM_ROLE_USER, writer->blocks->result(id.text, parts, outcome));
    writer->prompt->end.is_result = true;
}

/* --- the assistant --- */

const char *turn_call_arguments(const char *arguments)
{
    struct error ignored = ERROR_INIT;
    json_auto_t *json = NULL;

    if (json_parse(arguments, strlen(arguments), &json, &ignored) < 0 || !json_is_object(json))
        return "{}";
    return arguments;
}

static void add_call(const struct turn_writer *writer, const json_t *call)
{
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    const json_t *function = json_object_get(call, "function");
    const char *arguments = json_text_or(function, "arguments", "");

    append_id(&id, json_text_or(call, "id", ""));
    begin_block(writer->prompt, LLM_ROLE_ASSISTANT);
    writer->blocks->append_call(&writer->prompt->messages, id.text,
                                json_text_or(function, "name", ""), turn_call_arguments(arguments));
}

/* A text at the very end must not end with white space. */
static void push_answer_text(const struct turn_writer *writer, const json_t *part, json_t *blocks)
{
    const char *text = json_text_or(part, "text", "");
    size_t len = strlen(text);

    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
        len--;
    if (len > 0)
        json_push(blocks, writer->blocks->text(text, len));
}

static json_t *thinking_blocks(const struct turn_writer *writer, const json_t *message)
{
    json_auto_t *own =
        thinking_of_model(json_object_get(message, "thinking_blocks"), writer->prompt->model);
    json_t *blocks = json_array();
    json_t *block = NULL;
    size_t i = 0;

    json_array_foreach (own, i, block)
        json_push(blocks, writer->blocks->thinking(json_incref(block)));
    return blocks;
}

static void begin_answer(const struct turn_writer *writer)
{
    if (writer->prompt->end.role == LLM_ROLE_NONE)
        add_text(writer, LLM_ROLE_USER, TURN_OPENING_TEXT);
    /* Two answers in one message: the thinking of the second would follow the words of the first.
     */
    if (writer->prompt->end.role == LLM_ROLE_ASSISTANT)
        add_text(writer, LLM_ROLE_USER, TURN_GO_ON_TEXT);
}

/* Thinking, words, calls. Thinking that led to nothing is no answer. */
static void add_answer(const struct turn_writer *writer, const json_t *message)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    bool has_calls = json_array_size(calls) > 0;
    json_auto_t *blocks = thinking_blocks(writer, message);
    size_t n_thinking = json_array_size(blocks);
    json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(message, "content"), i, entry)
        push_answer_text(writer, entry, blocks);
    if (!has_calls && json_array_size(blocks) == n_thinking)
        return;
    begin_answer(writer);
    json_array_foreach (blocks, i, entry)
        add_block(writer, LLM_ROLE_ASSISTANT, json_incref(entry));
    json_array_foreach (calls, i, entry)
        add_call(writer, entry);
    writer->prompt->end.is_without_thinking = has_calls && n_thinking == 0;
}

/* --- a prompt --- */

void turn_list_add(struct llm_prompt *prompt, const struct turn_blocks *blocks,
                   enum turn_results results, const json_t *message)
{
    const struct turn_writer writer = {prompt, blocks, results};
    const char *role = json_text_or(message, "role", "");

    if (text_equal(role, "assistant"))
        add_answer(&writer, message);
    else if (text_equal(role, "tool"))
        add_result(&writer, message);
    else
        add_user(&writer, json_object_get(message, "content"));
}

void turn_list_append(const struct llm_prompt *prompt, const struct turn_blocks *blocks,
                      const char *mark, struct strbuf *out)
{
    const struct llm_prompt_end *end = &prompt->end;
    json_auto_t *go_on = blocks->text(TURN_GO_ON_TEXT, strlen(TURN_GO_ON_TEXT));

    strbuf_append_char(out, '[');
    strbuf_append_bytes(out, prompt->messages.text, end->mark_at);
    if (end->mark_at > 0)
        strbuf_append(out, mark);
    strbuf_append(out, prompt->messages.text + end->mark_at);
    /* An answer at the end would be continued in the middle. */
    if (end->role == LLM_ROLE_ASSISTANT)
        strbuf_append(out, "]},");
    if (end->role != LLM_ROLE_USER) {
        strbuf_append(out, message_heads[LLM_ROLE_USER]);
        json_append_text(out, go_on);
    }
    strbuf_append(out, "]}]");
}
