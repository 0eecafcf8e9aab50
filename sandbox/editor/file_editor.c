#include "sandbox/editor/file_editor.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_observation.h"
#include "sandbox/core/textfile.h"
#include "sandbox/editor/file_editor_result.h"

enum {
    SNIPPET_LINES = 4,
    MAX_MATCHES_LISTED = 20,
    MAX_SHOWN_BYTES = 3 * 1024 * 1024, /* keeps a reply below 8 MiB, with escapes */
};

/* A previous text of a file; newest first. */
struct version {
    char *path;
    struct strbuf text;
    struct version *next;
};

struct file_editor {
    struct version *versions;
    size_t bytes;
};

/* One call: the command's arguments and its result. */
struct edit {
    struct file_editor *editor;
    const char *path;
    const json_t *args;
    struct file_editor_result *result;
};

struct edit_command {
    const char *name;
    int (*run)(const struct edit *edit, struct error *err);
};

void file_editor_result_done(struct file_editor_result *result)
{
    strbuf_done(&result->text);
    strbuf_done(&result->old_content);
    strbuf_done(&result->new_content);
    mem_freep(&result->image_url);
}

struct file_editor *file_editor_new(void)
{
    return NEW(struct file_editor);
}

static void remove_version(struct file_editor *editor, struct version **link)
{
    struct version *version = *link;

    *link = version->next;
    editor->bytes -= version->text.len;
    strbuf_done(&version->text);
    mem_free(version->path);
    mem_free(version);
}

void file_editor_free(struct file_editor *editor)
{
    if (editor == NULL)
        return;
    while (editor->versions != NULL)
        remove_version(editor, &editor->versions);
    mem_free(editor);
}

/* Keeps at most MAX_UNDO_VERSIONS per path, and MAX_UNDO_BYTES in total. */
static void limit_versions(struct file_editor *editor, const char *path)
{
    struct version **link = &editor->versions;
    size_t n = 0;
    size_t bytes = 0;

    while (*link != NULL) {
        n += text_equal((*link)->path, path);
        bytes += (*link)->text.len;
        if (bytes > MAX_UNDO_BYTES || (n > MAX_UNDO_VERSIONS && text_equal((*link)->path, path)))
            remove_version(editor, link);
        else
            link = &(*link)->next;
    }
}

static void remember(struct file_editor *editor, const char *path, const struct strbuf *text)
{
    struct version *version = NEW(struct version);

    version->path = mem_dup_text(path);
    version->text = (struct strbuf)STRBUF_INIT;
    strbuf_append_bytes(&version->text, text->text, text->len);
    version->next = editor->versions;
    editor->versions = version;
    editor->bytes += text->len;
    limit_versions(editor, path);
}

static int need_text(const struct edit *edit, const char *name, const char *command,
                     const char **text_out, struct error *err)
{
    const char *text = json_string_value(json_object_get(edit->args, name));

    if (text == NULL)
        return error_set(err, ERROR_INVALID, "Parameter `%s` is required for command: %s.", name,
                         command);
    *text_out = text;
    return 0;
}

static void set_new(struct file_editor_result *result, const struct strbuf *text)
{
    result->has_new = true;
    strbuf_append_bytes(&result->new_content, text->text, text->len);
}

static void set_old(struct file_editor_result *result, const struct strbuf *text)
{
    result->has_old = true;
    strbuf_append_bytes(&result->old_content, text->text, text->len);
}

static int run_view(const struct edit *edit, struct error *err)
{
    return file_editor_view(edit->path, edit->args, edit->result, err);
}

static int run_create(const struct edit *edit, struct error *err)
{
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    const char *text = "";
    struct stat info;

    if (need_text(edit, "file_text", "create", &text, err) < 0)
        return -1;
    if (strlen(text) > MAX_EDIT_FILE_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "The text is larger than %d MB.",
                         MAX_EDIT_FILE_BYTES / (1024 * 1024));
    if (lstat(edit->path, &info) == 0)
        return error_set(err, ERROR_CONFLICT,
                         "File already exists at: %s. Command `create` does not overwrite files.",
                         edit->path);
    strbuf_append(&file.text, text);
    if (textfile_make_parents(edit->path, err) < 0 || textfile_write(edit->path, &file, err) < 0)
        return -1;
    remember(edit->editor, edit->path, &file.text);
    edit->result->is_new = true;
    set_new(edit->result, &file.text);
    strbuf_appendf(&edit->result->text, "File created successfully at: %s", edit->path);
    return 0;
}

