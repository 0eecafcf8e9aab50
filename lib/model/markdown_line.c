#include "model/markdown_line.h"

#include <stdbool.h>
#include <string.h>

#include "base/strbuf.h"

/* OPEN_MAX: deepest nesting of emphasis that is recognized. */
enum { OPEN_MAX = 4, HEADING_MAX = 6, NUMBER_MAX_DIGITS = 9, EMPHASIS_MAX = 3 };

static const char BLANKS[] = " \t\r\f\v";

/* The unread rest of the line, and the parser's state. */
struct markdown_reader {
    const char *at;
    const char *end;
    char before;         /* the last character of text */
    char open[OPEN_MAX]; /* delimiters of open emphasis, innermost last */
    size_t n_open_runs[OPEN_MAX];
    size_t n_open;
    const char *link_end; /* end of the current link's text; NULL: not in a link */
};

static bool is_blank(char c)
{
    return c == '\0' || strchr(BLANKS, c) != NULL;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80U;
}

/* Returns the character at an offset; a blank past the end. */
static char peek(const struct markdown_reader *line, size_t offset)
{
    if (offset >= (size_t)(line->end - line->at))
        return ' ';
    return line->at[offset];
}

static size_t run_length(const char *at, const char *end)
{
    size_t n = 1;

    while (at + n < end && at[n] == *at)
        n++;
    return n;
}

/* --- marks of blocks --- */

static void skip_blanks(struct markdown_reader *line)
{
    while (line->at < line->end && is_blank(*line->at))
        line->at++;
}

static size_t number_mark_length(const struct markdown_reader *line)
{
    size_t n = 0;

    while (n <= NUMBER_MAX_DIGITS && peek(line, n) >= '0' && peek(line, n) <= '9')
        n++;
    if (n == 0 || n > NUMBER_MAX_DIGITS || (peek(line, n) != '.' && peek(line, n) != ')'))
        return 0;
    return is_blank(peek(line, n + 1)) ? n + 1 : 0;
}

/* Length of the marker of a heading, quotation, list item or task checkbox; 0: none. */
static size_t block_mark_length(const struct markdown_reader *line)
{
    size_t n = line->at < line->end ? run_length(line->at, line->end) : 0;

    switch (peek(line, 0)) {
    case '#':
        return n <= HEADING_MAX && is_blank(peek(line, n)) ? n : 0;
    case '>':
        return 1;
    case '-':
    case '*':
    case '+':
        return is_blank(peek(line, 1)) ? 1 : 0;
    case '[':
        return strchr(" xX", peek(line, 1)) != NULL && peek(line, 2) == ']' &&
                       is_blank(peek(line, 3))
                   ? 3
                   : 0;
    default:
        return number_mark_length(line);
    }
}

static void skip_block_marks(struct markdown_reader *line)
{
    size_t n = 0;

    do {
        skip_blanks(line);
        n = line->at < line->end ? block_mark_length(line) : 0;
        line->at += n;
    } while (n > 0);
}

/* True for a code fence, a rule, and the underline of a heading or a table header. */
static bool only_draws(const struct markdown_reader *line)
{
    const char *p = line->at;

    while (p < line->end && is_blank(*p))
        p++;
    if (line->end - p >= 3 && (strncmp(p, "```", 3) == 0 || strncmp(p, "~~~", 3) == 0))
        return true;
    if (line->end - p < 2)
        return false;
    for (; p < line->end; p++) {
        if (!is_blank(*p) && strchr("-=_*|:", *p) == NULL)
            return false;
    }
    return true;
}

/* --- marks in the text --- */

static void append_text(struct markdown_reader *line, struct strbuf *out, size_t n)
{
    strbuf_append_bytes(out, line->at, n);
    line->at += n;
    line->before = line->at[-1];
}

/* Finds the next run of the same character with length n; NULL: none. */
static const char *find_run(const char *from, const char *end, char c, size_t n)
{
    const char *at = memchr(from, c, (size_t)(end - from));

    while (at != NULL) {
        size_t found = run_length(at, end);

        if (found == n)
            return at;
        from = at + found;
        at = memchr(from, c, (size_t)(end - from));
    }
    return NULL;
}

