#include "sandbox/editor/patch.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#define BEGIN_LINE "*** Begin Patch"
#define END_LINE "*** End Patch"
#define END_OF_FILE_LINE "*** End of File"
#define MOVE_LINE "*** Move to: "

enum { FILES_MAX = 512, HUNKS_MAX = 4096, FUZZ_TRAILING = 1, FUZZ_TRIMMED = 100, FUZZ_END = 10000 };

static const struct {
    const char *line;
    enum patch_kind kind;
} file_lines[] = {
    {"*** Add File: ", PATCH_ADD},
    {"*** Delete File: ", PATCH_DELETE},
    {"*** Update File: ", PATCH_UPDATE},
};

/* --- memory --- */

static void hunk_done(struct patch_hunk *hunk)
{
    mem_free(hunk->anchor);
    strbuf_done(&hunk->is);
    strbuf_done(&hunk->will_be);
}

static void file_done(struct patch_file *file)
{
    for (size_t i = 0; i < file->n_hunks; i++)
        hunk_done(&file->hunks[i]);
    mem_free(file->hunks);
    mem_free(file->path);
    mem_free(file->move_path);
    strbuf_done(&file->added);
}

void patch_done(struct file_patch *patch)
{
    if (patch == NULL)
        return;
    for (size_t i = 0; i < patch->n_files; i++)
        file_done(&patch->files[i]);
    mem_free(patch->files);
    *patch = (struct file_patch)PATCH_INIT;
}

/* --- reading --- */

/* The text of a patch, line by line. */
struct patch_reader {
    const char *rest;
    struct strbuf line; /* without its newline */
    size_t number;      /* of that line; 0: none was read */
};

static bool next_line(struct patch_reader *reader)
{
    size_t len = strcspn(reader->rest, "\n");

    if (*reader->rest == '\0')
        return false;
    strbuf_reset(&reader->line);
    strbuf_append_bytes(&reader->line, reader->rest, len);
    if (text_ends_with(reader->line.text, "\r"))
        strbuf_truncate(&reader->line, reader->line.len - 1);
    reader->rest += len + (reader->rest[len] == '\n');
    reader->number++;
    return true;
}

static int refuse(const struct patch_reader *reader, const char *why, struct error *err)
{
    return error_set(err, ERROR_INVALID, "The patch is not valid at line %zu (%.200s): %s",
                     reader->number, reader->line.text, why);
}

static struct patch_file *add_file(struct file_patch *patch, enum patch_kind kind, const char *path)
{
    struct patch_file *file = NULL;

    patch->files = mem_resize(patch->files, (patch->n_files + 1) * sizeof(*patch->files));
    file = &patch->files[patch->n_files++];
    *file = (struct patch_file){.kind = kind, .path = mem_dup_text(path), .added = STRBUF_INIT};
    return file;
}

/* True if the line begins the part of a file; *file_out is that file, NULL if there are too many.
 */
static bool take_file_line(struct file_patch *patch, const char *line, struct patch_file **file_out)
{
    for (size_t i = 0; i < ARRAY_SIZE(file_lines); i++) {
        if (!text_starts_with(line, file_lines[i].line))
            continue;
        *file_out = NULL;
        if (patch->n_files < FILES_MAX)
            *file_out = add_file(patch, file_lines[i].kind, line + strlen(file_lines[i].line));
        return true;
    }
    return false;
}

static struct patch_hunk *add_hunk(struct patch_file *file, const char *anchor)
{
    struct patch_hunk *hunk = NULL;

    if (file->n_hunks == HUNKS_MAX)
        return NULL;
    file->hunks = mem_resize(file->hunks, (file->n_hunks + 1) * sizeof(*file->hunks));
    hunk = &file->hunks[file->n_hunks++];
    *hunk = (struct patch_hunk){.is = STRBUF_INIT, .will_be = STRBUF_INIT};
    if (anchor != NULL && anchor[0] != '\0')
        hunk->anchor = mem_dup_text(anchor);
    return hunk;
}

static void append_line(struct strbuf *out, const char *line)
{
    strbuf_append(out, line);
    strbuf_append_char(out, '\n');
}

/* A line without a sign is context, as an empty line of which an editor cut the blank. */
static int take_change(const struct patch_reader *reader, struct patch_hunk *hunk,
                       struct error *err)
{
    const char *line = reader->line.text;
    char sign = line[0];

    if (sign == '\0')
        line = " ";
    if (sign != '\0' && strchr(" +-", sign) == NULL)
        return refuse(reader, "a line of an update begins with a blank, + or -.", err);
    if (sign != '+')
        append_line(&hunk->is, line + 1);
    if (sign != '-')
        append_line(&hunk->will_be, line + 1);
    return 0;
}

static int take_update_line(const struct patch_reader *reader, struct patch_file *file,
                            struct error *err)
{
    const char *line = reader->line.text;
    struct patch_hunk *hunk = file->n_hunks > 0 ? &file->hunks[file->n_hunks - 1] : NULL;