static void append_snippet(const struct edit *edit, const struct strbuf *text, size_t first,
                           size_t last)
{
    size_t n_lines = file_editor_count_lines(text->text);
    size_t from = first > SNIPPET_LINES + 1 ? first - SNIPPET_LINES : 1;
    size_t to = last + SNIPPET_LINES < n_lines ? last + SNIPPET_LINES : n_lines;

    strbuf_appendf(&edit->result->text,
                   "The file %s has been edited. Here is the changed part, numbered as by `cat "
                   "-n`:\n",
                   edit->path);
    file_editor_append_numbered(&edit->result->text, text->text, from, to);
    strbuf_append(&edit->result->text,
                  "Review the change: indentation, no duplicated or lost lines. Edit the file "
                  "again if it is not what you intended.");
}

/* Writes the edited text and reports lines first..last as the changed ones. */
static int finish_edit(const struct edit *edit, struct textfile *file, struct strbuf *edited,
                       const size_t changed[2], struct error *err)
{
    struct strbuf old = file->text;

    file->text = *edited;
    *edited = old;
    if (textfile_write(edit->path, file, err) < 0)
        return -1;
    remember(edit->editor, edit->path, &old);
    set_old(edit->result, &old);
    set_new(edit->result, &file->text);
    append_snippet(edit, &file->text, changed[0], changed[1]);
    return 0;
}

static size_t count_newlines(const char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n;
}

/* As strstr() in linear time: on processors with AVX-512, glibc's is quadratic for long texts. */
static const char *find_text(const char *text, const char *wanted)
{
    return memmem(text, strlen(text), wanted, strlen(wanted));
}

static int refuse_several(const char *text, const char *wanted, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
    size_t n = 0;

    for (const char *at = find_text(text, wanted); at != NULL && n < MAX_MATCHES_LISTED;
         at = find_text(at + 1, wanted))
        strbuf_appendf(&lines, "%s%zu", n++ > 0 ? ", " : "",
                       count_newlines(text, (size_t)(at - text)) + 1);
    return error_set(err, ERROR_INVALID,
                     "No replacement was made: `old_str` occurs more than once, in lines %s. Give "
                     "more of the text around it so that it is unique.",
                     lines.text);
}

static char *stripped(const char *text)
{
    size_t start = strspn(text, " \t\r\n\f\v");
    size_t len = strlen(text + start);

    while (len > 0 && strchr(" \t\r\n\f\v", text[start + len - 1]) != NULL)
        len--;
    return mem_dup_bytes(text + start, len);
}

static int replace_once(const struct edit *edit, struct textfile *file, const char *wanted,
                        const char *replacement, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf edited = STRBUF_INIT;
    const char *at = find_text(file->text.text, wanted);
    size_t before = (size_t)(at - file->text.text);
    size_t changed[2] = {0, 0};

    if (find_text(at + 1, wanted) != NULL)
        return refuse_several(file->text.text, wanted, err);
    changed[0] = count_newlines(file->text.text, before) + 1;
    changed[1] = changed[0] + count_newlines(replacement, strlen(replacement));
    strbuf_append_bytes(&edited, file->text.text, before);
    strbuf_append(&edited, replacement);
    strbuf_append(&edited, at + strlen(wanted));
    return finish_edit(edit, file, &edited, changed, err);
}

