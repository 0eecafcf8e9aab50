/*
 * The editor's view command: text with line numbers, images, directory listings.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/textfile.h"
#include "sandbox/editor/file_editor_result.h"

enum { MAX_LISTED = 5000, VIEW_LEVELS = 2, MAX_IMAGE_BYTES = 4 * 1024 * 1024 };

static const char view_notice[] =
    "<response clipped><NOTE>The rest of the file is left out because it is too long. Use "
    "view_range, or grep -n in the terminal, to see the part you need.</NOTE>";

static const char *const image_types[][2] = {
    {".png", "image/png"}, {".jpg", "image/jpeg"},  {".jpeg", "image/jpeg"},
    {".gif", "image/gif"}, {".webp", "image/webp"}, {".bmp", "image/bmp"},
};

size_t file_editor_count_lines(const char *text)
{
    size_t n = 0;
    const char *end = NULL;

    for (; *text != '\0'; text = end + 1) {
        n++;
        end = strchr(text, '\n');
        if (end == NULL)
            break;
    }
    return n;
}

void file_editor_append_numbered(struct strbuf *out, const char *text, size_t first, size_t last)
{
    for (size_t number = 1; number <= last; number++) {
        size_t len = strcspn(text, "\n");

        if (number >= first) {
            strbuf_appendf(out, "%6zu\t", number);
            strbuf_append_bytes(out, text, len);
            strbuf_append_char(out, '\n');
        }
        text += len;
        text += *text == '\n';
    }
}

static const char *image_type(const char *path)
{
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot != NULL && i < ARRAY_SIZE(image_types); i++) {
        if (text_equal_nocase(dot, image_types[i][0]))
            return image_types[i][1];
    }
    return NULL;
}

static int view_image(const char *path, const char *type, struct file_editor_result *result,
                      struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;

    if (file_read(path, MAX_IMAGE_BYTES, &bytes, err) < 0)
        return -1;
    strbuf_appendf(&url, "data:%s;base64,", type);
    base64_append(&url, (const unsigned char *)bytes.text, bytes.len);
    result->image_url = strbuf_take(&url);
    strbuf_appendf(&result->text, "Image file %s:", path);
    return 0;
}

struct listing {
    char **paths;
    size_t n;
    size_t n_hidden;
};

static void listing_done(struct listing *listing)
{
    for (size_t i = 0; i < listing->n; i++)
        mem_free(listing->paths[i]);
    mem_free(listing->paths);
}

static bool is_directory(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static void list_one(struct listing *listing, const char *dir, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_append(&path, dir);
    if (path.len > 0 && path.text[path.len - 1] != '/')
        strbuf_append_char(&path, '/');
    strbuf_append(&path, name);
    if (is_directory(path.text))
        strbuf_append_char(&path, '/');
    listing->paths[listing->n++] = strbuf_take(&path);
}

static void list_level(struct listing *listing, const char *path, bool counts_hidden)
{
    DIR *dir = opendir(path);
    const struct dirent *entry = NULL;

    if (dir == NULL)
        return;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, and the stream is ours */
    for (entry = readdir(dir); entry != NULL && listing->n < MAX_LISTED; entry = readdir(dir)) {
        if (entry->d_name[0] != '.')
            list_one(listing, path, entry->d_name);
        else if (counts_hidden && !text_equal(entry->d_name, ".") &&
                 !text_equal(entry->d_name, ".."))
            listing->n_hidden++;
    }
    (void)closedir(dir);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void view_directory(const char *path, struct file_editor_result *result)
{
    CLEANUP(listing_done) struct listing listing = {mem_alloc_array(MAX_LISTED + 1, sizeof(char *)),
                                                    0, 0};
    size_t n_first = 0;

    list_level(&listing, path, true);
    n_first = listing.n;
    for (size_t i = 0; i < n_first; i++) {
        if (text_ends_with(listing.paths[i], "/"))
            list_level(&listing, listing.paths[i], false);
    }
    qsort(listing.paths, listing.n, sizeof(*listing.paths), compare_paths);
    strbuf_appendf(&result->text,
                   "Here are the files and directories up to %d levels deep in %s, excluding "
                   "hidden items:\n%s%s\n",
                   VIEW_LEVELS, path, path, text_ends_with(path, "/") ? "" : "/");
    for (size_t i = 0; i < listing.n; i++)
        strbuf_appendf(&result->text, "%s\n", listing.paths[i]);
    if (listing.n_hidden > 0)
        strbuf_appendf(&result->text,
                       "\n%zu hidden files or directories in this directory are left out. `ls -la "
                       "%s` shows them.",
                       listing.n_hidden, path);
}

