/*
 * Content of messages: text and image parts.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/event.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"

static const struct field text_fields[] = {
    {.name = "cache_prompt", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "type", .kind = FIELD_TEXT, .fallback = "\"text\"", .words = "text"},
    {.name = "text", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema text_schema = CLOSED_SCHEMA(text_fields);

static const struct field image_fields[] = {
    {.name = "cache_prompt", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "type", .kind = FIELD_TEXT, .fallback = "\"image\"", .words = "image"},
    {.name = "image_urls", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
};
static const struct object_schema image_schema = SCHEMA(image_fields);

json_t *text_content(const char *text)
{
    json_t *content = json_object();

    json_put(content, "cache_prompt", json_false());
    json_put_text(content, "type", "text");
    json_put_text(content, "text", text);
    return content;
}

static bool is_image(const json_t *part)
{
    const char *type = json_text_or(part, "type", NULL);

    if (type != NULL)
        return text_equal(type, "image");
    return json_object_get(part, "image_urls") != NULL;
}

static json_t *parts_read(json_t *input, const struct json_path *path, json_t *problems)
{
    json_t *content = json_array();
    json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (input, i, part) {
        struct json_path at = {path, NULL, (json_int_t)i};

        json_push(content, object_schema_read(is_image(part) ? &image_schema : &text_schema, part,
                                              &at, problems));
    }
    return content;
}

json_t *content_read_at(json_t *input, const struct json_path *path, json_t *problems)
{
    static const struct validation_error not_list = {"list_type", "Input should be a valid list",
                                                     NULL};

    if (json_typeof(input) == JSON_ARRAY)
        return parts_read(input, path, problems);
    validation_error_add(problems, path, &not_list, input);
    return json_array();
}

int content_read(json_t *input, json_t **content_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    json_auto_t *problems = json_array();
    const struct json_path body = {NULL, "body", 0};
    const struct json_path path = {&body, "content", 0};
    json_auto_t *content = NULL;

    if (json_typeof(input) == JSON_STRING) {
        *content_out = json_array();
        json_push(*content_out, text_content(json_string_value(input)));
        return 0;
    }
    content = content_read_at(input, &path, problems);
    if (json_array_size(problems) > 0) {
        validation_error_append_text(json_array_get(problems, 0), &words);
        return error_set(err, ERROR_INVALID, "%s", words.text);
    }
    *content_out = json_incref(content);
    return 0;
}
