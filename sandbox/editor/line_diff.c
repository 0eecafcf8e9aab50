#include "sandbox/editor/line_diff.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"

/* A text's lines; a final newline is followed by one more, empty line. */
struct diff_lines {
    const char **starts;
    size_t n;
};

static void lines_done(struct diff_lines *lines)
{
    mem_free(lines->starts);
}

static void split(const char *text, struct diff_lines *lines)
{
    const char *at = text;
    size_t n = 1;

    for (at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n'))
        n++;
    lines->starts = mem_alloc_array(n, sizeof(*lines->starts));
    lines->n = n;
    at = text;
    for (size_t i = 0; i < n; i++) {
        lines->starts[i] = at;
        at += strcspn(at, "\n") + 1;
    }
}

static bool is_same(const char *a, const char *b)
{
    size_t len = strcspn(a, "\n");

    return len == strcspn(b, "\n") && memcmp(a, b, len) == 0;
}

/* "3,2": two lines from the third; the count is omitted when it is one. */
static void append_range(struct strbuf *out, char sign, size_t start, size_t n)
{
    if (n == 1)
        strbuf_appendf(out, "%c%zu", sign, start + 1);
    else
        strbuf_appendf(out, "%c%zu,%zu", sign, n == 0 ? start : start + 1, n);
}

static void append_lines(struct strbuf *out, char sign, const struct diff_lines *lines,
                         size_t start, size_t n)
{
    for (size_t i = start; i < start + n; i++) {
        size_t len = strcspn(lines->starts[i], "\n");

        while (len > 0 && strchr(" \t\r\f\v", lines->starts[i][len - 1]) != NULL)
            len--;
        strbuf_appendf(out, "\n%c", sign);
        strbuf_append_bytes(out, lines->starts[i], len);
    }
}

void line_diff_append(struct strbuf *out, const char *name, const char *before, const char *after)
{
    CLEANUP(lines_done) struct diff_lines a = {NULL, 0};
    CLEANUP(lines_done) struct diff_lines b = {NULL, 0};
    size_t head = 0;
    size_t tail = 0;

    split(before, &a);
    split(after, &b);
    while (head < a.n && head < b.n && is_same(a.starts[head], b.starts[head]))
        head++;
    while (tail < a.n - head && tail < b.n - head &&
           is_same(a.starts[a.n - 1 - tail], b.starts[b.n - 1 - tail]))
        tail++;
    if (head == a.n && head == b.n)
        return;
    strbuf_appendf(out, "--- %s\n+++ %s\n@@ ", name, name);
    append_range(out, '-', head, a.n - head - tail);
    strbuf_append_char(out, ' ');
    append_range(out, '+', head, b.n - head - tail);
    strbuf_append(out, " @@");
    append_lines(out, '-', &a, head, a.n - head - tail);
    append_lines(out, '+', &b, head, b.n - head - tail);
}