/* Text between code delimiters is literal; an unmatched delimiter is left out. */
static void read_code(struct markdown_reader *line, struct strbuf *out)
{
    size_t n = run_length(line->at, line->end);
    const char *close = find_run(line->at + n, line->end, '`', n);

    line->at += n;
    if (close == NULL)
        return;
    if (close > line->at)
        append_text(line, out, (size_t)(close - line->at));
    line->at += n;
}

/* True if the run at line->at closes the innermost open emphasis. */
static bool closes(const struct markdown_reader *line, size_t n)
{
    return line->n_open > 0 && line->open[line->n_open - 1] == *line->at &&
           line->n_open_runs[line->n_open - 1] == n && !is_blank(line->before);
}

/* "__init__.py" is a name, "_so_" is not. */
static bool may_end(const char *run, const char *end, size_t n)
{
    char after = ' ';

    if (run + n < end)
        after = run[n];
    if (is_blank(run[-1]))
        return false;
    return *run == '*' || !(is_word(after) || after == '.' || after == '/');
}

/* False for the dot of "*.c". */
static bool begins_words(char c)
{
    return is_word(c) || (c != '\0' && strchr("\"'([`*_!", c) != NULL);
}

static bool opens(const struct markdown_reader *line, size_t n)
{
    const char *close = NULL;

    if (n > EMPHASIS_MAX || line->n_open == OPEN_MAX || !begins_words(peek(line, n)) ||
        (is_word(line->before) && (*line->at == '_' || n == 1)))
        return false;
    close = find_run(line->at + n, line->end, *line->at, n);
    return close != NULL && may_end(close, line->end, n);
}

static void read_emphasis(struct markdown_reader *line, struct strbuf *out)
{
    size_t n = run_length(line->at, line->end);

    if (closes(line, n)) {
        line->n_open--;
    } else if (opens(line, n)) {
        line->open[line->n_open] = *line->at;
        line->n_open_runs[line->n_open++] = n;
    } else if (*line->at == '_' || n != 2 || is_blank(line->before) == is_blank(peek(line, n))) {
        append_text(line, out, n);
        return;
    }
    line->at += n;
}

/* Returns the end of "](address)" or "][name]"; NULL: the bracket does not end a link's text. */
static const char *link_tail(const char *bracket, const char *end)
{
    const char *close = NULL;

    if (end - bracket < 3 || (bracket[1] != '(' && bracket[1] != '['))
        return NULL;
    close = memchr(bracket + 2, bracket[1] == '(' ? ')' : ']', (size_t)(end - bracket - 2));
    return close == NULL ? NULL : close + 1;
}

/* Reads "[" or "![": a link's text is kept, its address is left out. */
static void read_bracket(struct markdown_reader *line, struct strbuf *out)
{
    size_t n = *line->at == '!' ? 2 : 1;
    const char *close = memchr(line->at + n, ']', (size_t)(line->end - line->at - (ptrdiff_t)n));

    if (line->link_end == NULL && close != NULL && link_tail(close, line->end) != NULL) {
        line->link_end = close;
        line->at += n;
        return;
    }
    append_text(line, out, n);
}

static void read_next(struct markdown_reader *line, struct strbuf *out)
{
    if (line->at == line->link_end) {
        line->at = link_tail(line->link_end, line->end);
        line->link_end = NULL;
        return;
    }
    switch (*line->at) {
    case '`':
        read_code(line, out);
        return;
    case '*':
    case '_':
        read_emphasis(line, out);
        return;
    case '[':
        read_bracket(line, out);
        return;
    case '!':
        if (peek(line, 1) == '[')
            read_bracket(line, out);
        else
            append_text(line, out, 1);
        return;
    case '~':
        if (run_length(line->at, line->end) == 2)
            line->at += 2;
        else
            append_text(line, out, 1);
        return;
    case '\\':
        line->at += strchr("\\`*_[]#", peek(line, 1)) != NULL ? 1 : 0;
        append_text(line, out, 1);
        return;
    default:
        append_text(line, out, 1);
    }
}

void markdown_line_append(struct strbuf *out, const char *text, size_t len)
{
    struct markdown_reader line = {
        .at = text,
        .end = text + (len < MARKDOWN_LINE_MAX_BYTES ? len : MARKDOWN_LINE_MAX_BYTES),
        .before = ' ',
    };

    if (only_draws(&line))
        return;
    skip_block_marks(&line);
    while (line.at < line.end)
        read_next(&line, out);
}
