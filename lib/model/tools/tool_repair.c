#include "model/tools/tool_repair.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/schema/object_schema.h"
#include "model/tools/tool.h"

static const char MALFORMED_MARK[] = "_openhands_malformed_tool_call";

struct spelling {
    const char *wrong;
    const char *right;
};

static const struct spelling spellings[] = {
    {"security_rort", "security_risk"},
    {"securtiy_risk", "security_risk"},
    {"security_riks", "security_risk"},
};

/* Members of a file_editor call that imply a missing command; the first match wins. */
static const struct spelling editor_commands[] = {
    {"old_str", "str_replace"},
    {"insert_line", "insert"},
    {"file_text", "create"},
    {"path", "view"},
};

/* Escapes raw control characters in strings; the rest is unchanged. */
static void append_escaped(struct strbuf *out, const char *text)
{
    bool in_text = false;

    for (const char *p = text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;

        if (in_text && c == '\\' && p[1] != '\0')
            strbuf_append_char(out, *p++);
        else if (c == '"')
            in_text = !in_text;
        if (in_text && (unsigned char)*p < 0x20)
            strbuf_appendf(out, "\\u%04x", (unsigned)(unsigned char)*p);
        else
            strbuf_append_char(out, *p);
    }
}

/* Without the parser's message, which quotes the arguments. */
static void append_malformed(struct strbuf *out)
{
    json_auto_t *mark = json_object();

    json_put(mark, MALFORMED_MARK, json_true());
    json_put_text(mark, "error", "the arguments were not valid JSON");
    json_append_text(out, mark);
}

json_t *tool_repair_parse(const char *arguments, struct strbuf *text_out)
{
    CLEANUP(strbuf_done) struct strbuf escaped = STRBUF_INIT;
    struct error why = ERROR_INIT;
    json_t *parsed = NULL;
    const char *kept = arguments;

    if (text_is_blank(arguments))
        kept = "{}";
    if (json_parse(kept, strlen(kept), &parsed, &why) < 0) {
        append_escaped(&escaped, arguments);
        kept = escaped.text;
        if (json_parse(kept, escaped.len, &parsed, &why) < 0) {
            append_malformed(text_out);
            return NULL;
        }
    }
    if (json_is_object(parsed)) {
        strbuf_append(text_out, kept);
        return parsed;
    }
    json_decref(parsed);
    strbuf_append(text_out, "{}");
    return json_object();
}

static void repair_spelling(json_t *arguments)
{
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
        json_t *value = json_object_get(arguments, spellings[i].wrong);

        if (value == NULL || json_object_get(arguments, spellings[i].right) != NULL)
            continue;
        json_put(arguments, spellings[i].right, json_incref(value));
        (void)json_object_del(arguments, spellings[i].wrong);
    }
}

static void drop_null_members(json_t *arguments)
{
    const char *name = NULL;
    void *next = NULL;
    json_t *value = NULL;

    json_object_foreach_safe (arguments, next, name, value) {
        if (json_is_null(value))
            (void)json_object_del(arguments, name);
    }
}

/* Joins a list of strings; NULL if an element is not a string. */
static json_t *join_texts(const json_t *list)
{
    CLEANUP(strbuf_done) struct strbuf joined = STRBUF_INIT;
    json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item) {
        if (!json_is_string(item))
            return NULL;
        strbuf_append_bytes(&joined, json_string_value(item), json_string_length(item));
    }
    return json_text(joined.text, joined.len);
}

static bool is_container(enum field_kind kind)
{
    return kind == FIELD_MAP || kind == FIELD_TEXT_MAP || kind == FIELD_LIST ||
           kind == FIELD_TEXTS || kind == FIELD_INTS || kind == FIELD_OBJECT ||
           kind == FIELD_OBJECTS;
}

/* Returns a value converted to the field's kind; NULL if it is valid or cannot be repaired. */
static json_t *repaired_value(const struct field *field, const json_t *value)
{
    struct error ignored = ERROR_INIT;
    json_t *decoded = NULL;

    if (field->kind == FIELD_TEXT && json_is_array(value))
        return join_texts(value);
    if (!is_container(field->kind) || !json_is_string(value))
        return NULL;
    error_ignore(
        json_parse_first(json_string_value(value), json_string_length(value), &decoded, &ignored),
        "the arguments stay as they were sent");
    return decoded;
}

static void infer_editor_command(json_t *arguments)
{
    if (json_object_get(arguments, "command") != NULL)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(editor_commands); i++) {
        if (json_object_get(arguments, editor_commands[i].wrong) == NULL)
            continue;
        json_put_text(arguments, "command", editor_commands[i].right);
        return;
    }
}

void tool_repair_arguments(const struct tool *tool, json_t *arguments)
{
    drop_null_members(arguments);
    repair_spelling(arguments);
    for (size_t i = 0; i < tool->schema->n; i++) {
        const struct field *field = &tool->schema->fields[i];
        const json_t *value = json_object_get(arguments, field->name);

        if (value != NULL)
            json_put(arguments, field->name, repaired_value(field, value));
    }
    if (text_equal(tool->name, "file_editor"))
        infer_editor_command(arguments);
}
