#include "model/openai/openai_request.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "model/schema/words.h"

static const struct json_path body_place = {NULL, "body", 0};

static const struct field stream_options_fields[] = {
    {.name = "include_usage", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema stream_options_schema = SCHEMA(stream_options_fields);

static const struct field chat_message_fields[] = {
    {.name = "role",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "system|developer|user|assistant|tool"},
    {.name = "content", .kind = FIELD_ANY, .rules = FIELD_NULLABLE},
};
static const struct object_schema chat_message_schema = SCHEMA(chat_message_fields);

static const struct field chat_fields[] = {
    {.name = "model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "messages",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &chat_message_schema},
    {.name = "stream", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "stream_options",
     .kind = FIELD_OBJECT,
     .rules = FIELD_NULLABLE,
     .items = &stream_options_schema},
};
const struct object_schema openai_chat_schema = SCHEMA(chat_fields);

static const struct field response_fields[] = {
    {.name = "model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "input", .kind = FIELD_ANY, .rules = FIELD_REQUIRED},
    {.name = "instructions", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "previous_response_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "store", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "stream", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "metadata", .kind = FIELD_TEXT_MAP, .rules = FIELD_NULLABLE},
};
const struct object_schema openai_response_schema = SCHEMA(response_fields);

static const struct field input_message_fields[] = {
    {.name = "role",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "system|developer|user|assistant"},
    {.name = "content", .kind = FIELD_ANY, .rules = FIELD_REQUIRED},
};
static const struct object_schema input_message_schema = SCHEMA(input_message_fields);

/* The input of a responses request if it is a list. */
static const struct field input_fields[] = {
    {.name = "input",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &input_message_schema},
};
static const struct object_schema input_schema = SCHEMA(input_fields);

static const struct field part_fields[] = {
    {.name = "type", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "text", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "image_url", .kind = FIELD_ANY, .rules = FIELD_NULLABLE},
};
static const struct object_schema part_schema = SCHEMA(part_fields);

static const struct field content_fields[] = {
    {.name = "content", .kind = FIELD_OBJECTS, .rules = FIELD_REQUIRED, .items = &part_schema},
};
static const struct object_schema content_schema = SCHEMA(content_fields);

/* State while messages are merged into one. */
struct openai_reader {
    struct openai_request *ask;
    const char *list_name; /* of the member that holds the messages */
    json_t *problems;
};

void openai_request_done(struct openai_request *ask)
{
    if (ask == NULL)
        return;
    strbuf_done(&ask->system);
    json_decref(ask->content);
}

/* Keeps the first reason. */
static void refuse(struct openai_request *ask, const char *words)
{
    if (ask->refusal == NULL)
        ask->refusal = words;
}

static const char *role_of(const json_t *message)
{
    return json_text_or(message, "role", "");
}

static bool is_system(const json_t *message)
{
    return text_equal(role_of(message), "system") || text_equal(role_of(message), "developer");
}

/* Converts an image part; a new reference, or NULL if it has no URL. */
static json_t *image_part(const json_t *part)
{
    json_t *given = json_object_get(part, "image_url");
    const char *url =
        json_is_string(given) ? json_string_value(given) : json_text_or(given, "url", NULL);
    json_t *image = NULL;
    json_t *urls = NULL;

    if (url == NULL)
        return NULL;
    image = json_object();
    urls = json_array();
    json_put_text(image, "type", "image");
    json_push(urls, json_text_of(url));
    json_put(image, "image_urls", urls);
    return image;
}

/* Converts a part; a new reference, or NULL with the refusal set. */
static json_t *part_of(struct openai_reader *reading, const json_t *part)
{
    const char *type = json_text_or(part, "type", "");
    json_t *image = NULL;

    if (words_contain("text|input_text|output_text", type))
        return text_content(json_text_or(part, "text", ""));
    if (words_contain("image_url|input_image", type))
        image = image_part(part);
    if (image == NULL)
        refuse(reading->ask, "The parts of a message must be text, or images with a URL");
    return image;
}

/* Converts a message's list of parts; a new reference, empty if the list is malformed. */
static json_t *read_list(struct openai_reader *reading, json_t *message, size_t index)
{
    const struct json_path list_place = {&body_place, reading->list_name, 0};
    const struct json_path path = {&list_place, NULL, (json_int_t)index};
    json_auto_t *read = object_schema_read(&content_schema, message, &path, reading->problems);
    json_t *parts = json_array();
    json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(read, "content"), i, part) {
        json_t *ours = part_of(reading, part);

        if (ours != NULL)
            json_push(parts, ours);
    }
    return parts;
}

/* Converts a message's content, text or list. A new reference. */
static json_t *read_parts(struct openai_reader *reading, json_t *message, size_t index)
{
    const json_t *content = json_object_get(message, "content");
    json_t *parts = NULL;

    if (content != NULL && !json_is_string(content) && !json_is_null(content))
        return read_list(reading, message, index);
    parts = json_array();
    if (json_is_string(content))
        json_push(parts, text_content(json_string_value(content)));
    return parts;
}

static void append_line(struct strbuf *text, const char *line)
{
    if (line[0] != '\0')
        strbuf_appendf(text, "%s%s", text->len > 0 ? "\n\n" : "", line);
}

/* Appends a system message's text; other parts are ignored. */
static void add_system(struct openai_reader *reading, json_t *message, size_t index)
{
    json_auto_t *parts = read_parts(reading, message, index);
    json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (parts, i, part)
        append_line(&reading->ask->system, json_text_or(part, "text", ""));
}

enum when { SAID_BEFORE, SAID_NOW };

/* Earlier messages are added with a label, since they are not in the conversation's log. */
static void add_turn(struct openai_reader *reading, json_t *message, size_t index, enum when when)
{
    json_auto_t *parts = read_parts(reading, message, index);
    CLEANUP(strbuf_done) struct strbuf label = STRBUF_INIT;
    json_t *content = reading->ask->content;

    if (when == SAID_BEFORE)
        strbuf_appendf(&label, "Said before, by the %s:", role_of(message));
    else if (json_array_size(content) > 0)
        strbuf_append(&label, "Said now:");
    if (label.len > 0)
        json_push(content, text_content(label.text));
    (void)json_array_extend(content, parts);
}

/* Returns the index of the first message to take. */
static size_t first_of(const json_t *messages, enum openai_turns turns)
{
    size_t first = 0;

    if (turns == OPENAI_ALL_TURNS)
        return 0;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        if (text_equal(role_of(json_array_get(messages, i)), "assistant"))
            first = i + 1;
    }
    return first;
}

/* Returns the index after the last message that is not a system message; 0 if there is none. */
static size_t end_of(const json_t *messages)
{
    size_t end = json_array_size(messages);

    while (end > 0 && is_system(json_array_get(messages, end - 1)))
        end--;
    return end;
}

static void read_messages(struct openai_reader *reading, const json_t *messages,
                          enum openai_turns turns)
{
    size_t first = first_of(messages, turns);
    size_t end = end_of(messages);

    for (size_t i = 0; i < json_array_size(messages); i++) {
        json_t *message = json_array_get(messages, i);

        if (is_system(message))
            add_system(reading, message, i);
        else if (i >= first)
            add_turn(reading, message, i, i + 1 == end ? SAID_NOW : SAID_BEFORE);
    }
    if (end > 0 && !text_equal(role_of(json_array_get(messages, end - 1)), "user"))
        refuse(reading->ask, "The last message must be the user's");
}

static bool says_nothing(const json_t *content)
{
    json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        if (!text_is_blank(json_text_or(part, "text", "")) ||
            json_object_get(part, "image_urls") != NULL)
            return false;
    }
    return true;
}

/* Common to both APIs. */
static void finish(struct openai_request *ask, const json_t *values)
{
    const char *model = json_text_or(values, "model", "");

    if (text_starts_with(model, OPENAI_MODEL_PREFIX))
        ask->profile = model + strlen(OPENAI_MODEL_PREFIX);
    ask->is_streamed = json_is_true(json_object_get(values, "stream"));
    if (says_nothing(ask->content))
        refuse(ask, "There is no input");
    if (utf8_length(ask->system.text, ask->system.len) > SUFFIX_MAX_CHARS)
        refuse(ask, "The system text is longer than 32768 characters");
}

void openai_request_read_chat(json_t *values, enum openai_turns turns, struct openai_request *ask,
                              json_t *problems)
{
    struct openai_reader reading = {ask, "messages", problems};

    ask->content = json_array();
    read_messages(&reading, json_object_get(values, "messages"), turns);
    finish(ask, values);
}

void openai_request_read_response(json_t *values, struct openai_request *ask, json_t *problems)
{
    struct openai_reader reading = {ask, "input", problems};
    json_t *input = json_object_get(values, "input");
    json_auto_t *list = NULL;

    ask->content = json_array();
    append_line(&ask->system, json_text_or(values, "instructions", ""));
    if (json_is_true(json_object_get(values, "store")))
        refuse(ask, "Responses are not stored; set store to false");
    if (json_text_or(values, "previous_response_id", NULL) != NULL)
        refuse(ask, "previous_response_id is not supported");
    if (json_is_string(input)) {
        json_push(ask->content, text_content(json_string_value(input)));
    } else {
        list = object_schema_read(&input_schema, values, &body_place, problems);
        read_messages(&reading, json_object_get(list, "input"), OPENAI_ALL_TURNS);
    }
    finish(ask, values);
}
