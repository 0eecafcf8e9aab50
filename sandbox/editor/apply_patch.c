#include "sandbox/editor/apply_patch.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/normal_path.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/textfile.h"
#include "sandbox/editor/patch.h"

#define DONE_TEXT "Done!"

enum { SHOWN_CONTENTS_BYTES = 3 * 1024 * 1024 };

/* A file as it will be. */
struct change {
    const struct patch_file *file;
    struct strbuf path;   /* absolute */
    struct strbuf target; /* where it is written: path, or where it is moved */
    struct strbuf before;
    struct textfile after;
};

struct changes {
    struct change *items;
    size_t n;
};

static void changes_done(struct changes *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        strbuf_done(&changes->items[i].path);
        strbuf_done(&changes->items[i].target);
        strbuf_done(&changes->items[i].before);
        textfile_done(&changes->items[i].after);
    }
    mem_free(changes->items);
}

/* A path of the patch is relative, and stays below the folder. */
static int place(struct strbuf *out, const char *folder, const char *path, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf root = STRBUF_INIT;

    normal_path_append_absolute(&root, folder, ".");
    normal_path_append_absolute(out, folder, path);
    if (root.len == 1)
        strbuf_truncate(&root, 0);
    if (path[0] != '/' && text_starts_with(out->text, root.text) && out->text[root.len] == '/' &&
        out->len > root.len + 1)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "%s is not a file below %s: paths in a patch are relative to it.", path,
                     folder);
}

static int read_before(struct change *change, struct error *err)
{
    struct error cause = ERROR_INIT;

    if (textfile_read(change->path.text, &change->after, &cause) < 0)
        return error_set(err, cause.code, "%s cannot be changed: %s", change->file->path,
                         cause.code == ERROR_NOT_FOUND ? "there is no such file" : cause.message);
    strbuf_append(&change->before, change->after.text.text);
    return 0;
}

static int plan_update(struct change *change, int *fuzz, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (read_before(change, err) < 0 ||
        patch_apply(change->file, change->before.text, &text, fuzz, err) < 0)
        return -1;
    strbuf_reset(&change->after.text);
    strbuf_append_bytes(&change->after.text, text.text, text.len);
    return 0;
}

static int plan_change(struct change *change, int *fuzz, struct error *err)
{
    switch (change->file->kind) {
    case PATCH_ADD:
        if (access(change->path.text, F_OK) == 0)
            return error_set(err, ERROR_INVALID, "%s exists: update it instead of adding it.",
                             change->file->path);
        strbuf_append(&change->after.text, change->file->added.text);
        return 0;
    case PATCH_DELETE:
        return read_before(change, err);
    case PATCH_UPDATE:
        return plan_update(change, fuzz, err);
    }
    return 0;
}

static int plan(struct changes *changes, const struct file_patch *patch, const char *folder,
                int *fuzz, struct error *err)
{
    changes->items = mem_alloc_array(patch->n_files, sizeof(*changes->items));
    for (size_t i = 0; i < patch->n_files; i++) {
        const struct patch_file *file = &patch->files[i];
        struct change *change = &changes->items[changes->n++];

        *change = (struct change){.file = file,
                                  .path = STRBUF_INIT,
                                  .target = STRBUF_INIT,
                                  .before = STRBUF_INIT,
                                  .after = TEXTFILE_INIT};
        if (place(&change->path, folder, file->path, err) < 0 ||
            place(&change->target, folder, file->move_path != NULL ? file->move_path : file->path,
                  err) < 0 ||
            plan_change(change, fuzz, err) < 0)
            return -1;
    }
    return 0;
}

/* --- writing --- */

static int remove_file(const char *path, struct error *err)
{
    if (unlink(path) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s cannot be removed: %m", path);
    return 0;
}

static int write_change(const struct change *change, struct error *err)
{
    if (change->file->kind == PATCH_DELETE)
        return remove_file(change->path.text, err);
    if (textfile_make_parents(change->target.text, err) < 0 ||
        textfile_write(change->target.text, &change->after, err) < 0)
        return -1;
    return change->file->move_path != NULL ? remove_file(change->path.text, err) : 0;
}

static int write_all(const struct changes *changes, struct error *err)
{
    for (size_t i = 0; i < changes->n; i++) {
        struct error cause = ERROR_INIT;

        if (write_change(&changes->items[i], &cause) < 0)
            return error_set(err, cause.code,
                             "%s could not be written (%s). The %zu file(s) before it in the patch "
                             "were changed.",
                             changes->items[i].file->path, cause.message, i);
    }
    return 0;
}

/* --- the observation --- */

static json_t *change_to_json(const struct change *change, bool shows_contents)
{
    static const char *const kinds[] = {
        [PATCH_ADD] = "add", [PATCH_DELETE] = "delete", [PATCH_UPDATE] = "update"};
    json_t *json = json_object();

    json_put_text(json, "type", kinds[change->file->kind]);
    if (shows_contents && change->file->kind != PATCH_ADD)
        json_put(json, "old_content", json_text(change->before.text, change->before.len));
    if (shows_contents && change->file->kind != PATCH_DELETE)
        json_put(json, "new_content", json_text(change->after.text.text, change->after.text.len));
    json_put_text(json, "move_path", change->file->move_path);
    return json;
}

static void put_commit(json_t *facts, const struct changes *changes)
{
    json_t *commit = json_object();
    json_t *by_path = json_object();
    size_t n_bytes = 0;

    for (size_t i = 0; i < changes->n; i++)
        n_bytes += changes->items[i].before.len + changes->items[i].after.text.len;
    for (size_t i = 0; i < changes->n; i++)
        json_put(by_path, changes->items[i].file->path,
                 change_to_json(&changes->items[i], n_bytes <= SHOWN_CONTENTS_BYTES));
    json_put(commit, "changes", by_path);
    json_put(facts, "commit", commit);
}

int apply_patch_tool_run(const json_t *args, const char *working_dir, json_t *facts,
                         struct strbuf *words, struct error *err)
{
    CLEANUP(patch_done) struct file_patch patch = PATCH_INIT;
    CLEANUP(changes_done) struct changes changes = {NULL, 0};
    int fuzz = 0;

    if (patch_read(&patch, json_text_or(args, "patch", ""), err) < 0 ||
        plan(&changes, &patch, working_dir, &fuzz, err) < 0 || write_all(&changes, err) < 0)
        return -1;
    json_put_text(facts, "message", DONE_TEXT);
    json_put(facts, "fuzz", json_integer(fuzz));
    put_commit(facts, &changes);
    strbuf_append(words, DONE_TEXT);
    return 0;
}
