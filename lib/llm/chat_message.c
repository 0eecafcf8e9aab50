/*
 * Converts a message to the form that a given model takes.
 */
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm.h"
#include "llm/llm_error.h"
#include "llm/model_info.h"
#include "llm/route.h"

/* Longer tool output is cut in the middle. */
enum { TOOL_TEXT_MAX_CODE_POINTS = 50000 };

static const char CUT_NOTE[] =
    "\n[... the middle of this output was left out because it is too long ...]\n";

/* Message features that the model accepts. */
struct message_features {
    bool keeps_litellm; /* cache_control, thinking_blocks */
    bool keeps_images;
    bool keeps_reasoning;
    bool is_plain; /* content as one string */
};

/* A model without a provider is refused when it is called, so the result does not matter. */
static bool takes_litellm(const json_t *spec)
{
    CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
    struct llm_error ignored = LLM_ERROR_INIT;

    return llm_route_find(json_text_or(spec, "model", ""), json_text_or(spec, "base_url", NULL),
                          &route, &ignored) == 0 &&
           route.provider->takes_litellm;
}

static struct message_features features_of(const json_t *spec)
{
    const char *model = json_text_or(spec, "model_canonical_name", json_text_or(spec, "model", ""));
    int wants_plain =
        json_bool_or(spec, "force_string_serializer", model_info_wants_plain_text(model));

    return (struct message_features){
        .keeps_litellm = takes_litellm(spec),
        .keeps_images = json_bool_or(spec, "disable_vision", false) == 0,
        .keeps_reasoning = model_info_wants_reasoning_back(model),
        .is_plain = wants_plain != 0,
    };
}

/* Head and tail of a long text; NULL if it is not too long. */
static json_t *clipped(const char *text)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    size_t len = strlen(text);
    size_t n = len > TOOL_TEXT_MAX_CODE_POINTS ? utf8_length(text, len) : 0;
    size_t n_kept = TOOL_TEXT_MAX_CODE_POINTS - strlen(CUT_NOTE);
    size_t head = 0;
    size_t tail = 0;

    if (n <= TOOL_TEXT_MAX_CODE_POINTS)
        return NULL;
    head = utf8_offset(text, len, n_kept - n_kept / 2);
    tail = utf8_offset(text, len, n - n_kept / 2);
    strbuf_append_bytes(&out, text, head);
    strbuf_append(&out, CUT_NOTE);
    strbuf_append_bytes(&out, text + tail, len - tail);
    return json_text(out.text, out.len);
}

/* The part in the form to send, or NULL to leave it out. A new reference. */
static json_t *adapt_part(json_t *part, const struct message_features *features, bool is_tool)
{
    const char *type = json_text_or(part, "type", "text");
    const char *text = json_text_or(part, "text", "");
    json_t *copy = NULL;

    if (text_equal(type, "image_url"))
        return features->keeps_images ? json_incref(part) : NULL;
    if (!text_equal(type, "text"))
        return json_incref(part);
    if (text_is_blank(text))
        return NULL;
    copy = json_copy(part);
    if (!features->keeps_litellm)
        (void)json_object_del(copy, "cache_control");
    if (is_tool)
        json_put(copy, "text", clipped(text));
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

static json_t *adapt_content(const json_t *content, const struct message_features *features,
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
    if (!features->is_plain)
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

static void put_content(json_t *copy, const json_t *message,
                        const struct message_features *features)
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

static json_t *adapt_message(json_t *message, const struct message_features *features)
{
    json_t *copy = json_copy(message);

    put_content(copy, message, features);
    if (!features->keeps_litellm) {
        (void)json_object_del(copy, "cache_control");
        (void)json_object_del(copy, "thinking_blocks");
    }
    if (!features->keeps_reasoning)
        (void)json_object_del(copy, "reasoning_content");
    return copy;
}

void llm_append_message(const json_t *spec, json_t *message, struct strbuf *out)
{
    struct message_features features = features_of(spec);
    json_auto_t *adapted = adapt_message(message, &features);

    if (out->len > 0)
        strbuf_append_char(out, ',');
    json_append_text(out, adapted);
}
