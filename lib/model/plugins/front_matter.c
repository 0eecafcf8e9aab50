#include "model/plugins/front_matter.h"

#include <stdbool.h>
#include <string.h>

#include <yaml.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { HEAD_MAX_BYTES = 65536, DEPTH_MAX = 8 };

/* One line of the front matter; `next` is the start of the following line. */
struct line {
    const char *text;
    size_t len; /* without trailing white space and line end */
    const char *next;
};

static struct line line_at(const char *at)
{
    struct line line = {.text = at, .len = strcspn(at, "\n")};

    line.next = at + line.len + (at[line.len] == '\n');
    while (line.len > 0 && strchr(" \t\r", at[line.len - 1]) != NULL)
        line.len--;
    return line;
}

static bool is_fence(const struct line *line)
{
    return line->len == 3 && strncmp(line->text, "---", 3) == 0;
}

/* True for the first line of an entry: "key: value", not indented. */
static bool is_entry(const struct line *line)
{
    return line->len > 0 && strchr(" \t#-", line->text[0]) == NULL &&
           memchr(line->text, ':', line->len) != NULL;
}

/* True for the styles | and >. */
static bool is_block(const yaml_event_t *scalar)
{
    return scalar->data.scalar.style == YAML_LITERAL_SCALAR_STYLE ||
           scalar->data.scalar.style == YAML_FOLDED_SCALAR_STYLE;
}

static bool is_nothing(const yaml_event_t *scalar)
{
    return scalar->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar->data.scalar.length == 0;
}

static json_t *scalar_value(const yaml_event_t *scalar)
{
    const char *text = (const char *)scalar->data.scalar.value;
    size_t len = scalar->data.scalar.length;

    if (scalar->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        if (text_equal(text, "true"))
            return json_true();
        if (text_equal(text, "false"))
            return json_false();
    }
    while (is_block(scalar) && len > 0 && strchr("\n ", text[len - 1]) != NULL)
        len--;
    return json_text(text, len);
}

/* State while an entry is read as a YAML mapping. */
struct entry_reader {
    json_t *entry; /* {key: value} */
    struct strbuf key;
    bool has_key;  /* the next node of the mapping is the key's value */
    size_t depth;  /* of open mappings and lists */
    json_t *items; /* takes the scalars of the open list; borrowed, NULL: none */
};

static void put_value(struct entry_reader *reader, json_t *value)
{
    json_put(reader->entry, reader->key.text, value);
    reader->has_key = false;
}

/* False for text that no string of the contract may hold. */
static bool take_scalar(struct entry_reader *reader, const yaml_event_t *scalar)
{
    const char *text = (const char *)scalar->data.scalar.value;
    size_t len = scalar->data.scalar.length;

    if (reader->depth == 0 || memchr(text, '\0', len) != NULL)
        return false;
    if (reader->depth == 2 && reader->items != NULL) {
        if (!is_nothing(scalar))
            json_push(reader->items, scalar_value(scalar));
    } else if (reader->depth == 1 && reader->has_key) {
        put_value(reader, is_nothing(scalar) ? json_array() : scalar_value(scalar));
    } else if (reader->depth == 1) {
        strbuf_reset(&reader->key);
        strbuf_append_bytes(&reader->key, text, len);
        reader->has_key = true;
    }
    return true;
}

/* A list of scalars is kept; a mapping counts as an empty list, and what is deeper is skipped. */
static bool open_node(struct entry_reader *reader, yaml_event_type_t type)
{
    bool is_value = reader->depth == 1 && reader->has_key;
    bool is_list = type == YAML_SEQUENCE_START_EVENT;

    if (reader->depth == DEPTH_MAX || (reader->depth == 0 && is_list) ||
        (reader->depth == 1 && !is_value))
        return false;
    if (is_value) {
        json_t *items = json_array();

        put_value(reader, items);
        reader->items = is_list ? items : NULL;
    }
    reader->depth++;
    return true;
}