    if (text_starts_with(line, MOVE_LINE) && hunk == NULL && file->move_path == NULL) {
        file->move_path = mem_dup_text(line + strlen(MOVE_LINE));
        return 0;
    }
    if (text_equal(line, END_OF_FILE_LINE) && hunk != NULL) {
        hunk->is_at_end = true;
        return 0;
    }
    if (text_starts_with(line, "@@")) {
        hunk = add_hunk(file, text_starts_with(line, "@@ ") ? line + strlen("@@ ") : NULL);
        return hunk != NULL ? 0 : refuse(reader, "too many changes of one file.", err);
    }
    if (hunk == NULL)
        hunk = add_hunk(file, NULL);
    return take_change(reader, hunk, err);
}

static int take_line(const struct patch_reader *reader, struct patch_file *file, struct error *err)
{
    if (file == NULL)
        return refuse(reader, "expected *** Add File:, *** Delete File: or *** Update File:.", err);
    switch (file->kind) {
    case PATCH_ADD:
        if (reader->line.text[0] != '+')
            return refuse(reader, "a line of a new file begins with +.", err);
        append_line(&file->added, reader->line.text + 1);
        return 0;
    case PATCH_DELETE:
        return refuse(reader, "a deleted file has no lines.", err);
    case PATCH_UPDATE:
        return take_update_line(reader, file, err);
    }
    return 0;
}

static int read_files(struct patch_reader *reader, struct file_patch *patch, struct error *err)
{
    struct patch_file *file = NULL;

    while (next_line(reader)) {
        if (text_equal(reader->line.text, END_LINE))
            return 0;
        if (take_file_line(patch, reader->line.text, &file)) {
            if (file == NULL)
                return refuse(reader, "too many files.", err);
        } else if (take_line(reader, file, err) < 0) {
            return -1;
        }
    }
    return refuse(reader, "the last line must be " END_LINE ".", err);
}

static int check_files(const struct file_patch *patch, struct error *err)
{
    if (patch->n_files == 0)
        return error_set(err, ERROR_INVALID, "The patch changes no file.");
    for (size_t i = 0; i < patch->n_files; i++) {
        const struct patch_file *file = &patch->files[i];

        if (file->path[0] == '\0')
            return error_set(err, ERROR_INVALID, "A file of the patch has no name.");
        for (size_t j = 0; j < i; j++) {
            if (text_equal(patch->files[j].path, file->path))
                return error_set(err, ERROR_INVALID, "The patch names %s twice.", file->path);
        }
        if (file->kind == PATCH_UPDATE && file->n_hunks == 0 && file->move_path == NULL)
            return error_set(err, ERROR_INVALID, "The update of %s changes nothing.", file->path);
    }
    return 0;
}

int patch_read(struct file_patch *patch, const char *text, struct error *err)
{
    struct patch_reader reader = {.rest = text, .line = STRBUF_INIT};
    int rc = 0;

    while (next_line(&reader) && text_is_blank(reader.line.text))
        ;
    if (text_equal(reader.line.text, BEGIN_LINE))
        rc = read_files(&reader, patch, err);
    else
        rc = refuse(&reader, "the first line must be " BEGIN_LINE ".", err);
    strbuf_done(&reader.line);
    return rc < 0 ? -1 : check_files(patch, err);
}

/* --- applying --- */

/* Lines of a text, which it borrows: begin[n] is its end. */
struct line_index {
    const char **begin;
    size_t n;
};

static void lines_done(struct line_index *lines)
{
    mem_free(lines->begin);
}

static struct line_index lines_of(const char *text)
{
    struct line_index lines = {NULL, 0};
    size_t n = 1;
    const char *at = text;

    for (const char *c = text; *c != '\0'; c++)
        n += *c == '\n';
    lines.begin = mem_alloc_array(n + 1, sizeof(*lines.begin));
    while (*at != '\0') {
        lines.begin[lines.n++] = at;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    lines.begin[lines.n] = at;
    return lines;
}

enum strictness { EXACT, WITHOUT_TRAILING, TRIMMED, N_STRICTNESSES };

static const int fuzz_of[N_STRICTNESSES] = {0, FUZZ_TRAILING, FUZZ_TRIMMED};

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A line without its newline, and without white space as far as the comparison wants it. */
static void bounds_of(const struct line_index *lines, size_t i, enum strictness strictness,
                      const char **from_out, size_t *len_out)
{
    const char *from = lines->begin[i];
    const char *to = lines->begin[i + 1];

    if (to > from && to[-1] == '\n')
        to--;
    while (strictness != EXACT && to > from && is_white(to[-1]))
        to--;
    while (strictness == TRIMMED && from < to && is_white(*from))
        from++;
    *from_out = from;
    *len_out = (size_t)(to - from);
}

static bool is_same_line(const struct line_index *a, size_t i, const struct line_index *b, size_t j,
                         enum strictness strictness)
{
    const char *one = NULL;
    const char *other = NULL;
    size_t len = 0;
    size_t other_len = 0;

