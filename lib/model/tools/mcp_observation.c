#include "model/tools/mcp_observation.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "model/event/event.h"
#include "model/tools/mcp_tools.h"

enum { IMAGE_MAX_BYTES = 700 * 1000, TEXT_MAX_CHARS = 100000, PARTS_MAX = 1000 };

static void push_text(json_t *content, const char *text)
{
    json_auto_t *beginning = json_text(text, utf8_offset(text, strlen(text), TEXT_MAX_CHARS));

    json_push(content, text_content(json_string_value(beginning)));
}

/* Says what a part is that cannot be shown. */
static void push_note(json_t *content, const char *what, const char *detail)
{
    CLEANUP(strbuf_done) struct strbuf note = STRBUF_INIT;

    strbuf_appendf(&note, "[%s%s%s]", what, detail[0] != '\0' ? ": " : "", detail);
    push_text(content, note.text);
}

static bool is_base64(const char *text)
{
    return text[strspn(
               text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")] == '\0';
}

static void push_image(json_t *content, const json_t *part)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    const char *type = json_text_or(part, "mimeType", "image/png");
    const char *data = json_text_or(part, "data", "");
    json_t *image = NULL;
    json_t *urls = NULL;

    if (!text_starts_with(type, "image/") || type[strcspn(type, ";, \t\r\n\"")] != '\0' ||
        data[0] == '\0' || strlen(data) > IMAGE_MAX_BYTES || !is_base64(data)) {
        push_note(content, "An image that cannot be shown", type);
        return;
    }
    strbuf_appendf(&url, "data:%s;base64,%s", type, data);
    image = json_object();
    urls = json_array();
    json_push(urls, json_text(url.text, url.len));
    json_put(image, "cache_prompt", json_false());
    json_put_text(image, "type", "image");
    json_put(image, "image_urls", urls);
    json_push(content, image);
}

static void push_resource(json_t *content, const json_t *resource)
{
    const char *text = json_text_or(resource, "text", NULL);

    if (text != NULL)
        push_text(content, text);
    else
        push_note(content, "A resource of binary data", json_text_or(resource, "uri", ""));
}

static void push_part(json_t *content, const json_t *part)
{
    const char *type = json_text_or(part, "type", "");

    if (text_equal(type, "text"))
        push_text(content, json_text_or(part, "text", ""));
    else if (text_equal(type, "image"))
        push_image(content, part);
    else if (text_equal(type, "resource"))
        push_resource(content, json_object_get(part, "resource"));
    else if (text_equal(type, "resource_link"))
        push_note(content, "A link to a resource", json_text_or(part, "uri", ""));
    else
        push_note(content, "Content of a kind that cannot be shown", type);
}

/* The note for a part may be a hundred times as long as the part. */
static void push_parts(json_t *content, const json_t *parts)
{
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (parts, i, part) {
        if (i == PARTS_MAX) {
            push_note(content, "More parts than can be shown", "");
            return;
        }
        push_part(content, part);
    }
}

json_t *mcp_observation(const char *tool, const json_t *result)
{
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
    json_t *observation = json_object();
    json_t *content = json_array();
    const json_t *structured = json_object_get(result, "structuredContent");

    strbuf_appendf(&head, "[Tool '%s' executed.]", tool);
    push_text(content, head.text);
    push_parts(content, json_object_get(result, "content"));
    if (json_array_size(content) == 1 && json_is_object(structured)) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        json_append_text(&text, structured);
        push_text(content, text.text);
    }
    json_put(observation, "content", content);
    json_put(observation, "is_error", json_boolean(json_bool_or(result, "isError", 0) != 0));
    json_put_text(observation, "tool_name", tool);
    json_put_text(observation, "kind", MCP_OBSERVATION_KIND);
    return observation;
}
