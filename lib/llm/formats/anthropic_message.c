/* Messages and tools of a call of Anthropic's Messages (see anthropic.h). */
#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/formats/anthropic.h"
#include "llm/formats/turn_list.h"
#include "llm/llm_prompt.h"

/* --- blocks --- */

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

static json_t *image_block(const char *url)
{
    const char *data = NULL;
    const char *type = turn_image_type(url, &data);
    json_t *source = NULL;
    json_t *block = NULL;

    if (type != NULL) {
        source = block_new("base64");
        json_put_text(source, "media_type", type);
        json_put_text(source, "data", data);
    } else if (text_starts_with(url, "https://")) {
        source = block_new("url");
        json_put_text(source, "url", url);
    } else {
        return NULL;
    }
    block = block_new("image");
    json_put(block, "source", source);
    return block;
}

static json_t *result_block(const char *id, json_t *parts, enum turn_outcome outcome)
{
    json_t *block = block_new("tool_result");

    (void)outcome;
    json_put_text(block, "tool_use_id", id);
    if (json_array_size(parts) > 0)
        json_put(block, "content", json_incref(parts));
    json_decref(parts);
    return block;
}

static json_t *thinking_block(json_t *block)
{
    return block;
}

static void append_call(struct strbuf *out, const char *id, const char *name, const char *input)
{
    json_auto_t *block = block_new("tool_use");

    json_put_text(block, "id", id);
    json_put_text(block, "name", name);
    json_append_text(out, block);
    strbuf_truncate(out, out->len - strlen("}"));
    strbuf_append(out, ",\"input\":");
    strbuf_append(out, input);
    strbuf_append_char(out, '}');
}

const struct turn_blocks anthropic_blocks = {
    .text = text_block,
    .image = image_block,
    .result = result_block,
    .thinking = thinking_block,
    .append_call = append_call,
};

/* --- a prompt --- */

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

void anthropic_add_message(struct llm_prompt *prompt, json_t *message)
{
    if (text_equal(json_text_or(message, "role", ""), "system"))
        add_system(prompt, json_object_get(message, "content"));
    else
        turn_list_add(prompt, &anthropic_blocks, TURN_RESULTS_WITH_WORDS, message);
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
