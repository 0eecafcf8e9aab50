/* Contents and tools of a call of Gemini's native format (see gemini.h). */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/call_id.h"
#include "llm/formats/call_signature.h"
#include "llm/formats/clip.h"
#include "llm/formats/gemini.h"
#include "llm/formats/gemini_name.h"
#include "llm/formats/gemini_schema.h"
#include "llm/formats/thinking.h"
#include "llm/formats/turn_list.h"
#include "llm/llm_prompt.h"

/* Results of calls are a content of their own: the server refuses other parts beside them. */
static const char *const content_heads[] = {
    [LLM_ROLE_USER] = "{\"role\":\"user\",\"parts\":[",
    [LLM_ROLE_ASSISTANT] = "{\"role\":\"model\",\"parts\":[",
    [LLM_ROLE_TOOL] = "{\"role\":\"user\",\"parts\":[",
};

static const struct {
    const char *type;
    const char *suffix; /* of a URL, in lower case */
} image_types[] = {
    {"image/png", ".png"},   {"image/jpeg", ".jpg"},  {"image/jpeg", ".jpeg"},
    {"image/webp", ".webp"}, {"image/heic", ".heic"}, {"image/heif", ".heif"},
};

/* --- the list --- */

static json_t *part_new(const char *kind, json_t *value)
{
    json_t *part = json_object();

    json_put(part, kind, value);
    return part;
}

static json_t *text_part(const char *text)
{
    return part_new("text", json_text_of(text));
}

/* Begins a part of the last content if that has the same role, else of a new one. */
static void begin_part(struct llm_prompt *prompt, enum llm_role role)
{
    if (prompt->end.role == role) {
        strbuf_append_char(&prompt->messages, ',');
        return;
    }
    if (prompt->messages.len > 0)
        strbuf_append(&prompt->messages, "]},");
    strbuf_append(&prompt->messages, content_heads[role]);
    prompt->end.role = role;
}

/* Consumes the part. */
static void add_part(struct llm_prompt *prompt, enum llm_role role, json_t *part)
{
    begin_part(prompt, role);
    json_append_text(&prompt->messages, part);
    json_decref(part);
}

/* --- images --- */

static bool is_image_type(const char *type, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(image_types); i++) {
        if (strlen(image_types[i].type) == len && memcmp(image_types[i].type, type, len) == 0)
            return true;
    }
    return false;
}

/* data:image/png;base64,… as a part; NULL if the format does not take it. */
static json_t *embedded_image(const char *url)
{
    const char *type = url + strlen("data:");
    const char *end = strchr(type, ';');
    json_t *data = NULL;

    if (end == NULL || !text_starts_with(end, ";base64,") ||
        !is_image_type(type, (size_t)(end - type)))
        return NULL;
    data = json_object();
    json_put(data, "mimeType", json_text(type, (size_t)(end - type)));
    json_put_text(data, "data", end + strlen(";base64,"));
    return part_new("inlineData", data);
}

/* The server fetches the image. Its type follows from the end of the path, if that tells it. */
static json_t *linked_image(const char *url)
{
    json_t *data = json_object();
    size_t len = strcspn(url, "?#");

    for (size_t i = 0; i < ARRAY_SIZE(image_types); i++) {
        size_t n = strlen(image_types[i].suffix);

        if (len > n && strncasecmp(url + len - n, image_types[i].suffix, n) == 0)
            json_put_text(data, "mimeType", image_types[i].type);
    }
    json_put_text(data, "fileUri", url);
    return part_new("fileData", data);
}

/* NULL if the format does not take it. */
static json_t *image_part(const json_t *part)
{
    const char *url = json_text_or(json_object_get(part, "image_url"), "url", "");

    if (text_starts_with(url, "data:"))
        return embedded_image(url);
    return text_starts_with(url, "https://") ? linked_image(url) : NULL;
}

static bool is_image(const json_t *part)
{
    return text_equal(json_text_or(part, "type", "text"), "image_url");
}

/* --- system and user --- */

static void add_system(struct llm_prompt *prompt, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        const char *text = json_text_or(part, "text", "");
        json_auto_t *own = NULL;

        if (text_is_blank(text))
            continue;
        own = text_part(text);
        if (prompt->system.len > 0)
            strbuf_append_char(&prompt->system, ',');
        json_append_text(&prompt->system, own);
    }
}

/* The part in this form; NULL to leave it out. */
static json_t *user_part(const struct llm_prompt *prompt, const json_t *part)
{
    const char *text = json_text_or(part, "text", "");
    json_t *image = NULL;

    if (!is_image(part))
        return text_is_blank(text) ? NULL : text_part(text);
    if (!prompt->features.takes_images)
        return NULL;
    image = image_part(part);
    return image != NULL ? image : text_part(TURN_NO_IMAGE_TEXT);
}

static void add_user(struct llm_prompt *prompt, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        json_t *own = user_part(prompt, part);

        if (own != NULL)
            add_part(prompt, LLM_ROLE_USER, own);
    }
}

/* --- calls and results --- */

static void put_name(json_t *object, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf own = STRBUF_INIT;

    gemini_name_append(&own, name);
    json_put_text(object, "name", own.text);
}

