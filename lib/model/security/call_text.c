#include "model/security/call_text.h"

#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "model/security/security_call.h"

struct code_points {
    uint32_t first;
    uint32_t last;
};

/* Soft hyphen, Arabic letter mark, Mongolian vowel separator, zero-width and bidi controls, BOM. */
static const struct code_points invisible[] = {
    {0x0000, 0x0000}, {0x00AD, 0x00AD}, {0x061C, 0x061C}, {0x180E, 0x180E}, {0x200B, 0x200F},
    {0x202A, 0x202E}, {0x2060, 0x206F}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF},
};

static const struct code_points blanks[] = {
    {0x0009, 0x0009}, {0x000B, 0x000D}, {0x0020, 0x0020}, {0x00A0, 0x00A0}, {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};

static const struct code_points newlines[] = {{0x000A, 0x000A}, {0x0085, 0x0085}, {0x2028, 0x2029}};

enum { FULL_WIDTH_FIRST = 0xFF01, FULL_WIDTH_LAST = 0xFF5E, ASCII_FIRST = 0x21 };

static bool is_among(uint32_t c, const struct code_points *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    }
    return false;
}

static uint32_t decode(const char *bytes, size_t len)
{
    static const unsigned char masks[] = {0xFF, 0xFF, 0x1F, 0x0F, 0x07};
    uint32_t c = (unsigned char)bytes[0] & masks[len];

    for (size_t i = 1; i < len; i++)
        c = c << 6 | ((unsigned char)bytes[i] & 0x3F);
    return c;
}

/* The character that counts for c, or NUL to drop it. Others than ASCII are themselves. */
static uint32_t normal_of(uint32_t c)
{
    if (is_among(c, invisible, ARRAY_SIZE(invisible)))
        return '\0';
    if (is_among(c, blanks, ARRAY_SIZE(blanks)))
        return ' ';
    if (is_among(c, newlines, ARRAY_SIZE(newlines)))
        return '\n';
    if (c >= FULL_WIDTH_FIRST && c <= FULL_WIDTH_LAST)
        return c - FULL_WIDTH_FIRST + ASCII_FIRST;
    return c;
}

static bool repeats_space(const struct strbuf *out, size_t start, uint32_t c)
{
    return (c == ' ' || c == '\n') && out->len > start && out->text[out->len - 1] == (char)c;
}

/* False if there was no room for all of it. */
static bool append_normal(struct strbuf *out, const char *bytes, size_t len, size_t *n_left)
{
    size_t start = out->len;
    size_t at = 0;

    while (at < len) {
        size_t width = utf8_sequence_length(bytes + at, len - at);
        uint32_t c = 0;

        width = width == 0 ? 1 : width;
        c = normal_of(decode(bytes + at, width));
        if (c != '\0' && !repeats_space(out, start, c)) {
            if (*n_left == 0)
                return false;
            if (c < 0x80)
                strbuf_append_char(out, (char)c);
            else
                strbuf_append_bytes(out, bytes + at, width);
            --*n_left;
        }
        at += width;
    }
    return true;
}

static bool names_command(const char *name)
{
    return text_equal(name, "command") || text_equal(name, "cmd") || text_equal(name, "script");
}

static void add_segment(struct call_text *text, const char *name, const json_t *string)
{
    struct call_segment segment = {.is_command = names_command(name)};

    strbuf_append_char(&text->executable, '\n');
    segment.start = text->executable.len;
    if (!append_normal(&text->executable, json_string_value(string), json_string_length(string),
                       &text->n_left))
        text->is_cut = true;
    segment.len = text->executable.len - segment.start;
    if (text->n_segments == text->size) {
        text->size = 2 * text->n_segments + 8;
        text->segments = mem_resize(text->segments, text->size * sizeof(*text->segments));
    }
    text->segments[text->n_segments++] = segment;
}

/* Elements of a list have the list's name. */
/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
static void add_strings(struct call_text *text, const char *name, json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        add_strings(text, name, json_array_get(value, i));
    for (void *at = json_object_iter(value); at != NULL; at = json_object_iter_next(value, at))
        add_strings(text, json_object_iter_key(at), json_object_iter_value(at));
    if (json_is_string(value))
        add_segment(text, name, value);
}

void call_text_read(struct call_text *text, const struct security_call *call)
{
    const char *const spoken[] = {call->summary, call->reasoning, call->thought};
    size_t n_left = ANALYZED_TEXT_MAX_CHARS;

    text->n_left = ANALYZED_TEXT_MAX_CHARS;
    (void)append_normal(&text->executable, call->tool_name, strlen(call->tool_name), &text->n_left);
    if (call->action != NULL)
        add_strings(text, "", (json_t *)(uintptr_t)call->action);
    for (size_t i = 0; i < ARRAY_SIZE(spoken); i++) {
        if (spoken[i] == NULL)
            continue;
        (void)append_normal(&text->spoken, spoken[i], strlen(spoken[i]), &n_left);
        strbuf_append_char(&text->spoken, '\n');
    }
}

void call_text_done(struct call_text *text)
{
    strbuf_done(&text->executable);
    strbuf_done(&text->spoken);
    mem_free(text->segments);
}