static int run_str_replace(const struct edit *edit, struct error *err)
{
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    CLEANUP(mem_freep) char *wanted = NULL;
    CLEANUP(mem_freep) char *replacement = NULL;
    const char *old_str = "";
    const char *new_str = json_text_or(edit->args, "new_str", "");

    if (need_text(edit, "old_str", "str_replace", &old_str, err) < 0)
        return -1;
    if (old_str[0] == '\0')
        return error_set(err, ERROR_INVALID, "No replacement was made: `old_str` is empty.");
    if (text_equal(old_str, new_str))
        return error_set(err, ERROR_INVALID,
                         "No replacement was made: `new_str` and `old_str` are the same.");
    if (textfile_read(edit->path, &file, err) < 0)
        return -1;
    if (find_text(file.text.text, old_str) != NULL)
        return replace_once(edit, &file, old_str, new_str, err);
    wanted = stripped(old_str);
    replacement = stripped(new_str);
    if (wanted[0] != '\0' && find_text(file.text.text, wanted) != NULL)
        return replace_once(edit, &file, wanted, replacement, err);
    return error_set(err, ERROR_NOT_FOUND,
                     "No replacement was made: `old_str` did not appear verbatim in %s.",
                     edit->path);
}

static size_t offset_of_line_end(const char *text, size_t n_lines)
{
    size_t at = 0;

    for (size_t i = 0; i < n_lines; i++) {
        at += strcspn(text + at, "\n");
        at += text[at] == '\n';
    }
    return at;
}

static int run_insert(const struct edit *edit, struct error *err)
{
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    CLEANUP(strbuf_done) struct strbuf edited = STRBUF_INIT;
    const json_t *line = json_object_get(edit->args, "insert_line");
    const char *text = "";
    size_t changed[2] = {0, 0};
    size_t n_lines = 0;
    size_t at = 0;

    if (!json_is_integer(line))
        return error_set(err, ERROR_INVALID,
                         "Parameter `insert_line` is required for command: insert.");
    if (need_text(edit, "new_str", "insert", &text, err) < 0 ||
        textfile_read(edit->path, &file, err) < 0)
        return -1;
    n_lines = file_editor_count_lines(file.text.text);
    if (json_integer_value(line) < 0 || (size_t)json_integer_value(line) > n_lines)
        return error_set(err, ERROR_INVALID,
                         "Invalid `insert_line` parameter: %lld. It should be within the lines of "
                         "the file: [0, %zu].",
                         (long long)json_integer_value(line), n_lines);
    at = offset_of_line_end(file.text.text, (size_t)json_integer_value(line));
    strbuf_append_bytes(&edited, file.text.text, at);
    if (at > 0 && file.text.text[at - 1] != '\n')
        strbuf_append_char(&edited, '\n');
    strbuf_append(&edited, text);
    if (!text_ends_with(text, "\n") && file.text.text[at] != '\0')
        strbuf_append_char(&edited, '\n');
    strbuf_append(&edited, file.text.text + at);
    changed[0] = (size_t)json_integer_value(line) + 1;
    changed[1] = (size_t)json_integer_value(line) + file_editor_count_lines(text);
    return finish_edit(edit, &file, &edited, changed, err);
}

static int run_undo(const struct edit *edit, struct error *err)
{
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    struct version **link = &edit->editor->versions;

    while (*link != NULL && !text_equal((*link)->path, edit->path))
        link = &(*link)->next;
    if (*link == NULL)
        return error_set(err, ERROR_NOT_FOUND, "No edit history found for %s.", edit->path);
    if (textfile_read(edit->path, &file, err) < 0)
        return -1;
    set_old(edit->result, &file.text);
    strbuf_reset(&file.text);
    strbuf_append_bytes(&file.text, (*link)->text.text, (*link)->text.len);
    if (textfile_write(edit->path, &file, err) < 0)
        return -1;
    set_new(edit->result, &file.text);
    remove_version(edit->editor, link);
    strbuf_appendf(&edit->result->text,
                   "Last edit to %s undone successfully. Here's the result of running `cat -n` on "
                   "%s:\n",
                   edit->path, edit->path);
    file_editor_append_numbered(&edit->result->text, file.text.text, 1,
                                file_editor_count_lines(file.text.text));
    return 0;
}

static const struct edit_command commands[] = {
    {"view", run_view},     {"create", run_create},  {"str_replace", run_str_replace},
    {"insert", run_insert}, {"undo_edit", run_undo},
};

static int check_absolute(const char *path, const char *working_dir, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf absolute = STRBUF_INIT;
    struct stat info;

    if (path[0] == '/')
        return 0;
    strbuf_appendf(&absolute, "%s/%s", working_dir, path);
    if (stat(absolute.text, &info) == 0)
        return error_set(err, ERROR_INVALID,
                         "The path %s is not an absolute path. Maybe you meant %s?", path,
                         absolute.text);
    return error_set(err, ERROR_INVALID,
                     "The path %s is not an absolute path, it should start with `/`.", path);
}