static void append_line(struct strbuf *out, const char *text)
{
    if (text_is_blank(text))
        return;
    if (out->len > 0)
        strbuf_append_char(out, '\n');
    strbuf_append(out, text);
}

/* Appends the words of a result to *words, and its images, as far as the model takes them, to
 * images. */
static void read_result(const struct llm_prompt *prompt, const json_t *content,
                        struct strbuf *words, json_t *images)
{
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        json_t *image = NULL;

        if (!is_image(part)) {
            append_line(words, json_text_or(part, "text", ""));
            continue;
        }
        if (!prompt->features.takes_images)
            continue;
        if (prompt->features.takes_result_images)
            image = image_part(part);
        if (image != NULL)
            json_push(images, image);
        else
            append_line(words, TURN_NO_IMAGE_TEXT);
    }
}

static void add_result(struct llm_prompt *prompt, const json_t *message)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    json_t *result = json_object();
    json_t *response = json_object();
    json_t *images = json_array();

    read_result(prompt, json_object_get(message, "content"), &words, images);
    json_put(response, "output", clip_tool_text(words.text));
    if (json_object_size(response) == 0)
        json_put(response, "output", json_text(words.text, words.len));
    json_put(result, "id", call_id_bare(json_text_or(message, "tool_call_id", "")));
    put_name(result, json_text_or(message, "name", ""));
    json_put(result, "response", response);
    if (json_array_size(images) > 0)
        json_put(result, "parts", json_incref(images));
    json_decref(images);
    add_part(prompt, LLM_ROLE_TOOL, part_new("functionResponse", result));
}

static void add_call(struct llm_prompt *prompt, const json_t *call, const char *signature)
{
    const json_t *function = json_object_get(call, "function");
    const char *arguments = json_text_or(function, "arguments", "");
    json_auto_t *head = json_object();
    json_auto_t *signed_with = signature != NULL ? json_text_of(signature) : NULL;
    struct strbuf *out = &prompt->messages;

    json_put(head, "id", call_id_bare(json_text_or(call, "id", "")));
    put_name(head, json_text_or(function, "name", ""));
    begin_part(prompt, LLM_ROLE_ASSISTANT);
    strbuf_append(out, "{\"functionCall\":");
    json_append_text(out, head);
    strbuf_truncate(out, out->len - strlen("}"));
    strbuf_append(out, ",\"args\":");
    strbuf_append(out, turn_call_arguments(arguments));
    strbuf_append_char(out, '}');
    if (signed_with != NULL) {
        strbuf_append(out, ",\"thoughtSignature\":");
        json_append_text(out, signed_with);
    }
    strbuf_append_char(out, '}');
}

/* --- the assistant --- */

/* The words of an answer. Those without calls have the signature of the model's thought. */
static json_t *word_parts(const struct llm_prompt *prompt, const json_t *message)
{
    json_auto_t *own =
        thinking_of_model(json_object_get(message, "thinking_blocks"), prompt->model);
    json_t *parts = json_array();
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(message, "content"), i, part) {
        const char *text = json_text_or(part, "text", "");

        if (!text_is_blank(text))
            json_push(parts, text_part(text));
    }
    if (json_array_size(parts) > 0 && json_array_size(json_object_get(message, "tool_calls")) == 0)
        json_put_text(json_array_get(parts, json_array_size(parts) - 1), "thoughtSignature",
                      json_text_or(json_array_get(own, 0), "signature", NULL));
    return parts;
}

static void add_answer(struct llm_prompt *prompt, const json_t *message)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    json_auto_t *words = word_parts(prompt, message);
    json_t *entry = NULL;
    size_t i = 0;

    if (json_array_size(calls) == 0 && json_array_size(words) == 0)
        return;
    if (prompt->end.role == LLM_ROLE_NONE)
        add_part(prompt, LLM_ROLE_USER, text_part(TURN_OPENING_TEXT));
    /* A call must follow a content of the user's. */
    if (prompt->end.role == LLM_ROLE_ASSISTANT)
        add_part(prompt, LLM_ROLE_USER, text_part(TURN_GO_ON_TEXT));
    json_array_foreach (words, i, entry)
        add_part(prompt, LLM_ROLE_ASSISTANT, json_incref(entry));
    json_array_foreach (calls, i, entry)
        add_call(prompt, entry, call_signature(prompt, message, i));
}

/* --- a prompt --- */

void gemini_add_message(struct llm_prompt *prompt, json_t *message)
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

void gemini_add_tools(struct llm_prompt *prompt, const json_t *tools)
{
    json_auto_t *own = json_array();
    const json_t *tool = NULL;
    size_t i = 0;

    json_array_foreach (tools, i, tool) {
        const json_t *function = json_object_get(tool, "function");
        json_t *declaration = json_object();

        put_name(declaration, json_text_or(function, "name", ""));
        json_put_text(declaration, "description", json_text_or(function, "description", NULL));
        json_put(declaration, "parameters",
                 gemini_schema_new(json_object_get(function, "parameters")));
        json_push(own, declaration);
    }
    json_append_text(&prompt->tools, own);
}
