#include "model/plugins/front_matter.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"

/* One line of the front matter; `next` is the start of the following line. */
struct line {
    const char *text;
    size_t len; /* without trailing white space and line end */
    size_t indent;
    const char *next;
};

static struct line line_at(const char *at)
{
    struct line line = {.text = at, .len = strcspn(at, "\n")};

    line.next = at + line.len + (at[line.len] == '\n');
    while (line.len > 0 && strchr(" \t\r", at[line.len - 1]) != NULL)
        line.len--;
    line.indent = strspn(at, " ");
    if (line.indent > line.len)
        line.indent = line.len;
    return line;
}

static bool is_fence(const struct line *line)
{
    return line->len == 3 && strncmp(line->text, "---", 3) == 0;
}

/* Returns a quoted string without quotes and escapes. */
static json_t *quoted_value(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    char quote = text[0];

    for (size_t i = 1; i < len && text[i] != quote; i++) {
        if (text[i] == '\\' && quote == '"' && i + 1 < len)
            i++;
        strbuf_append_char(&out, text[i]);
    }
    return json_text(out.text, out.len);
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

static json_t *scalar_value(const char *text, size_t len)
{
    if (len > 0 && (text[0] == '"' || text[0] == '\''))
        return quoted_value(text, len);
    len = plain_length(text, len);
    if (len == 4 && strncmp(text, "true", len) == 0)
        return json_true();
    if (len == 5 && strncmp(text, "false", len) == 0)
        return json_false();
    return json_text(text, len);
}

/* Reads a flow list such as [a, "b, c"]. */
static json_t *inline_list(const char *text, size_t len)
{
    json_t *list = json_array();
    size_t at = 1;

    while (at < len && text[at] != ']') {
        size_t begin = at + strspn(text + at, " ");
        size_t end = begin;

        if (text[begin] == '"' || text[begin] == '\'') {
            char quote = text[begin];

            for (end = begin + 1; end < len && text[end] != quote;)
                end++;
            end = end < len ? end + 1 : len;
        }
        while (end < len && text[end] != ',' && text[end] != ']')
            end++;
        if (end > begin)
            json_push(list, scalar_value(text + begin, end - begin));
        at = end < len && text[end] == ',' ? end + 1 : end;
    }
    return list;
}

/* Reads the indented lines after a key as a folded (>) or literal (|) string. */
static json_t *block_text(const char *at, char style, const char **next_out)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct line line = line_at(at);
    size_t indent = line.indent;

    while (*at != '\0' && (line.len == 0 || (line.indent > 0 && line.indent >= indent))) {
        if (out.len > 0)
            strbuf_append_char(&out, style == '|' || line.len == 0 ? '\n' : ' ');
        if (line.len > indent)
            strbuf_append_bytes(&out, line.text + indent, line.len - indent);
        at = line.next;
        line = line_at(at);
    }
    *next_out = at;
    while (out.len > 0 && strchr("\n ", out.text[out.len - 1]) != NULL)
        strbuf_truncate(&out, out.len - 1);
    return json_text(out.text, out.len);
}

/* Reads the "- item" lines after a key; other indented lines are skipped. */
static json_t *block_list(const char *at, const char **next_out)
{
    json_t *list = json_array();
    struct line line = line_at(at);

    while (*at != '\0' && !is_fence(&line) &&
           (line.len == 0 || line.indent > 0 || line.text[0] == '-')) {
        const char *item = line.text + line.indent;
        size_t len = line.len - line.indent;

        if (len > 2 && item[0] == '-' && item[1] == ' ')
            json_push(list, scalar_value(item + 2, len - 2));
        at = line.next;
        line = line_at(at);
    }
    *next_out = at;
    return list;
}

/* Reads an unindented "key: value" and the lines that belong to it. Returns the next entry. */
static const char *read_entry(json_t *head, const struct line *line)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    size_t colon = strcspn(line->text, ":\n");
    const char *value = NULL;
    const char *next = line->next;
    size_t len = 0;

    if (line->len == 0 || line->indent > 0 || line->text[0] == '#' || colon >= line->len)
        return next;
    strbuf_append_bytes(&key, line->text, colon);
    value = line->text + colon + 1;
    value += strspn(value, " ");
    len = value < line->text + line->len ? (size_t)(line->text + line->len - value) : 0;
    if (len == 0)
        json_put(head, key.text, block_list(next, &next));
    else if (value[0] == '>' || value[0] == '|')
        json_put(head, key.text, block_text(next, value[0], &next));
    else if (value[0] == '[')
        json_put(head, key.text, inline_list(value, len));
    else
        json_put(head, key.text, scalar_value(value, len));
    return next;
}

static json_t *read_head(const char *text, const char **body_out)
{
    json_t *head = json_object();
    struct line line = line_at(text);
    const char *at = line.next;

    *body_out = text;
    if (!is_fence(&line))
        return head;
    for (line = line_at(at); *at != '\0' && !is_fence(&line); line = line_at(at))
        at = read_entry(head, &line);
    if (*at == '\0') { /* unterminated: no front matter */
        json_object_clear(head);
        return head;
    }
    *body_out = line.next;
    return head;
}

int front_matter_read(const char *text, json_t **head_out, const char **body_out, struct error *err)
{
    if (!utf8_is_valid(text, strlen(text)))
        return error_set(err, ERROR_INVALID,
                         "the file is not UTF-8 text; save it in that encoding");
    *head_out = read_head(text, body_out);
    return 0;
}
