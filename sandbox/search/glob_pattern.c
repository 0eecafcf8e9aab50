#include "sandbox/search/glob_pattern.h"

#include <fnmatch.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { PARTS_MAX = 128, NAME_MAX_BYTES = 256 };

/* The parts of a path or pattern, as offsets into its text. */
struct parts {
    const char *text;
    size_t begin[PARTS_MAX];
    size_t len[PARTS_MAX];
    size_t n;
};

void glob_pattern_done(struct glob_pattern *pattern)
{
    if (pattern == NULL)
        return;
    for (size_t i = 0; i < pattern->n; i++)
        mem_free(pattern->choices[i]);
    pattern->n = 0;
}

/* --- braces --- */

/* The brace that closes the one at the beginning of text; NULL: none. */
static const char *closing_brace(const char *text)
{
    int depth = 0;

    for (; *text != '\0'; text++) {
        depth += *text == '{';
        depth -= *text == '}';
        if (depth == 0)
            return text;
    }
    return NULL;
}

/* The end of the choice that begins at text: a comma of this level, or `end`. */
static const char *choice_end(const char *text, const char *end)
{
    int depth = 0;

    while (text < end && (depth > 0 || *text != ',')) {
        depth += *text == '{';
        depth -= *text == '}';
        text++;
    }
    return text;
}

static int add_choice(struct glob_pattern *pattern, const char *text, struct error *err)
{
    if (pattern->n == GLOB_CHOICES_MAX)
        return error_set(err, ERROR_INVALID, "The pattern has more than %d choices in braces.",
                         GLOB_CHOICES_MAX);
    pattern->choices[pattern->n++] = mem_dup_text(text);
    return 0;
}

/* Adds the text with its first braces resolved, or as it is if there are none. */
static int expand(struct glob_pattern *pattern, const char *text, struct error *err)
{
    const char *open = strchr(text, '{');
    const char *close = open != NULL ? closing_brace(open) : NULL;
    const char *at = open;

    if (close == NULL)
        return add_choice(pattern, text, err);
    while (at < close) {
        CLEANUP(strbuf_done) struct strbuf one = STRBUF_INIT;
        const char *end = choice_end(at + 1, close);

        strbuf_append_bytes(&one, text, (size_t)(open - text));
        strbuf_append_bytes(&one, at + 1, (size_t)(end - (at + 1)));
        strbuf_append(&one, close + 1);
        if (expand(pattern, one.text, err) < 0)
            return -1;
        at = end;
    }
    return 0;
}

int glob_pattern_read(struct glob_pattern *pattern, const char *text, struct error *err)
{
    if (text[0] == '\0' || strlen(text) > GLOB_PATTERN_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "The pattern must have 1 to %d bytes.",
                         GLOB_PATTERN_MAX_BYTES);
    return expand(pattern, text, err);
}

/* --- matching --- */

static void split(const char *text, struct parts *parts)
{
    const char *at = text;

    *parts = (struct parts){.text = text};
    while (*at != '\0' && parts->n < PARTS_MAX) {
        size_t len = strcspn(at, "/");

        if (len > 0 && !(len == 1 && *at == '.')) {
            parts->begin[parts->n] = (size_t)(at - text);
            parts->len[parts->n++] = len;
        }
        at += len + (at[len] == '/');
    }
}

static bool is_any(const struct parts *pattern, size_t i)
{
    return pattern->len[i] == 2 && memcmp(pattern->text + pattern->begin[i], "**", 2) == 0;
}

static bool part_matches(const struct parts *pattern, size_t i, const struct parts *path, size_t j)
{
    char wanted[GLOB_PATTERN_MAX_BYTES + 1] = "";
    char name[NAME_MAX_BYTES + 1] = "";

    if (path->len[j] > NAME_MAX_BYTES)
        return false;
    (void)memcpy(wanted, pattern->text + pattern->begin[i], pattern->len[i]);
    (void)memcpy(name, path->text + path->begin[j], path->len[j]);
    return fnmatch(wanted, name, 0) == 0;
}

/*
 * reached[j]: the pattern's parts up to now match the path's first j parts. Each part of the
 * pattern is one pass over them.
 */
static bool parts_match(const struct parts *pattern, const struct parts *path)
{
    bool reached[PARTS_MAX + 1] = {true};

    for (size_t i = 0; i < pattern->n; i++) {
        if (is_any(pattern, i)) {
            for (size_t j = 1; j <= path->n; j++)
                reached[j] = reached[j] || reached[j - 1];
            continue;
        }
        for (size_t j = path->n; j > 0; j--)
            reached[j] = reached[j - 1] && part_matches(pattern, i, path, j - 1);
        reached[0] = false;
    }
    return reached[path->n];
}

bool glob_pattern_matches(const struct glob_pattern *pattern, const char *path)
{
    const char *last = strrchr(path, '/');
    struct parts whole;
    struct parts name;

    split(path, &whole);
    split(last != NULL ? last + 1 : path, &name);
    for (size_t i = 0; i < pattern->n; i++) {
        bool has_slash = strchr(pattern->choices[i], '/') != NULL;
        struct parts wanted;

        split(pattern->choices[i], &wanted);
        if (parts_match(&wanted, has_slash ? &whole : &name))
            return true;
    }
    return false;
}
