#include "sandbox/search/grep_pattern.h"

#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { PATTERN_MAX_BYTES = 4096, LINE_MAX_BYTES = 8192 /* a search may take the square of it */ };

/* Classes that POSIX lacks: alone, and inside of brackets. */
static const struct {
    char letter;
    const char *alone;
    const char *inside;
} classes[] = {
    {'d', "[0-9]", "0-9"},
    {'D', "[^0-9]", NULL},
    {'w', "[[:alnum:]_]", "[:alnum:]_"},
    {'W', "[^[:alnum:]_]", NULL},
    {'s', "[[:space:]]", "[:space:]"},
    {'S', "[^[:space:]]", NULL},
    {'t', "\t", "\t"},
    {'n', "\n", "\n"},
    {'-', "-", NULL},
};

void grep_pattern_done(struct grep_pattern *pattern)
{
    if (pattern->is_set)
        regfree(&pattern->regex);
    pattern->is_set = false;
}

/* --- translation --- */

static void append_escape(struct strbuf *out, char letter)
{
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        if (classes[i].letter == letter) {
            strbuf_append(out, classes[i].alone);
            return;
        }
    }
    strbuf_append_char(out, '\\');
    strbuf_append_char(out, letter);
}

/* In brackets a backslash is a character of POSIX; models mean an escape. */
static void append_inside(struct strbuf *out, char letter)
{
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        if (classes[i].letter == letter && classes[i].inside != NULL) {
            strbuf_append(out, classes[i].inside);
            return;
        }
    }
    strbuf_append_char(out, letter);
}

/* The length of a bracket expression's class such as [:alpha:] at text; 0: none. */
static size_t class_len(const char *text)
{
    const char *end = NULL;

    if (text[0] != '[' || strchr(":.=", text[1]) == NULL || text[1] == '\0')
        return 0;
    end = strchr(text + 2, ']');
    return end != NULL ? (size_t)(end + 1 - text) : 0;
}

/* Appends a bracket expression; returns what follows it. */
static const char *take_brackets(struct strbuf *out, const char *text)
{
    const char *first = text + 1 + (text[1] == '^');

    strbuf_append_bytes(out, text, (size_t)(first - text));
    for (text = first; *text != '\0' && (*text != ']' || text == first); text++) {
        size_t len = class_len(text);

        if (len > 0) {
            strbuf_append_bytes(out, text, len);
            text += len - 1;
        } else if (text[0] == '\\' && text[1] != '\0') {
            append_inside(out, *++text);
        } else {
            strbuf_append_char(out, *text);
        }
    }
    if (*text == '\0')
        return text;
    strbuf_append_char(out, ']');
    return text + 1;
}

/* A group with a question mark: (?:…) is plain; others have no form here. */
static int take_group(const char **text, struct error *err)
{
    if ((*text)[1] != '?')
        return 0;
    if ((*text)[2] != ':')
        return error_set(err, ERROR_INVALID,
                         "The pattern is not supported: groups such as (?=…), (?!…) and (?<…) are "
                         "not available; use a plain one.");
    *text += strlen("?:");
    return 0;
}

static bool is_repeat(char letter)
{
    return letter == '*' || letter == '+' || letter == '?' || letter == '}';
}

int grep_pattern_translate(const char *text, struct strbuf *out, struct error *err)
{
    char last = '\0';

    if (text_starts_with(text, "(?i)"))
        text += strlen("(?i)");
    while (*text != '\0') {
        char letter = *text;

        if (letter == '[') {
            text = take_brackets(out, text);
        } else if (letter == '\\' && text[1] != '\0') {
            append_escape(out, text[1]);
            text += 2;
            letter = 'x';
        } else {
            if (letter == '(' && take_group(&text, err) < 0)
                return -1;
            /* A shortest match finds the same lines as a longest one. */
            if (letter != '?' || !is_repeat(last))
                strbuf_append_char(out, letter);
            text++;
        }
        last = letter;
    }
    return 0;
}

/* --- matching --- */

int grep_pattern_read(struct grep_pattern *pattern, const char *text, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf posix = STRBUF_INIT;
    char why[128] = "";
    int rc = 0;

    if (text[0] == '\0' || strlen(text) > PATTERN_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "The pattern must have 1 to %d bytes.",
                         PATTERN_MAX_BYTES);
    if (grep_pattern_translate(text, &posix, err) < 0)
        return -1;
    rc = regcomp(&pattern->regex, posix.text, REG_EXTENDED | REG_ICASE | REG_NOSUB);
    pattern->is_set = rc == 0;
    if (rc == 0)
        return 0;
    (void)regerror(rc, &pattern->regex, why, sizeof(why));
    return error_set(err, ERROR_INVALID, "Invalid regex pattern: %s.", why);
}

bool grep_pattern_finds(const struct grep_pattern *pattern, const char *text, size_t len)
{
    const char *end = text + len;

    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((line_end != NULL ? line_end : end) - text);
        regmatch_t range = {.rm_so = 0,
                            .rm_eo = (regoff_t)(n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES)};

        if (regexec(&pattern->regex, text, 1, &range, REG_STARTEND) == 0)
            return true;
        text += n + 1;
    }
    return false;
}
