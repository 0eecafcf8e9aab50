#include "sandbox/checkpoint/checkout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/checkpoint/file_list.h"
#include "sandbox/checkpoint/left_out.h"
#include "sandbox/checkpoint/object_store.h"
#include "sandbox/checkpoint/parent_folder.h"
#include "sandbox/checkpoint/tree.h"

enum { NAMED_KEPT_MAX = 50, PERMISSIONS = 0777 };

/* A restore in progress. */
struct checkout {
    const struct object_store *store;
    const struct file_list *present;
    int64_t deadline_ms;
    struct file_list wanted;
    int root;
    struct checkout_result *result;
};

void checkout_result_done(struct checkout_result *result)
{
    json_decref(TAKE_PTR(result->kept));
}

static void checkout_done(struct checkout *checkout)
{
    file_list_done(&checkout->wanted);
    fd_close(&checkout->root);
}

/* Something else has the name of a file or of one of its folders; other errors end a restore. */
static bool is_in_the_way(int error)
{
    return error == EEXIST || error == ENOTDIR || error == ELOOP || error == EISDIR ||
           error == ENOTEMPTY;
}

static void note_kept(struct checkout *checkout, const char *path)
{
    if (json_array_size(checkout->result->kept) < NAMED_KEPT_MAX)
        json_push(checkout->result->kept, json_text(path, strlen(path)));
}

static int check_time(const struct checkout *checkout, struct error *err)
{
    if (clock_monotonic_ms() < checkout->deadline_ms)
        return 0;
    return error_set(err, ERROR_TIMEOUT, "it took too long: %zu files were written and %zu removed",
                     checkout->result->n_written, checkout->result->n_removed);
}

/* --- what differs --- */

static bool is_same(const struct listed_file *a, const struct listed_file *b)
{
    return a != NULL && b != NULL && a->mode == b->mode && text_equal(a->id.hex, b->id.hex);
}

static int read_wanted(struct checkout *checkout, const struct object_id *tree, struct error *err)
{
    if (tree_read(checkout->store, tree, &checkout->wanted, err) < 0)
        return -1;
    file_list_sort(&checkout->wanted);
    for (size_t i = 0; i < checkout->wanted.n; i++) {
        const struct listed_file *file = &checkout->wanted.items[i];
        CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;

        if (check_time(checkout, err) < 0)
            return -1;
        if (!is_same(file, file_list_find(checkout->present, file->path)) &&
            object_store_read(checkout->store, OBJECT_BLOB, &file->id, &content, err) < 0)
            return -1;
    }
    return 0;
}

/* --- folders --- */

/* Removes the folders of a removed file that are empty now. */
static void remove_empty_folders(const struct checkout *checkout, const char *path)
{
    CLEANUP(mem_freep) char *folder = mem_dup_text(path);
    char *slash = NULL;

    for (slash = strrchr(folder, '/'); slash != NULL; slash = strrchr(folder, '/')) {
        CLEANUP(fd_close) int parent = -1;
        const char *name = NULL;

        *slash = '\0';
        parent = parent_folder_open(checkout->root, folder, PARENT_EXISTS, &name);
        if (parent < 0 || unlinkat(parent, name, AT_REMOVEDIR) < 0)
            return;
    }
}

/* --- files --- */

static void remove_file(struct checkout *checkout, const char *path)
{
    CLEANUP(fd_close) int parent = -1;
    const char *name = NULL;

    parent = parent_folder_open(checkout->root, path, PARENT_EXISTS, &name);
    if (parent < 0 || unlinkat(parent, name, 0) < 0) {
        if (errno != ENOENT)
            note_kept(checkout, path);
        return;
    }
    checkout->result->n_removed++;
    remove_empty_folders(checkout, path);
}

static int remove_unwanted(struct checkout *checkout, struct error *err)
{
    for (size_t i = 0; i < checkout->present->n; i++) {
        if (check_time(checkout, err) < 0)
            return -1;
        if (file_list_find(&checkout->wanted, checkout->present->items[i].path) == NULL)
            remove_file(checkout, checkout->present->items[i].path);
    }
    return 0;
}

static int make_link(int parent, const struct strbuf *content, struct error *err)
{
    if (symlinkat(content->text, parent, FRESH_FILE_NAME) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "symlink: %m");
    return 0;
}

static int make_plain(int parent, const struct listed_file *file, const struct strbuf *content,
                      struct error *err)
{
    CLEANUP(fd_close) int fd =
        openat(parent, FRESH_FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "open: %m");
    if (fd_write_all(fd, content->text, content->len, err) < 0)
        return -1;
    if (fchmod(fd, file->mode & PERMISSIONS) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "chmod: %m");
    return 0;
}

/*
 * Moves the fresh file into place: over a file that the checkpoint of the present files has, and
 * never over anything else; that is kept.
 */
static int place(struct checkout *checkout, int parent, const char *name, const char *path,
                 struct error *err)
{
    int rc = file_list_find(checkout->present, path) != NULL
                 ? renameat(parent, FRESH_FILE_NAME, parent, name)
                 : linkat(parent, FRESH_FILE_NAME, parent, name, 0);

    if (rc == 0)
        checkout->result->n_written++;
    else if (is_in_the_way(errno))
        note_kept(checkout, path);
    else
        return error_set(err, ERROR_UNAVAILABLE, "rename: %m");
    return 0;
}

static int write_file(struct checkout *checkout, const struct listed_file *file, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
    CLEANUP(fd_close) int parent = -1;
    const char *name = NULL;
    int rc = 0;

    if (object_store_read(checkout->store, OBJECT_BLOB, &file->id, &content, err) < 0)
        return -1;
    parent = parent_folder_open(checkout->root, file->path, PARENT_IS_MADE, &name);
    if (parent < 0 && is_in_the_way(errno)) {
        note_kept(checkout, file->path);
        return 0;
    }
    if (parent < 0)
        return error_set(err, ERROR_UNAVAILABLE, "open the folder of %s: %m", file->path);
    (void)unlinkat(parent, FRESH_FILE_NAME, 0);
    rc = file->mode == FILE_MODE_LINK ? make_link(parent, &content, err)
                                      : make_plain(parent, file, &content, err);
    if (rc == 0)
        rc = place(checkout, parent, name, file->path, err);
    (void)unlinkat(parent, FRESH_FILE_NAME, 0);
    return rc < 0 ? error_wrap(err, "%s", file->path) : 0;
}

static int write_wanted(struct checkout *checkout, struct error *err)
{
    for (size_t i = 0; i < checkout->wanted.n; i++) {
        const struct listed_file *file = &checkout->wanted.items[i];

        if (check_time(checkout, err) < 0)
            return -1;
        if (!is_same(file, file_list_find(checkout->present, file->path)) &&
            write_file(checkout, file, err) < 0)
            return -1;
    }
    return 0;
}

int checkout_run(const struct checkout_order *order, struct checkout_result *result,
                 struct error *err)
{
    CLEANUP(checkout_done) struct checkout checkout = {.store = order->store,
                                                       .present = order->present,
                                                       .deadline_ms = order->deadline_ms,
                                                       .wanted = FILE_LIST_INIT,
                                                       .root = -1,
                                                       .result = result};

    result->kept = json_array();
    if (read_wanted(&checkout, order->tree, err) < 0)
        return -1;
    checkout.root = open(order->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (checkout.root < 0)
        return error_set(err, ERROR_UNAVAILABLE, "open %s: %m", order->workspace);
    if (remove_unwanted(&checkout, err) < 0)
        return -1;
    return write_wanted(&checkout, err);
}
