#include "model/event/title.h"

#include <stdbool.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "model/markdown_line.h"

static const char BLANKS[] = " \t\r\f\v";
static const char DOTS[] = "...";

/* Appends the line's words, separated by single spaces. */
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

/* True for code points that modify the previous one, judged by the first bytes of their UTF-8. */
static bool is_extender(const char *at)
{
    const unsigned char *bytes = (const unsigned char *)at;

    return (bytes[0] == 0xCC && bytes[1] >= 0x80) || (bytes[0] == 0xCD && bytes[1] <= 0xAF) ||
           strncmp(at, "\xE2\x80\x8D", 3) == 0 ||                     /* zero-width joiner */
           strncmp(at, "\xEF\xB8\x8F", 3) == 0 ||                     /* emoji variation */
           (strncmp(at, "\xF0\x9F\x8F", 3) == 0 && bytes[3] >= 0xBB); /* skin tones */
}

static bool is_joined(const char *text, size_t at)
{
    return is_extender(text + at) || (at >= 3 && strncmp(text + at - 3, "\xE2\x80\x8D", 3) == 0);
}

/* Cuts before the first word that does not fit; a single word is cut between grapheme clusters. */
static void cut(struct strbuf *title)
{
    size_t n_chars = TITLE_AUTO_MAX_CHARS - strlen(DOTS);
    size_t end = utf8_offset(title->text, title->len, n_chars);
    size_t space = end;

    while (space > 0 && title->text[space] != ' ')
        space--;
    while (space == 0 && n_chars > 1 && is_joined(title->text, end))
        end = utf8_offset(title->text, title->len, --n_chars);
    strbuf_truncate(title, space > 0 ? space : end);
    strbuf_append(title, DOTS);
}

char *title_from_text(const char *text)
{
    CLEANUP(strbuf_done) struct strbuf title = STRBUF_INIT;
    const char *line = text;

    while (title.len == 0 && *line != '\0') {
        CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
        size_t len = strcspn(line, "\n");

        markdown_line_append(&plain, line, len);
        append_squeezed(&title, plain.text, plain.len);
        line += len + (line[len] == '\n' ? 1 : 0);
    }
    if (title.len == 0)
        return NULL;
    if (utf8_length(title.text, title.len) > TITLE_AUTO_MAX_CHARS)
        cut(&title);
    return strbuf_take(&title);
}

/* Appends text without <think> blocks; an unterminated block extends to the end. */
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
    static const char leading[] = " \t\r\n\f\v\"'`*#";
    static const char trailing[] = " \t\r\n\f\v\"'`*"; /* C# is a name */
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
    size_t n_before = 0;

    append_without_thoughts(&plain, text);
    n_before = strspn(plain.text, leading);
    while (plain.len > n_before && strchr(trailing, plain.text[plain.len - 1]) != NULL)
        strbuf_truncate(&plain, plain.len - 1);
    return title_from_text(plain.text + n_before);
}
