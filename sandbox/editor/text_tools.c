#include "sandbox/editor/text_tools.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/normal_path.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/textfile.h"

enum {
    READ_LINES_DEFAULT = 1000,
    READ_MAX_BYTES = 256 * 1024,            /* of what one call shows */
    SHOWN_CONTENTS_BYTES = 3 * 1024 * 1024, /* old and new text of a file in an observation */
};

/* --- reading --- */

static void explain(const char *path, struct error *err)
{
    struct error cause = *err;

    if (cause.code == ERROR_NOT_FOUND)
        error_set(err, ERROR_NOT_FOUND, "File not found: %s", path);
    if (cause.code == ERROR_TOO_LARGE)
        error_set(err, ERROR_TOO_LARGE, "The file %s is too large (%s). The limit is %d MB.", path,
                  cause.message, MAX_EDIT_FILE_BYTES / (1024 * 1024));
    if (cause.code == ERROR_UNSUPPORTED)
        error_set(err, ERROR_UNSUPPORTED, "The file %s cannot be opened as text: %s.", path,
                  cause.message);
}

static int read_text(const char *path, struct textfile *file, struct error *err)
{
    if (textfile_read(path, file, err) == 0)
        return 0;
    explain(path, err);
    return -1;
}

/* The beginning of the line after n newlines; the end of the text if there are fewer. */
static const char *skip_lines(const char *text, json_int_t n)
{
    const char *end = NULL;

    for (; n > 0 && *text != '\0'; n--) {
        end = strchr(text, '\n');
        text = end != NULL ? end + 1 : text + strlen(text);
    }
    return text;
}

static json_int_t count_lines(const char *text)
{
    json_int_t n = 0;

    for (; *text != '\0'; text = skip_lines(text, 1))
        n++;
    return n;
}

/* At most len bytes of the text, without a part of a character at their end. */
static size_t whole_chars(const char *text, size_t len)
{
    while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
        len--;
    return len;
}

/* A whole number of lines if possible. */
static size_t shown_len(const char *from, const char *to)
{
    size_t len = (size_t)(to - from);

    if (len <= READ_MAX_BYTES)
        return len;
    len = READ_MAX_BYTES;
    while (len > 0 && from[len - 1] != '\n')
        len--;
    return len > 0 ? len : whole_chars(from, READ_MAX_BYTES);
}

static void put_range(json_t *facts, json_int_t first, json_int_t last)
{
    json_t *range = json_array();

    json_push(range, json_integer(first));
    json_push(range, json_integer(last));
    json_put(facts, "lines_shown", range);
}

int read_file_tool_run(const json_t *args, const char *working_dir, json_t *facts,
                       struct strbuf *words, struct error *err)
{
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_int_t offset = json_int_or(args, "offset", 0);
    json_int_t limit = json_int_or(args, "limit", READ_LINES_DEFAULT);
    json_int_t n_lines = 0;
    json_int_t n_shown = 0;
    const char *from = NULL;
    json_t *shown = NULL;

    normal_path_append_absolute(&path, working_dir, json_text_or(args, "file_path", ""));
    json_put_text(facts, "file_path", path.text);
    if (read_text(path.text, &file, err) < 0)
        return -1;
    n_lines = count_lines(file.text.text);
    if (offset > 0 && offset >= n_lines)
        return error_set(err, ERROR_INVALID,
                         "The offset %lld is beyond the end of the file, which has %lld lines.",
                         (long long)offset, (long long)n_lines);
    from = skip_lines(file.text.text, offset);
    shown = json_text(from, shown_len(from, skip_lines(from, limit)));
    n_shown = count_lines(json_string_value(shown));
    json_put(facts, "is_truncated", json_boolean(offset > 0 || offset + n_shown < n_lines));
    json_put(facts, "total_lines", json_integer(n_lines));
    put_range(facts, offset + 1, offset + n_shown);
    if (offset > 0 || offset + n_shown < n_lines)
        strbuf_appendf(words, "[Lines %lld to %lld of %lld; read on with offset %lld.]\n",
                       (long long)offset + 1, (long long)(offset + n_shown), (long long)n_lines,
                       (long long)(offset + n_shown));
    strbuf_append(words, json_string_value(shown));
    json_put(facts, "file_content", shown);
    return 0;
}

/* --- writing --- */

static void put_contents(json_t *facts, const struct strbuf *before, const char *after)
{
    if ((before != NULL ? before->len : 0) + strlen(after) > SHOWN_CONTENTS_BYTES)
        return;
    if (before != NULL)
        json_put(facts, "old_content", json_text(before->text, before->len));
    json_put_text(facts, "new_content", after);
}

static int replace_text(const char *path, struct textfile *file, const char *text,
                        struct error *err)
{
    strbuf_reset(&file->text);
    strbuf_append(&file->text, text);
    if (textfile_make_parents(path, err) < 0 || textfile_write(path, file, err) < 0)
        return -1;
    return 0;
}