    bounds_of(a, i, strictness, &one, &len);
    bounds_of(b, j, strictness, &other, &other_len);
    return len == other_len && memcmp(one, other, len) == 0;
}

static bool matches_at(const struct line_index *text, size_t at, const struct line_index *wanted,
                       enum strictness strictness)
{
    if (at + wanted->n > text->n)
        return false;
    for (size_t i = 0; i < wanted->n; i++) {
        if (!is_same_line(text, at + i, wanted, i, strictness))
            return false;
    }
    return true;
}

/* text->n + 1 if there is no such place. */
static size_t find_so_strict(const struct line_index *text, size_t from,
                             const struct line_index *wanted, enum strictness strictness)
{
    for (size_t at = from; at + wanted->n <= text->n; at++) {
        if (matches_at(text, at, wanted, strictness))
            return at;
    }
    return text->n + 1;
}

/* The first place from `from` on, found as strictly as possible; text->n + 1 if there is none. */
static size_t find_from(const struct line_index *text, size_t from, const struct line_index *wanted,
                        int *fuzz)
{
    for (int strictness = EXACT; strictness < N_STRICTNESSES; strictness++) {
        size_t at = find_so_strict(text, from, wanted, (enum strictness)strictness);

        if (at <= text->n) {
            *fuzz += fuzz_of[strictness];
            return at;
        }
    }
    return text->n + 1;
}

static size_t find_hunk(const struct line_index *text, size_t from, const struct line_index *wanted,
                        const struct patch_hunk *hunk, int *fuzz)
{
    size_t last = text->n >= wanted->n ? text->n - wanted->n : 0;
    size_t at = text->n + 1;

    if (hunk->is_at_end && last >= from)
        at = find_from(text, last, wanted, fuzz);
    if (at <= text->n)
        return at;
    if (hunk->is_at_end)
        *fuzz += FUZZ_END;
    return find_from(text, from, wanted, fuzz);
}

/* The line after the anchor; `from` if it has none. An anchor that is not found is one of context.
 */
static int skip_anchor(const struct line_index *text, const struct patch_hunk *hunk, size_t *at,
                       int *fuzz, const char *path, struct error *err)
{
    CLEANUP(lines_done) struct line_index anchor = {NULL, 0};
    size_t found = 0;

    if (hunk->anchor == NULL)
        return 0;
    anchor = lines_of(hunk->anchor);
    found = find_from(text, *at, &anchor, fuzz);
    if (found > text->n)
        return error_set(err, ERROR_INVALID, "The line after @@ was not found in %s: %.300s", path,
                         hunk->anchor);
    *at = found + 1;
    return 0;
}

static void append_range(struct strbuf *out, const struct line_index *text, size_t from, size_t to)
{
    strbuf_append_bytes(out, text->begin[from], (size_t)(text->begin[to] - text->begin[from]));
}

/* A file while its hunks are applied, one after the other. */
struct patching {
    const struct patch_file *file;
    const struct line_index *text;
    struct strbuf *out;
    size_t at; /* the line after those that are done */
};

/* Copies what is before the hunk, and the hunk's lines. */
static int apply_hunk(struct patching *patching, const struct patch_hunk *hunk, int *fuzz,
                      struct error *err)
{
    const struct patch_file *file = patching->file;
    const struct line_index *text = patching->text;
    struct strbuf *out = patching->out;
    size_t *at = &patching->at;
    CLEANUP(lines_done) struct line_index wanted = lines_of(hunk->is.text);
    size_t begin = *at;
    size_t found = 0;

    if (skip_anchor(text, hunk, at, fuzz, file->path, err) < 0)
        return -1;
    /* Lines that are only added come after the anchor, or at the end. */
    if (wanted.n == 0)
        found = hunk->anchor != NULL ? *at : text->n;
    else
        found = find_hunk(text, *at, &wanted, hunk, fuzz);
    if (found > text->n)
        return error_set(err, ERROR_INVALID,
                         "These lines were not found in %s. Read the file again, and give them as "
                         "they are:\n%.1000s",
                         file->path, hunk->is.text);
    append_range(out, text, begin, found);
    if (out->len > 0 && out->text[out->len - 1] != '\n')
        strbuf_append_char(out, '\n');
    strbuf_append(out, hunk->will_be.text);
    *at = found + wanted.n;
    return 0;
}

int patch_apply(const struct patch_file *file, const char *text, struct strbuf *out, int *fuzz_io,
                struct error *err)
{
    CLEANUP(lines_done) struct line_index lines = lines_of(text);
    struct patching patching = {.file = file, .text = &lines, .out = out};

    for (size_t i = 0; i < file->n_hunks; i++) {
        if (apply_hunk(&patching, &file->hunks[i], fuzz_io, err) < 0)
            return -1;
    }
    append_range(out, &lines, patching.at, lines.n);
    return 0;
}
