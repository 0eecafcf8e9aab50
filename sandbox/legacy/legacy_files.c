#include "sandbox/legacy/legacy_files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/atomic_write.h"
#include "sandbox/core/textfile.h"
#include "sandbox/editor/file_editor.h"
#include "sandbox/editor/line_diff.h"
#include "sandbox/legacy/legacy_reply.h"

enum { NEW_FILE_MODE = 0664, MAX_READ_BYTES = 20 * 1024 * 1024 };

/* Shown to a model as media, not as text. */
static const char *const media_types[][2] = {
    {".png", "image/png"}, {".jpg", "image/jpeg"},  {".jpeg", "image/jpeg"},
    {".bmp", "image/bmp"}, {".gif", "image/gif"},   {".pdf", "application/pdf"},
    {".mp4", "video/mp4"}, {".webm", "video/webm"}, {".ogg", "video/ogg"},
};

static const char *media_type(const char *path)
{
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot != NULL && i < ARRAY_SIZE(media_types); i++) {
        if (text_equal_nocase(dot, media_types[i][0]))
            return media_types[i][1];
    }
    return NULL;
}

static int resolve(const struct legacy_context *context, const json_t *args, struct strbuf *path,
                   struct error *err)
{
    const char *given = json_text_or(args, "path", "");

    if (given[0] == '\0')
        return error_set(err, ERROR_INVALID, "path is missing");
    if (given[0] != '/')
        strbuf_appendf(path, "%s/", context->working_dir);
    strbuf_append(path, given);
    return 0;
}

/* An error observation with a formatted message. */
static json_t *complain(const char *format, ...) PRINTF_LIKE(1, 2);

static json_t *complain(const char *format, ...)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    va_list args;

    va_start(args, format);
    strbuf_vappendf(&text, format, args);
    va_end(args);
    return legacy_reply_error(text.text);
}

static json_t *file_observation(const char *type, const char *path, const struct strbuf *content)
{
    json_t *extras = json_object();

    json_put_text(extras, "path", path);
    if (text_equal(type, "read"))
        json_put_text(extras, "impl_source", "default");
    return legacy_reply(type, content->text, content->len, extras);
}

/* Offset of a line in text, 0-based; the end of the text for lines past it. */
static size_t offset_of_line(const struct strbuf *text, json_int_t line)
{
    const char *at = text->text;
    const char *end = text->text + text->len;

    for (; line > 0 && at < end; line--) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        at = newline != NULL ? newline + 1 : end;
    }
    return (size_t)(at - text->text);
}

/* The byte range of the arguments' lines start..end: 0-based, end exclusive, -1 for the rest. */
static void line_range(const json_t *args, const struct strbuf *text, size_t *from, size_t *to)
{
    json_int_t last = json_int_or(args, "end", -1);

    *from = offset_of_line(text, json_int_or(args, "start", 0));
    *to = last == -1 ? text->len : offset_of_line(text, last);
    if (*to < *from)
        *to = *from;
}

/* Reads a file; otherwise returns the observation that says why it cannot. */
static json_t *load(const char *path, const char *working_dir, struct strbuf *bytes)
{
    struct error err = ERROR_INIT;
    struct stat info;

    if (stat(path, &info) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return complain("File not found: %s. Your current working directory is %s.", path,
                        working_dir);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return complain("Path is a directory: %s. You can only read files", path);
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return complain("Not a regular file: %s. You can only read files", path);
    if (file_read(path, MAX_READ_BYTES, bytes, &err) < 0)
        return complain("File could not be read: %s: %s.", path, err.message);
    return NULL;
}

static json_t *read_media(const char *path, const char *type, const struct strbuf *bytes)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;

    strbuf_appendf(&url, "data:%s;base64,", type);
    base64_append(&url, (const unsigned char *)bytes->text, bytes->len);
    return file_observation("read", path, &url);
}

static json_t *read_text(const json_t *args, const char *path, const struct strbuf *bytes)
{
    CLEANUP(strbuf_done) struct strbuf part = STRBUF_INIT;
    size_t from = 0;
    size_t to = 0;

    if (memchr(bytes->text, '\0', bytes->len) != NULL)
        return legacy_reply_error("ERROR_BINARY_FILE");
    if (!utf8_is_valid(bytes->text, bytes->len))
        return complain("File could not be decoded as utf-8: %s.", path);
    line_range(args, bytes, &from, &to);
    strbuf_append_bytes(&part, bytes->text + from, to - from);
    return file_observation("read", path, &part);
}

/* The editor's message; ERROR precedes the message of a failed command. */
static void append_editor_text(struct strbuf *out, const json_t *edited)
{
    const json_t *part = json_array_get(json_object_get(edited, "content"), 0);

    if (json_bool_or(edited, "is_error", 0))
        strbuf_append(out, "ERROR:\n");
    strbuf_append(out, json_text_or(part, "text", ""));
}

static json_t *read_by_editor(const struct legacy_context *context, const json_t *args)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *view = json_object();
    json_auto_t *edited = NULL;
    json_t *extras = json_object();
    json_t *range = json_object_get(args, "view_range");

    json_put_text(view, "command", "view");
    json_put_text(view, "path", json_text_or(args, "path", ""));
    if (range != NULL)
        json_put(view, "view_range", json_incref(range));
    edited = file_editor_execute(context->editor, view, context->working_dir);
    append_editor_text(&text, edited);
    json_put_text(extras, "path", json_text_or(args, "path", ""));
    json_put_text(extras, "impl_source", "oh_aci");
    return legacy_reply("read", text.text, text.len, extras);
}