/* False if the entry is no mapping, is nested too deeply, or has an alias. */
static bool take_event(struct entry_reader *reader, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        return open_node(reader, event->type);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        reader->depth--;
        return true;
    case YAML_SCALAR_EVENT:
        return take_scalar(reader, event);
    case YAML_ALIAS_EVENT:
        return false;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return true;
}

static bool take_events(struct entry_reader *reader, yaml_parser_t *parser)
{
    yaml_event_type_t type = YAML_NO_EVENT;
    bool is_taken = true;

    while (is_taken && type != YAML_STREAM_END_EVENT) {
        yaml_event_t event = {.type = YAML_NO_EVENT};

        if (!yaml_parser_parse(parser, &event))
            return false;
        type = event.type;
        is_taken = take_event(reader, &event);
        yaml_event_delete(&event);
    }
    return is_taken;
}

/* Adds the entry's members to the head. False if it is not YAML. */
static bool read_yaml(json_t *head, const char *text, size_t len)
{
    json_auto_t *entry = json_object();
    struct entry_reader reader = {.entry = entry, .key = STRBUF_INIT};
    yaml_parser_t parser = {.error = YAML_NO_ERROR};
    bool is_read = false;

    if (!yaml_parser_initialize(&parser))
        return false;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    is_read = take_events(&reader, &parser);
    yaml_parser_delete(&parser);
    strbuf_done(&reader.key);
    if (is_read)
        json_object_update(head, entry);
    return is_read;
}

/* Length without a trailing comment. */
static size_t plain_length(const char *text, size_t len)
{
    for (size_t i = 1; i < len; i++) {
        if (text[i] == '#' && text[i - 1] == ' ') {
            len = i;
            break;
        }
    }
    while (len > 0 && text[len - 1] == ' ')
        len--;
    return len;
}

/*
 * Authors write values that YAML refuses, such as "Use when: asked" or "[file] [ref]". The rest of
 * such an entry's line is its value.
 */
static void read_plain(json_t *head, const struct line *line)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    size_t colon = strcspn(line->text, ":");
    const char *value = line->text + colon + 1;
    const char *end = line->text + line->len;

    while (value < end && *value == ' ')
        value++;
    strbuf_append_bytes(&key, line->text, colon);
    json_put(head, key.text,
             value == end ? json_array()
                          : json_text(value, plain_length(value, (size_t)(end - value))));
}

/* Reads the entry that begins with this line. Returns the line after the entry. */
static const char *read_entry(json_t *head, const struct line *first)
{
    const char *at = first->next;
    struct line line = line_at(at);

    if (!is_entry(first))
        return at;
    while (*at != '\0' && !is_fence(&line) && !is_entry(&line)) {
        at = line.next;
        line = line_at(at);
    }
    if (!read_yaml(head, first->text, (size_t)(at - first->text)))
        read_plain(head, first);
    return at;
}

/* Gives the first line of the front matter and its closing fence. False if there is none. */
static bool find_head(const char *text, const char **head_out, struct line *fence_out)
{
    struct line line = line_at(text);
    const char *head = line.next;

    if (!is_fence(&line))
        return false;
    line = line_at(head);
    while (*line.text != '\0' && !is_fence(&line))
        line = line_at(line.next);
    *head_out = head;
    *fence_out = line;
    return *line.text != '\0';
}

int front_matter_read(const char *text, json_t **head_out, const char **body_out, struct error *err)
{
    struct line fence = {.text = NULL};
    const char *at = NULL;
    json_t *head = NULL;

    if (!utf8_is_valid(text, strlen(text)))
        return error_set(err, ERROR_INVALID,
                         "the file is not UTF-8 text; save it in that encoding");
    head = json_object();
    if (!find_head(text, &at, &fence)) {
        *head_out = head;
        *body_out = text;
        return 0;
    }
    if (fence.text - at > HEAD_MAX_BYTES) {
        json_decref(head);
        return error_set(err, ERROR_TOO_LARGE, "the front matter is over %d bytes", HEAD_MAX_BYTES);
    }
    while (at < fence.text) {
        const struct line line = line_at(at);

        at = read_entry(head, &line);
    }
    *head_out = head;
    *body_out = fence.next;
    return 0;
}
