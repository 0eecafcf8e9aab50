#include "base/text_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

/* A folder to be read: its path, and the name of its files before their own, such as "prompt/". */
struct place {
    const char *dir;
    const char *prefix;
    bool is_override;
};

static void file_done(struct text_file *file)
{
    mem_free(file->name);
    mem_free(file->path);
    mem_free(file->text);
}

void text_folder_done(struct text_folder *folder)
{
    if (folder == NULL)
        return;
    for (size_t i = 0; i < folder->n; i++)
        file_done(&folder->files[i]);
    mem_free(folder->files);
    *folder = (struct text_folder)TEXT_FOLDER_INIT;
}

static int check_text(const char *path, const struct strbuf *text, struct error *err)
{
    if (text_is_blank(text->text))
        return error_set(err, ERROR_INVALID, "%s: the file is empty", path);
    if (strlen(text->text) != text->len || !utf8_is_valid(text->text, text->len))
        return error_set(err, ERROR_INVALID, "%s: the file is not UTF-8 text", path);
    return 0;
}

static struct text_file *find(const struct text_folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->n; i++) {
        if (text_equal(folder->files[i].name, name))
            return &folder->files[i];
    }
    return NULL;
}

/* The place of a new or a replaced file. */
static struct text_file *place_for(struct text_folder *folder, const char *name)
{
    struct text_file *file = find(folder, name);

    if (file != NULL) {
        file_done(file);
        return file;
    }
    folder->files = mem_resize(folder->files, (folder->n + 1) * sizeof(*folder->files));
    return &folder->files[folder->n++];
}

static int add_file(struct text_folder *folder, const struct place *place, const char *path,
                    const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    size_t len = 0;

    if (folder->n >= TEXT_FOLDER_MAX_FILES)
        return error_set(err, ERROR_TOO_LARGE, "%s: more than %d files", path,
                         TEXT_FOLDER_MAX_FILES);
    if (file_read(path, TEXT_FILE_MAX_BYTES, &text, err) < 0 || check_text(path, &text, err) < 0)
        return -1;
    len = text.len;
    *place_for(folder, name) = (struct text_file){.name = mem_dup_text(name),
                                                  .path = mem_dup_text(path),
                                                  .text = strbuf_take(&text),
                                                  .len = len,
                                                  .is_override = place->is_override};
    return 0;
}

static bool is_text_name(const char *name)
{
    return text_ends_with(name, ".txt") || text_ends_with(name, ".tsv");
}

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int open_place(const struct place *place, DIR **entries_out, struct error *err)
{
    *entries_out = opendir(place->dir);
    if (*entries_out == NULL)
        return error_set(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_UNAVAILABLE,
                         "open the folder %s: %m", place->dir);
    return 0;
}

static const char *next_name(DIR *entries)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is the caller's */
    const struct dirent *entry = readdir(entries);

    return entry != NULL ? entry->d_name : NULL;
}

static int add_texts(struct text_folder *folder, const struct place *place, struct error *err)
{
    DIR *entries = NULL;
    int rc = 0;

    if (open_place(place, &entries, err) < 0)
        return -1;
    for (const char *name = next_name(entries); rc == 0 && name != NULL;
         name = next_name(entries)) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf full_name = STRBUF_INIT;

        strbuf_appendf(&path, "%s/%s", place->dir, name);
        strbuf_appendf(&full_name, "%s%s", place->prefix, name);
        if (name[0] != '.' && is_text_name(name))
            rc = add_file(folder, place, path.text, full_name.text, err);
    }
    (void)closedir(entries);
    return rc;
}

static int add_subfolders(struct text_folder *folder, const struct place *root, struct error *err)
{
    DIR *entries = NULL;
    int rc = 0;

    if (open_place(root, &entries, err) < 0)
        return -1;
    for (const char *name = next_name(entries); rc == 0 && name != NULL;
         name = next_name(entries)) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;

        strbuf_appendf(&path, "%s/%s", root->dir, name);
        strbuf_appendf(&prefix, "%s/", name);
        if (name[0] != '.' && is_folder(path.text))
            rc = add_texts(folder, &(struct place){path.text, prefix.text, root->is_override}, err);
    }
    (void)closedir(entries);
    return rc;
}

static int add_tree(struct text_folder *folder, const struct place *root, struct error *err)
{
    return add_texts(folder, root, err) < 0 ? -1 : add_subfolders(folder, root, err);
}

static int compare_names(const void *a, const void *b)
{
    const struct text_file *left = a;
    const struct text_file *right = b;

    return strcmp(left->name, right->name);
}

int text_folder_read(const char *dir, const char *overrides, struct text_folder *folder_out,
                     struct error *err)
{
    CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;

    if (add_tree(&folder, &(struct place){.dir = dir, .prefix = ""}, err) < 0)
        return -1;
    if (overrides[0] != '\0' &&
        add_tree(&folder, &(struct place){.dir = overrides, .prefix = "", .is_override = true},
                 err) < 0)
        return -1;
    if (folder.n > 0)
        qsort(folder.files, folder.n, sizeof(*folder.files), compare_names);
    *folder_out = folder;
    folder = (struct text_folder)TEXT_FOLDER_INIT;
    return 0;
}

const struct text_file *text_folder_find(const struct text_folder *folder, const char *name)
{
    return find(folder, name);
}
