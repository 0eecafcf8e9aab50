/*
 * Content of messages: text and image parts.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/event.h"
#include "model/schema/problem.h"
#include "model/schema/shape.h"

static const struct field text_fields[] = {
    {.name = "cache_prompt", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "type", .kind = FIELD_TEXT, .fallback = "\"text\"", .words = "text"},
    {.name = "text", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape text_shape = CLOSED_SHAPE(text_fields);

static const struct field image_fields[] = {
    {.name = "cache_prompt", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "type", .kind = FIELD_TEXT, .fallback = "\"image\"", .words = "image"},
    {.name = "image_urls", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
};
static const struct shape image_shape = SHAPE(image_fields);

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

static json_t *parts_read(json_t *input, const struct place *place, json_t *problems)
{
    json_t *content = json_array();
    json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (input, i, part) {
        struct place at = {place, NULL, (json_int_t)i};

        json_push(content,
                  shape_read(is_image(part) ? &image_shape : &text_shape, part, &at, problems));
    }
    return content;
}

json_t *content_read_at(json_t *input, const struct place *place, json_t *problems)
{
    static const struct problem not_list = {"list_type", "Input should be a valid list", NULL};

    if (json_typeof(input) == JSON_ARRAY)
        return parts_read(input, place, problems);
    problem_add(problems, place, &not_list, input);
    return json_array();
}

int content_read(json_t *input, json_t **content_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    json_auto_t *problems = json_array();
    const struct place body = {NULL, "body", 0};
    const struct place place = {&body, "content", 0};
    json_auto_t *content = NULL;

    if (json_typeof(input) == JSON_STRING) {
        *content_out = json_array();
        json_push(*content_out, text_content(json_string_value(input)));
        return 0;
    }
    content = content_read_at(input, &place, problems);
    if (json_array_size(problems) > 0) {
        problem_append_text(json_array_get(problems, 0), &words);
        return error_set(err, ERROR_INVALID, "%s", words.text);
    }
    *content_out = json_incref(content);
    return 0;
}
