/* Messages and tools of a call of Bedrock's Converse (see bedrock.h). */
#include <stddef.h>
#include <string.h>

#include "base/crypto.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/claude.h"
#include "llm/formats/bedrock.h"
#include "llm/formats/turn_list.h"
#include "llm/llm_prompt.h"

enum {
    ID_MAX_BYTES = 64,  /* of a call */
    ID_HEAD_BYTES = 31, /* of a shortened id: the beginning, and a hash */
};

/* --- blocks: objects with one member --- */

static json_t *block_of(const char *type, json_t *value)
{
    json_t *block = json_object();

    json_put(block, type, value);
    return block;
}

static json_t *text_block(const char *text, size_t len)
{
    return block_of("text", json_text(text, len));
}

/* An image is sent along: a URL is not taken. */
static json_t *image_block(const char *url)
{
    const char *data = NULL;
    const char *type = turn_image_type(url, &data);
    json_t *image = NULL;

    if (type == NULL)
        return NULL;
    image = json_object();
    json_put_text(image, "format", type + strlen("image/"));
    json_put(image, "source", block_of("bytes", json_text_of(data)));
    return block_of("image", image);
}

/* Other providers' ids can be longer than is taken. */
static void put_id(json_t *object, const char *id)
{
    char hex[CRYPTO_HASH_HEX_BYTES];
    char shortened[ID_MAX_BYTES + 1] = "";

    if (strlen(id) <= ID_MAX_BYTES) {
        json_put_text(object, "toolUseId", id);
        return;
    }
    crypto_sha256_hex(id, strlen(id), hex);
    (void)memcpy(shortened, id, ID_HEAD_BYTES);
    shortened[ID_HEAD_BYTES] = '_';
    (void)memcpy(shortened + ID_HEAD_BYTES + 1, hex, ID_MAX_BYTES - ID_HEAD_BYTES - 1);
    json_put_text(object, "toolUseId", shortened);
}

static json_t *result_block(const char *id, json_t *parts, enum turn_outcome outcome)
{
    json_t *result = json_object();

    put_id(result, id);
    json_put(result, "content", parts);
    if (outcome == TURN_OUTCOME_FAILED)
        json_put_text(result, "status", "error");
    return block_of("toolResult", result);
}

static json_t *thinking_block(json_t *block)
{
    json_auto_t *own = block;
    json_t *reasoning = json_object();
    json_t *text = NULL;

    if (text_equal(json_text_or(own, "type", ""), "redacted_thinking")) {
        json_put_text(reasoning, "redactedContent", json_text_or(own, "data", ""));
    } else {
        text = json_object();
        json_put_text(text, "text", json_text_or(own, "thinking", ""));
        json_put_text(text, "signature", json_text_or(own, "signature", ""));
        json_put(reasoning, "reasoningText", text);
    }
    return block_of("reasoningContent", reasoning);
}

static void append_call(struct strbuf *out, const char *id, const char *name, const char *input)
{
    json_auto_t *use = json_object();

    put_id(use, id);
    json_put_text(use, "name", name);
    strbuf_append(out, "{\"toolUse\":");
    json_append_text(out, use);
    strbuf_truncate(out, out->len - strlen("}"));
    strbuf_append(out, ",\"input\":");
    strbuf_append(out, input);
    strbuf_append(out, "}}");
}

const struct turn_blocks bedrock_blocks = {
    .text = text_block,
    .image = image_block,
    .result = result_block,
    .thinking = thinking_block,
    .append_call = append_call,
    .has_mark_blocks = true,
};

/* --- a prompt --- */

/* The mark follows the first text: the rest differs from conversation to conversation. */
static void add_system(struct llm_prompt *prompt, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        const char *text = json_text_or(part, "text", "");
        json_auto_t *block = NULL;
        bool is_first = prompt->system.len == 0;

        if (text_is_blank(text))
            continue;
        block = text_block(text, strlen(text));
        if (!is_first)
            strbuf_append_char(&prompt->system, ',');
        json_append_text(&prompt->system, block);
        if (is_first && prompt->features.marks_cache)
            strbuf_append(&prompt->system, BEDROCK_CACHE_POINT);
    }
}

/* Models of other makers than Anthropic refuse words and results in one message. */
static enum turn_results results_of(const struct llm_prompt *prompt)
{
    return claude_find(prompt->model) != NULL ? TURN_RESULTS_WITH_WORDS : TURN_RESULTS_APART;
}

void bedrock_add_message(struct llm_prompt *prompt, json_t *message)
{
    if (text_equal(json_text_or(message, "role", ""), "system"))
        add_system(prompt, json_object_get(message, "content"));
    else
        turn_list_add(prompt, &bedrock_blocks, results_of(prompt), message);
}

static json_t *tool_of(const json_t *function)
{
    const char *description = json_text_or(function, "description", "");
    json_t *spec = json_object();

    json_put_text(spec, "name", json_text_or(function, "name", ""));
    if (description[0] != '\0')
        json_put_text(spec, "description", description);
    json_put(spec, "inputSchema",
             block_of("json", json_incref(json_object_get(function, "parameters"))));
    return block_of("toolSpec", spec);
}

void bedrock_add_tools(struct llm_prompt *prompt, const json_t *tools)
{
    json_auto_t *own = json_array();
    const json_t *tool = NULL;
    size_t i = 0;

    json_array_foreach (tools, i, tool)
        json_push(own, tool_of(json_object_get(tool, "function")));
    json_append_text(&prompt->tools, own);
}