struct line_range {
    size_t first;
    size_t last;
    size_t asked_last; /* past the end: adds a note */
};

static int read_range(const json_t *args, size_t n_lines, struct line_range *range,
                      struct error *err)
{
    const json_t *given = json_object_get(args, "view_range");
    json_int_t first = 0;
    json_int_t last = 0;

    *range = (struct line_range){1, n_lines, n_lines};
    if (given == NULL || json_is_null(given))
        return 0;
    if (json_array_size(given) != 2 || !json_is_integer(json_array_get(given, 0)) ||
        !json_is_integer(json_array_get(given, 1)))
        return error_set(err, ERROR_INVALID,
                         "Invalid `view_range` parameter: it should be a list of two integers.");
    first = json_integer_value(json_array_get(given, 0));
    last = json_integer_value(json_array_get(given, 1));
    if (first < 1 || (size_t)first > n_lines)
        return error_set(err, ERROR_INVALID,
                         "Invalid `view_range` parameter: [%lld, %lld]. Its first element should "
                         "be within the lines of the file: [1, %zu].",
                         (long long)first, (long long)last, n_lines);
    if (last != -1 && last < first)
        return error_set(err, ERROR_INVALID,
                         "Invalid `view_range` parameter: [%lld, %lld]. Its second element should "
                         "not be less than the first, or be -1.",
                         (long long)first, (long long)last);
    range->first = (size_t)first;
    range->asked_last = last == -1 ? n_lines : (size_t)last;
    range->last = range->asked_last < n_lines ? range->asked_last : n_lines;
    return 0;
}

/* Cuts the text, before it is numbered, MAX_VIEW_CHARS after the start of line `first`. */
static bool clip(struct strbuf *text, size_t first)
{
    size_t start = 0;
    size_t end = 0;

    for (size_t number = 1; number < first; number++)
        start += strcspn(text->text + start, "\n") + 1;
    end = start + utf8_offset(text->text + start, text->len - start, MAX_VIEW_CHARS);
    if (end >= text->len)
        return false;
    strbuf_truncate(text, end);
    return true;
}

static int view_file(const char *path, const json_t *args, struct file_editor_result *result,
                     struct error *err)
{
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    struct line_range range = {0, 0, 0};
    bool is_clipped = false;
    size_t n_lines = 0;

    if (textfile_read(path, &file, err) < 0)
        return -1;
    n_lines = file_editor_count_lines(file.text.text);
    if (n_lines == 0)
        n_lines = 1;
    if (read_range(args, n_lines, &range, err) < 0)
        return -1;
    is_clipped = clip(&file.text, range.first);
    if (is_clipped && range.last > file_editor_count_lines(file.text.text))
        range.last = file_editor_count_lines(file.text.text);
    else
        is_clipped = is_clipped && range.last == file_editor_count_lines(file.text.text);
    strbuf_appendf(&result->text, "Here's the result of running `cat -n` on %s:\n", path);
    file_editor_append_numbered(&result->text, file.text.text, range.first, range.last);
    if (is_clipped)
        strbuf_append(&result->text, view_notice);
    if (range.asked_last > n_lines)
        strbuf_appendf(&result->text,
                       "NOTE: line %zu of view_range is past the end; the file has %zu lines.\n",
                       range.asked_last, n_lines);
    return 0;
}

int file_editor_view(const char *path, const json_t *args, struct file_editor_result *result,
                     struct error *err)
{
    const char *type = image_type(path);
    const json_t *range = json_object_get(args, "view_range");

    if (is_directory(path)) {
        if (range != NULL && !json_is_null(range))
            return error_set(err, ERROR_INVALID,
                             "The `view_range` parameter is not allowed when `path` is a "
                             "directory.");
        view_directory(path, result);
        return 0;
    }
    if (type != NULL)
        return view_image(path, type, result, err);
    return view_file(path, args, result, err);
}
