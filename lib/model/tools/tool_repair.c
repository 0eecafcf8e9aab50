#include "model/tools/tool_repair.h"

#include <ctype.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/schema/object_schema.h"
#include "model/tools/tools.h"

static const char MALFORMED_MARK[] = "_openhands_malformed_tool_call";

struct alias {
    const char *name;
    const char *tool;
    const char *command;     /* implied by the name, or NULL */
    bool needs_no_arguments; /* only the command is meant */
};

static const struct alias aliases[] = {
    {"bash", "terminal", NULL, false},
    {"command", "terminal", NULL, false},
    {"execute", "terminal", NULL, false},
    {"execute_bash", "terminal", NULL, false},
    {"git", "terminal", "git", false},
    {"reset", "terminal", "reset", false},
    {"find", "terminal", "find", true},
    {"ls", "terminal", "ls", true},
    {"pwd", "terminal", "pwd", true},
    {"str_replace", "file_editor", NULL, false},
    {"str_replace_editor", "file_editor", NULL, false},
};

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

/* Converts grep{pattern, path, include} to a command line; false if there is no pattern. */
static bool grep_to_command(json_t *arguments)
{
    CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;
    const char *pattern = json_text_or(arguments, "pattern", NULL);
    const char *include = json_text_or(arguments, "include", NULL);

    if (pattern == NULL)
        return false;
    strbuf_append(&command, "grep -rnE");
    if (include != NULL) {
        strbuf_append(&command, " --include=");
        shell_word_append(&command, include);
    }
    strbuf_append(&command, " -e ");
    shell_word_append(&command, pattern);
    strbuf_append(&command, " -- ");
    shell_word_append(&command, json_text_or(arguments, "path", "."));
    (void)json_object_del(arguments, "pattern");
    (void)json_object_del(arguments, "path");
    (void)json_object_del(arguments, "include");
    json_put_text(arguments, "command", command.text);
    return true;
}

/* "status" for a tool named git means "git status". */
static void put_command_in_front(json_t *arguments, const char *word)
{
    CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;
    const char *given = json_text_or(arguments, "command", "");
    size_t len = strlen(word);

    if (text_starts_with(given, word) && (given[len] == ' ' || given[len] == '\0'))
        return;
    strbuf_append(&command, word);
    if (given[0] != '\0')
        strbuf_appendf(&command, " %s", given);
    json_put_text(arguments, "command", command.text);
}

static const struct tool *find_alias(const struct conversation *conversation, const char *name,
                                     json_t *arguments)
{
    const struct tool *tool = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
        const struct alias *alias = &aliases[i];

        if (!text_equal(alias->name, name))
            continue;
        tool = tools_find(conversation, alias->tool);
        if (tool == NULL || (alias->needs_no_arguments && json_object_size(arguments) > 0))
            return NULL;
        if (alias->command != NULL)
            put_command_in_front(arguments, alias->command);
        return tool;
    }
    tool = tools_find(conversation, "terminal");
    if (tool != NULL && text_equal(name, "grep") && grep_to_command(arguments))
        return tool;
    return NULL;
}

/* Exact names only: the aliases of agent specifications are not for models. */
static const struct tool *find_exact(const struct conversation *conversation, const char *name)
{
    const struct tool *tool = tools_find(conversation, name);

    return tool != NULL && text_equal(tool->name, name) ? tool : NULL;
}

const struct tool *tool_repair_name(const struct conversation *conversation, const char *name,
                                    json_t *arguments)
{
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
    const struct tool *tool = find_exact(conversation, name);
    size_t len = 0;

    if (tool != NULL)
        return tool;
    while (isalnum((unsigned char)name[len]) || name[len] == '_')
        len++;
    strbuf_append_bytes(&head, name, len);
    tool = find_exact(conversation, head.text);
    return tool != NULL ? tool : find_alias(conversation, head.text, arguments);
}

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
