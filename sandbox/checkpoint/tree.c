#include "sandbox/checkpoint/tree.h"

#include <stdbool.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/checkpoint/file_list.h"
#include "sandbox/checkpoint/left_out.h"

enum { MODE_BASE = 8, NODES_MAX = 4 * FILE_LIST_MAX };

/* --- writing --- */

/* The files from `at` to `end` are those of one folder, whose path has `prefix` characters. */
struct tree_span {
    const struct file_list *files;
    size_t at;
    size_t end;
    size_t prefix;
};

static void append_entry(struct strbuf *tree, uint32_t mode, const char *name, size_t len,
                         const struct object_id *id)
{
    unsigned char raw[OBJECT_RAW_BYTES] = {0};
    struct error ignored = ERROR_INIT;

    error_ignore(hex_decode(id->hex, raw, sizeof(raw), &ignored), "ids are hex");
    strbuf_appendf(tree, "%o %.*s", mode, (int)len, name);
    strbuf_append_char(tree, '\0');
    strbuf_append_bytes(tree, raw, sizeof(raw));
}

/* The end of the files that begin with the same folder as the first one. */
static size_t end_of_folder(const struct tree_span *span, size_t first, size_t len)
{
    const char *name = span->files->items[first].path + span->prefix;
    size_t i = first + 1;

    while (i < span->end && strncmp(span->files->items[i].path + span->prefix, name, len + 1) == 0)
        i++;
    return i;
}

/* NOLINTNEXTLINE(misc-no-recursion): paths have at most FILE_DEPTH_MAX folders */
static int write_span(struct object_store *store, const struct tree_span *span,
                      struct object_id *id_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf tree = STRBUF_INIT;
    size_t i = span->at;

    while (i < span->end) {
        const struct listed_file *file = &span->files->items[i];
        const char *name = file->path + span->prefix;
        size_t len = strcspn(name, "/");
        struct tree_span below = {span->files, i, i + 1, span->prefix + len + 1};
        struct object_id id = file->id;

        if (name[len] == '/') {
            below.end = end_of_folder(span, i, len);
            if (write_span(store, &below, &id, err) < 0)
                return -1;
        }
        append_entry(&tree, name[len] == '/' ? FILE_MODE_FOLDER : file->mode, name, len, &id);
        i = below.end;
    }
    return object_store_write(store, OBJECT_TREE, &tree, id_out, err);
}

int tree_write(struct object_store *store, const struct file_list *files,
               struct object_id *tree_out, struct error *err)
{
    return write_span(store, &(struct tree_span){files, 0, files->n, 0}, tree_out, err);
}

/* --- reading --- */

struct tree_entry {
    uint32_t mode;
    const char *name;
    struct object_id id;
};

static bool read_mode(const char *text, size_t len, uint32_t *mode_out)
{
    static const uint32_t known[] = {FILE_MODE_PLAIN, FILE_MODE_PROGRAM, FILE_MODE_LINK,
                                     FILE_MODE_FOLDER};
    uint32_t mode = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '7' || i > 6)
            return false;
        mode = mode * MODE_BASE + (uint32_t)(text[i] - '0');
    }
    *mode_out = mode;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (mode == known[i])
            return true;
    }
    return false;
}

static bool is_name(const char *name, bool is_folder)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && !text_equal(name, ".") &&
           !text_equal(name, "..") && !left_out(name, is_folder);
}

/* Reads the entry at *at, and moves behind it; the name lives as long as the tree. */
static int read_entry(const struct strbuf *tree, size_t *at, struct tree_entry *entry,
                      struct error *err)
{
    const char *from = tree->text + *at;
    size_t left = tree->len - *at;
    const char *space = memchr(from, ' ', left);
    const char *end = space != NULL ? memchr(space, '\0', left - (size_t)(space - from)) : NULL;

    if (end == NULL || left - (size_t)(end - from) < OBJECT_RAW_BYTES + 1 ||
        !read_mode(from, (size_t)(space - from), &entry->mode))
        return error_set(err, ERROR_INVALID, "A folder of the checkpoint is damaged");
    entry->name = space + 1;
    if (!is_name(entry->name, entry->mode == FILE_MODE_FOLDER))
        return error_set(err, ERROR_INVALID, "The checkpoint contains a name that is not allowed");
    hex_encode((const unsigned char *)end + 1, OBJECT_RAW_BYTES, entry->id.hex);
    *at = (size_t)(end - tree->text) + 1 + OBJECT_RAW_BYTES;
    return 0;
}

/* What a walk through trees does, and how far it may go. */
struct tree_walk {
    const struct object_store *store;
    struct file_list *files; /* NULL: list missing objects */
    json_t *missing;
    size_t max_missing;
    size_t n_nodes;
};

static int visit_tree(struct tree_walk *walk, const struct object_id *id, const char *path,
                      size_t depth, struct error *err);

static void note_missing(struct tree_walk *walk, const struct object_id *id)
{
    if (json_array_size(walk->missing) < walk->max_missing && !object_store_has(walk->store, id))
        json_push(walk->missing, json_text_of(id->hex));
}

/* NOLINTNEXTLINE(misc-no-recursion): at most FILE_DEPTH_MAX folders */
static int visit_entry(struct tree_walk *walk, const struct tree_entry *entry, const char *above,
                       size_t depth, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct listed_file *file = NULL;

    if (++walk->n_nodes > NODES_MAX)
        return error_set(err, ERROR_TOO_LARGE, "The checkpoint has too many files");
    strbuf_appendf(&path, "%s%s%s", above, above[0] != '\0' ? "/" : "", entry->name);
    if (path.len > FILE_PATH_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "A path of the checkpoint is too long");
    if (entry->mode == FILE_MODE_FOLDER)
        return visit_tree(walk, &entry->id, path.text, depth + 1, err);
    if (walk->files == NULL) {
        note_missing(walk, &entry->id);
        return 0;
    }
    if (file_list_add(walk->files, path.text, entry->mode, &file, err) < 0)
        return -1;
    file->id = entry->id;
    return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most FILE_DEPTH_MAX folders */
static int visit_tree(struct tree_walk *walk, const struct object_id *id, const char *path,
                      size_t depth, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf tree = STRBUF_INIT;
    struct tree_entry entry = {.name = NULL};
    size_t at = 0;

    if (depth > FILE_DEPTH_MAX)
        return error_set(err, ERROR_INVALID, "The checkpoint has too many levels of folders");
    if (walk->files == NULL && !object_store_has(walk->store, id)) {
        note_missing(walk, id);
        return 0;
    }
    if (object_store_read(walk->store, OBJECT_TREE, id, &tree, err) < 0)
        return -1;
    while (at < tree.len) {
        if (read_entry(&tree, &at, &entry, err) < 0 ||
            visit_entry(walk, &entry, path, depth, err) < 0)
            return -1;
    }
    return 0;
}

int tree_read(const struct object_store *store, const struct object_id *tree,
              struct file_list *files, struct error *err)
{
    struct tree_walk walk = {.store = store, .files = files};

    return visit_tree(&walk, tree, "", 0, err);
}

int tree_list_missing(const struct object_store *store, const struct object_id *tree, size_t max,
                      json_t *ids, struct error *err)
{
    struct tree_walk walk = {.store = store, .missing = ids, .max_missing = max};

    return visit_tree(&walk, tree, "", 0, err);
}