/* Nothing at that path yet. Another failure to read it is one to write it, too. */
static int read_if_there(const char *path, struct textfile *file, bool *is_new_out,
                         struct error *err)
{
    *is_new_out = access(path, F_OK) != 0;
    return *is_new_out ? 0 : read_text(path, file, err);
}

int write_file_tool_run(const json_t *args, const char *working_dir, json_t *facts,
                        struct strbuf *words, struct error *err)
{
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
    const char *content = json_text_or(args, "content", "");
    bool is_new = false;

    normal_path_append_absolute(&path, working_dir, json_text_or(args, "file_path", ""));
    json_put_text(facts, "file_path", path.text);
    if (read_if_there(path.text, &file, &is_new, err) < 0)
        return -1;
    strbuf_append(&before, file.text.text);
    if (replace_text(path.text, &file, content, err) < 0)
        return -1;
    json_put(facts, "is_new_file", json_boolean(is_new));
    put_contents(facts, is_new ? NULL : &before, content);
    strbuf_appendf(words, "%s %s.", is_new ? "Created" : "Overwrote", path.text);
    return 0;
}

/* --- editing --- */

static json_int_t count_matches(const char *text, const char *wanted)
{
    json_int_t n = 0;

    for (text = strstr(text, wanted); text != NULL; text = strstr(text + strlen(wanted), wanted))
        n++;
    return n;
}

static void append_replaced(struct strbuf *out, const char *text, const char *wanted,
                            const char *instead)
{
    const char *match = NULL;

    for (match = strstr(text, wanted); match != NULL; match = strstr(text, wanted)) {
        strbuf_append_bytes(out, text, (size_t)(match - text));
        strbuf_append(out, instead);
        text = match + strlen(wanted);
    }
    strbuf_append(out, text);
}

static int check_matches(const char *path, json_int_t n, json_int_t expected, struct error *err)
{
    if (n == expected)
        return 0;
    if (n == 0)
        return error_set(err, ERROR_INVALID,
                         "No occurrence of `old_string` was found in %s: it must match character "
                         "by character, with all white space. Read the file again.",
                         path);
    return error_set(err, ERROR_INVALID,
                     "`old_string` occurs %lld times in %s, expected were %lld: add neighbouring "
                     "lines, or set `expected_replacements`.",
                     (long long)n, path, (long long)expected);
}

/* The file's new text. *n_out: replacements; 1 for a new file. */
static int edited_text(const json_t *args, const char *path, const struct textfile *file,
                       struct strbuf *out, json_int_t *n_out, struct error *err)
{
    const char *wanted = json_text_or(args, "old_string", "");
    const char *instead = json_text_or(args, "new_string", "");

    if (text_equal(wanted, instead))
        return error_set(err, ERROR_INVALID, "`old_string` and `new_string` are the same.");
    *n_out = count_matches(file->text.text, wanted);
    if (check_matches(path, *n_out, json_int_or(args, "expected_replacements", 1), err) < 0)
        return -1;
    if (strlen(instead) > MAX_EDIT_FILE_BYTES / (size_t)(*n_out + 1))
        return error_set(err, ERROR_TOO_LARGE, "The edited file would be larger than %d MB.",
                         MAX_EDIT_FILE_BYTES / (1024 * 1024));
    append_replaced(out, file->text.text, wanted, instead);
    return 0;
}

/* An empty old_string makes a new file. */
static int new_text(const json_t *args, const char *path, struct strbuf *out, json_int_t *n_out,
                    struct error *err)
{
    if (access(path, F_OK) == 0)
        return error_set(err, ERROR_INVALID,
                         "The file %s exists: an empty `old_string` is for a new file.", path);
    strbuf_append(out, json_text_or(args, "new_string", ""));
    *n_out = 1;
    return 0;
}

int edit_tool_run(const json_t *args, const char *working_dir, json_t *facts, struct strbuf *words,
                  struct error *err)
{
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf after = STRBUF_INIT;
    bool is_new = json_text_or(args, "old_string", "")[0] == '\0';
    json_int_t n = 0;

    normal_path_append_absolute(&path, working_dir, json_text_or(args, "file_path", ""));
    json_put_text(facts, "file_path", path.text);
    if (is_new && new_text(args, path.text, &after, &n, err) < 0)
        return -1;
    if (!is_new && (read_text(path.text, &file, err) < 0 ||
                    edited_text(args, path.text, &file, &after, &n, err) < 0))
        return -1;
    strbuf_append(&before, file.text.text);
    if (replace_text(path.text, &file, after.text, err) < 0)
        return -1;
    json_put(facts, "is_new_file", json_boolean(is_new));
    json_put(facts, "replacements_made", json_integer(n));
    put_contents(facts, is_new ? NULL : &before, after.text);
    strbuf_appendf(words, is_new ? "Created %s." : "Edited %s: %lld replacement(s).", path.text,
                   (long long)n);
    return 0;
}