static int check_exists(const char *path, const char *command, struct error *err)
{
    struct stat info;

    if (text_equal(command, "create"))
        return 0;
    if (stat(path, &info) < 0)
        return error_set(err, ERROR_NOT_FOUND,
                         "The path %s does not exist. Give the path of an existing file.", path);
    if (S_ISDIR(info.st_mode) && !text_equal(command, "view"))
        return error_set(err, ERROR_INVALID,
                         "The path %s is a directory; only the `view` command works on "
                         "directories.",
                         path);
    return 0;
}

static int run_command(const struct edit *edit, const char *command, const char *working_dir,
                       struct error *err)
{
    if (edit->path == NULL)
        return error_set(err, ERROR_INVALID, "Parameter `path` is required for command: %s.",
                         command);
    if (check_absolute(edit->path, working_dir, err) < 0 ||
        check_exists(edit->path, command, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        if (text_equal(commands[i].name, command))
            return commands[i].run(edit, err);
    }
    return error_set(err, ERROR_INVALID,
                     "Unrecognized command %.40s. The allowed commands are: view, create, "
                     "str_replace, insert, undo_edit.",
                     command);
}

/* Adds details to the two read failures that need them. */
static void explain(const char *path, struct error *err)
{
    struct error cause = *err;

    if (cause.code == ERROR_TOO_LARGE)
        error_set(err, ERROR_TOO_LARGE, "The file %s is too large (%s). The limit is %d MB.", path,
                  cause.message, MAX_EDIT_FILE_BYTES / (1024 * 1024));
    if (cause.code == ERROR_UNSUPPORTED)
        error_set(err, ERROR_UNSUPPORTED,
                  "The file %s cannot be opened as text: %s. Only images can be viewed otherwise.",
                  path, cause.message);
}

static json_t *to_content(const struct file_editor_result *result)
{
    json_t *content = action_observation_content(result->text.text, result->text.len);
    json_t *image = NULL;
    json_t *urls = NULL;

    if (result->image_url == NULL)
        return content;
    image = json_object();
    urls = json_array();
    json_push(urls, json_text_of(result->image_url));
    json_put_text(image, "type", "image");
    json_put(image, "image_urls", urls);
    json_put(image, "cache_prompt", json_false());
    json_push(content, image);
    return content;
}

static json_t *to_observation(const struct file_editor_result *result, const char *command,
                              const char *path)
{
    json_t *observation = json_object();
    bool shows_contents = true;

    json_put(observation, "content", to_content(result));
    json_put(observation, "is_error", json_boolean(path == NULL));
    json_put_text(observation, "command", command);
    json_put_text(observation, "path", path);
    json_put(observation, "prev_exist", json_boolean(!result->is_new));
    if (result->old_content.len + result->new_content.len > MAX_SHOWN_BYTES)
        shows_contents = false;
    if (result->has_old && shows_contents)
        json_put(observation, "old_content",
                 json_text(result->old_content.text, result->old_content.len));
    if (result->has_new && shows_contents)
        json_put(observation, "new_content",
                 json_text(result->new_content.text, result->new_content.len));
    json_put_text(observation, "kind", "FileEditorObservation");
    return observation;
}

json_t *file_editor_execute(struct file_editor *editor, const json_t *args, const char *working_dir)
{
    CLEANUP(file_editor_result_done) struct file_editor_result result = FILE_EDITOR_RESULT_INIT;
    CLEANUP(file_editor_result_done) struct file_editor_result failure = FILE_EDITOR_RESULT_INIT;
    struct error err = ERROR_INIT;
    const char *command = json_text_or(args, "command", "");
    const struct edit edit = {
        .editor = editor,
        .path = json_string_value(json_object_get(args, "path")),
        .args = args,
        .result = &result,
    };

    if (run_command(&edit, command, working_dir, &err) == 0)
        return to_observation(&result, command, edit.path);
    if (edit.path != NULL)
        explain(edit.path, &err);
    strbuf_append(&failure.text, err.message);
    return to_observation(&failure, command, NULL);
}
