#include "model/title.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"

static const char BLANKS[] = " \t\r\f\v";
static const char DOTS[] = "...";

/* The line's words with one space between them. */
static void append_squeezed(struct strbuf *out, const char *line, size_t len)
{
    const char *end = line + len;
    const char *p = line;

    while (p < end) {
        size_t n_blanks = strspn(p, BLANKS);
        size_t n_word = 0;

        p += n_blanks;
        if (p >= end)
            return;
        n_word = strcspn(p, " \t\r\f\v\n");
        if (out->len > 0)
            strbuf_append_char(out, ' ');
        utf8_append_repaired(out, p, n_word);
        p += n_word;
    }
}

char *title_from_text(const char *text)
{
    CLEANUP(strbuf_done) struct strbuf title = STRBUF_INIT;
    const char *line = text;

    while (title.len == 0 && *line != '\0') {
        size_t len = strcspn(line, "\n");

        append_squeezed(&title, line, len);
        line += len + (line[len] == '\n' ? 1 : 0);
    }
    if (title.len == 0)
        return NULL;
    if (utf8_length(title.text, title.len) > TITLE_AUTO_MAX_CHARS) {
        strbuf_truncate(&title,
                        utf8_offset(title.text, title.len, TITLE_AUTO_MAX_CHARS - strlen(DOTS)));
        strbuf_append(&title, DOTS);
    }
    return strbuf_take(&title);
}

/* Appends text without what stands between the marks; a block that does not end goes to the end. */
static void append_without_thoughts(struct strbuf *out, const char *text)
{
    static const char begin[] = "<think>";
    static const char end[] = "</think>";

    for (;;) {
        const char *thought = strstr(text, begin);
        const char *after = thought != NULL ? strstr(thought, end) : NULL;

        strbuf_append_bytes(out, text, thought != NULL ? (size_t)(thought - text) : strlen(text));
        if (after == NULL)
            return;
        text = after + strlen(end);
    }
}

char *title_from_answer(const char *text)
{
    static const char around[] = " \t\r\n\f\v\"'`*#";
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
    size_t n_before = 0;

    append_without_thoughts(&plain, text);
    n_before = strspn(plain.text, around);
    while (plain.len > n_before && strchr(around, plain.text[plain.len - 1]) != NULL)
        strbuf_truncate(&plain, plain.len - 1);
    return title_from_text(plain.text + n_before);
}