int legacy_files_read(const struct legacy_context *context, const json_t *args,
                      json_t **observation_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    const char *type = NULL;

    if (resolve(context, args, &path, err) < 0)
        return -1;
    if (text_equal(json_text_or(args, "impl_source", "default"), "oh_aci")) {
        *observation_out = read_by_editor(context, args);
        return 0;
    }
    *observation_out = load(path.text, context->working_dir, &bytes);
    if (*observation_out != NULL)
        return 0;
    type = media_type(path.text);
    *observation_out =
        type != NULL ? read_media(path.text, type, &bytes) : read_text(args, path.text, &bytes);
    return 0;
}

/* Replaces the lines that the arguments name by the content and a newline. */
static void append_lines(const json_t *args, const struct strbuf *old, struct strbuf *out)
{
    json_int_t last = json_int_or(args, "end", -1);
    const char *content = json_text_or(args, "content", "");

    strbuf_append_bytes(out, old->text, offset_of_line(old, json_int_or(args, "start", 0)));
    strbuf_appendf(out, "%s\n", content);
    if (last != -1) {
        size_t rest = offset_of_line(old, last);

        strbuf_append_bytes(out, old->text + rest, old->len - rest);
    }
}

static int store(const char *path, const struct strbuf *bytes, bool is_new, struct error *err)
{
    CLEANUP(atomic_write_done) struct atomic_write file = ATOMIC_WRITE_INIT;

    if (atomic_write_begin(&file, path, err) < 0)
        return -1;
    if (is_new && fchmod(file.fd, NEW_FILE_MODE) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path);
    if (fd_write_all(file.fd, bytes->text, bytes->len, err) < 0)
        return -1;
    return atomic_write_commit(&file, err);
}

/* Reads the existing file; otherwise returns the observation that says why it cannot be changed. */
static json_t *load_old(const char *path, struct strbuf *old, bool *is_new)
{
    struct error err = ERROR_INIT;
    struct stat info;

    *is_new = stat(path, &info) < 0;
    if (*is_new)
        return NULL;
    if (!S_ISREG(info.st_mode))
        return complain("Path is a directory: %s. You can only write to files", path);
    if (file_read(path, MAX_READ_BYTES, old, &err) < 0)
        return complain("File could not be read: %s: %s.", path, err.message);
    if (!utf8_is_valid(old->text, old->len))
        return complain("File could not be decoded as utf-8: %s", path);
    return NULL;
}

int legacy_files_write(const struct legacy_context *context, const json_t *args,
                       json_t **observation_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf old = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf edited = STRBUF_INIT;
    const struct strbuf nothing = STRBUF_INIT;
    struct error why = ERROR_INIT;
    bool is_new = false;

    if (resolve(context, args, &path, err) < 0)
        return -1;
    *observation_out = load_old(path.text, &old, &is_new);
    if (*observation_out != NULL)
        return 0;
    append_lines(args, &old, &edited);
    if (textfile_make_parents(path.text, &why) < 0 || store(path.text, &edited, is_new, &why) < 0)
        *observation_out = complain("File could not be written: %s.", why.message);
    else
        *observation_out = file_observation("write", path.text, &nothing);
    return 0;
}

/* The editor's arguments; a line number may be text, an invalid one is omitted. */
static void file_editor_args(const json_t *args, json_t *out)
{
    static const char *const members[] = {"path", "command", "file_text", "old_str", "new_str"};
    const json_t *line = json_object_get(args, "insert_line");
    struct error ignored = ERROR_INIT;
    int64_t number = 0;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        json_t *value = json_object_get(args, members[i]);

        if (json_is_string(value))
            json_put(out, members[i], json_incref(value));
    }
    if (json_is_integer(line))
        json_put(out, "insert_line", json_integer(json_integer_value(line)));
    else if (json_is_string(line) &&
             text_parse_int(json_string_value(line), 0, INT32_MAX, &number, &ignored) == 0)
        json_put(out, "insert_line", json_integer(number));
}

static void put_content(json_t *extras, const json_t *edited, const char *member)
{
    json_t *text = json_object_get(edited, member);

    json_put(extras, member, text != NULL ? json_incref(text) : json_null());
}

static void put_change(json_t *extras, const json_t *edited, const char *path)
{
    CLEANUP(strbuf_done) struct strbuf diff = STRBUF_INIT;

    line_diff_append(&diff, path, json_text_or(edited, "old_content", ""),
                     json_text_or(edited, "new_content", ""));
    json_put(extras, "prev_exist", json_boolean(json_bool_or(edited, "prev_exist", 1)));
    put_content(extras, edited, "old_content");
    put_content(extras, edited, "new_content");
    json_put(extras, "diff", json_text(diff.text, diff.len));
}

int legacy_files_edit(const struct legacy_context *context, const json_t *args,
                      json_t **observation_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *path = json_text_or(args, "path", "");
    json_auto_t *command = json_object();
    json_auto_t *edited = NULL;
    json_auto_t *extras = json_object();

    json_put_text(extras, "path", path);
    json_put_text(extras, "impl_source", "oh_aci");
    if (!text_equal(json_text_or(args, "impl_source", "oh_aci"), "oh_aci"))
        return error_set(err, ERROR_INVALID, "impl_source must be oh_aci");
    file_editor_args(args, command);
    edited = file_editor_execute(context->editor, command, context->working_dir);
    append_editor_text(&text, edited);
    put_change(extras, edited, path);
    *observation_out = legacy_reply("edit", text.text, text.len, json_incref(extras));
    return 0;
}
