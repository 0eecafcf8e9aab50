#include "sandbox/checkpoint/file_snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include "sandbox/checkpoint/left_out.h"
#include "sandbox/checkpoint/parent_folder.h"
#include "sandbox/checkpoint/tree.h"

enum {
    NAMED_SKIPPED_MAX = 50,
    ENTRIES_MAX = 200000, /* of folders, with those that are left out */
    READ_BYTES = 256 * 1024,
    FIRST_FOLDERS = 16,
};

/* A file changed this shortly before it is read may change again without another time stamp. */
#define UNSETTLED_NS INT64_C(100000000)
#define NS_PER_US INT64_C(1000)

/* A checkpoint in progress. */
struct walk {
    struct object_store *store;
    struct file_snapshot *snapshot;
    int root;
    dev_t device;
    int64_t began_ns;
    int64_t deadline_ms;
    char **folders; /* still to be read, below the root */
    size_t n_folders;
    size_t size_folders;
    size_t n_entries;
};

void file_snapshot_done(struct file_snapshot *snapshot)
{
    file_list_done(&snapshot->files);
    json_decref(TAKE_PTR(snapshot->skipped));
}

static void skip(struct file_snapshot *snapshot, const char *path, const char *reason)
{
    json_t *entry = NULL;

    snapshot->n_skipped++;
    if (json_array_size(snapshot->skipped) >= NAMED_SKIPPED_MAX)
        return;
    entry = json_object();
    json_put(entry, "path", json_text(path, strlen(path)));
    json_put_text(entry, "reason", reason);
    json_push(snapshot->skipped, entry);
}

/* --- finding files --- */

static void push_folder(struct walk *walk, const char *path)
{
    if (walk->n_folders == walk->size_folders) {
        walk->size_folders = walk->size_folders > 0 ? 2 * walk->size_folders : FIRST_FOLDERS;
        walk->folders = mem_resize(walk->folders, walk->size_folders * sizeof(*walk->folders));
    }
    walk->folders[walk->n_folders++] = mem_dup_text(path);
}

static void walk_done(struct walk *walk)
{
    while (walk->n_folders > 0)
        mem_free(walk->folders[--walk->n_folders]);
    mem_free(walk->folders);
    fd_close(&walk->root);
}

static size_t depth_of(const char *path)
{
    size_t n = 0;

    for (; *path != '\0'; path++)
        n += *path == '/';
    return n;
}

static uint32_t mode_of(const struct stat *info)
{
    if (S_ISLNK(info->st_mode))
        return FILE_MODE_LINK;
    return (info->st_mode & S_IXUSR) != 0 ? FILE_MODE_PROGRAM : FILE_MODE_PLAIN;
}

static int add_entry(struct walk *walk, const char *path, const struct stat *info,
                     struct error *err)
{
    struct listed_file *file = NULL;

    if (S_ISDIR(info->st_mode)) {
        if (info->st_dev != walk->device || depth_of(path) + 1 >= FILE_DEPTH_MAX)
            skip(walk->snapshot, path, "not on the same file system, or too deep");
        else
            push_folder(walk, path);
        return 0;
    }
    if (!S_ISREG(info->st_mode) && !S_ISLNK(info->st_mode))
        return 0;
    if (info->st_size > OBJECT_MAX_BYTES) {
        skip(walk->snapshot, path, "too large");
        return 0;
    }
    if (file_list_add(&walk->snapshot->files, path, mode_of(info), &file, err) < 0)
        return -1;
    file->state = file_state_of(info);
    return 0;
}

static int look_at(struct walk *walk, int folder, const char *above, const char *name,
                   struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat info;

    if (++walk->n_entries > ENTRIES_MAX)
        return error_set(err, ERROR_TOO_LARGE, "More than %d entries of folders", ENTRIES_MAX);
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
        left_out(name, S_ISDIR(info.st_mode)))
        return 0;
    strbuf_appendf(&path, "%s%s%s", above, above[0] != '\0' ? "/" : "", name);
    if (path.len > FILE_PATH_MAX_BYTES) {
        skip(walk->snapshot, name, "its path is too long");
        return 0;
    }
    return add_entry(walk, path.text, &info, err);
}

static bool is_itself_or_parent(const char *name)
{
    return text_equal(name, ".") || text_equal(name, "..");
}

/* A folder: its stream, and the descriptor that the stream reads from. */
static int read_entries(struct walk *walk, DIR *entries, int fd, const char *path,
                        struct error *err)
{
    const struct dirent *entry = NULL;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's */
    for (entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (!is_itself_or_parent(entry->d_name) && look_at(walk, fd, path, entry->d_name, err) < 0)
            return -1;
    }
    return 0;
}

static int read_folder(struct walk *walk, const char *path, struct error *err)
{
    CLEANUP(fd_close) int parent = -1;
    const char *name = NULL;
    DIR *entries = NULL;
    int rc = 0;
    int fd = -1;

    parent = parent_folder_open(walk->root, path, PARENT_EXISTS, &name);
    fd = openat(parent, name[0] != '\0' ? name : ".",
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (entries == NULL) {
        skip(walk->snapshot, path, "cannot be read");
        fd_close(&fd);
        return 0;
    }
    rc = read_entries(walk, entries, fd, path, err);
    (void)closedir(entries);
    return rc;
}

static int check_time(const struct walk *walk, struct error *err)
{
    if (clock_monotonic_ms() < walk->deadline_ms)
        return 0;
    return error_set(err, ERROR_TIMEOUT, "It took too long");
}

static int find_files(struct walk *walk, struct error *err)
{
    push_folder(walk, "");
    while (walk->n_folders > 0) {
        CLEANUP(mem_freep) char *path = walk->folders[--walk->n_folders];

        if (check_time(walk, err) < 0 || read_folder(walk, path, err) < 0)
            return -1;
    }
    return 0;
}

/* --- contents --- */

static int read_link(const struct walk *walk, const char *path, struct strbuf *out)
{
    CLEANUP(fd_close) int parent = -1;
    const char *name = NULL;
    ssize_t n = 0;

    parent = parent_folder_open(walk->root, path, PARENT_EXISTS, &name);
    strbuf_reserve(out, FILE_PATH_MAX_BYTES + 1);
    n = readlinkat(parent, name, out->text, FILE_PATH_MAX_BYTES + 1);
    if (n < 0 || n > FILE_PATH_MAX_BYTES)
        return -1;
    out->len = (size_t)n;
    out->text[n] = '\0';
    return 0;
}

/* The path may be something else by now: opening a FIFO must not block. */
static int read_plain(const struct walk *walk, struct listed_file *file, struct strbuf *out)
{
    CLEANUP(fd_close) int parent = -1;
    CLEANUP(fd_close) int fd = -1;
    const char *name = NULL;
    struct stat info;
    ssize_t n = 0;

    parent = parent_folder_open(walk->root, file->path, PARENT_EXISTS, &name);
    fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        return -1;
    file->mode = mode_of(&info);
    file->state = file_state_of(&info);
    do {
        strbuf_reserve(out, READ_BYTES);
        n = read(fd, out->text + out->len, READ_BYTES);
        out->len += n > 0 ? (size_t)n : 0;
        out->text[out->len] = '\0';
    } while ((n > 0 && out->len <= OBJECT_MAX_BYTES) || (n < 0 && errno == EINTR));
    return n < 0 || out->len > OBJECT_MAX_BYTES ? -1 : 0;
}

static int store_file(struct walk *walk, struct listed_file *file, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
    int rc = file->mode == FILE_MODE_LINK ? read_link(walk, file->path, &content)
                                          : read_plain(walk, file, &content);

    if (rc < 0) {
        skip(walk->snapshot, file->path, "cannot be read");
        return 0;
    }
    walk->snapshot->n_read++;
    return object_store_write(walk->store, OBJECT_BLOB, &content, &file->id, err);
}

static bool is_unchanged(const struct listed_file *file, const struct listed_file *known)
{
    return known != NULL && known->mode == file->mode && known->state.size == file->state.size &&
           known->state.modified_ns == file->state.modified_ns &&
           known->state.changed_ns == file->state.changed_ns &&
           known->state.inode == file->state.inode;
}

static void forget_unsettled(const struct walk *walk, struct listed_file *file)
{
    if (file->state.changed_ns > walk->began_ns - UNSETTLED_NS ||
        file->state.modified_ns > walk->began_ns - UNSETTLED_NS)
        file->state.size = -1;
}

static int store_contents(struct walk *walk, const struct file_list *known, struct error *err)
{
    struct file_list *files = &walk->snapshot->files;

    for (size_t i = 0; i < files->n; i++) {
        const struct listed_file *before = file_list_find(known, files->items[i].path);

        if (is_unchanged(&files->items[i], before)) {
            files->items[i].id = before->id;
            continue;
        }
        if (check_time(walk, err) < 0 || store_file(walk, &files->items[i], err) < 0)
            return -1;
        forget_unsettled(walk, &files->items[i]);
    }
    return 0;
}

/* --- all of it --- */

/* Also of a checkpoint that took too long: the next one then reads less. */
static void keep_list(struct walk *walk, const char *workspace)
{
    struct error ignored = ERROR_INIT;

    file_list_drop_empty(&walk->snapshot->files);
    file_list_sort(&walk->snapshot->files);
    error_ignore(file_list_save(&walk->snapshot->files, walk->store, workspace, &ignored),
                 "the next checkpoint then reads all files");
}

static int walk_workspace(struct walk *walk, const char *workspace, struct error *err)
{
    CLEANUP(file_list_done) struct file_list known = FILE_LIST_INIT;
    int rc = 0;

    if (find_files(walk, err) < 0)
        return -1;
    file_list_load(&known, walk->store, workspace);
    rc = store_contents(walk, &known, err);
    keep_list(walk, workspace);
    return rc;
}

static int open_root(struct walk *walk, const char *workspace, struct error *err)
{
    struct stat info = {.st_dev = 0};

    walk->root = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (walk->root < 0)
        return errno == ENOENT ? 0 : error_set(err, ERROR_UNAVAILABLE, "open %s: %m", workspace);
    if (fstat(walk->root, &info) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "stat %s: %m", workspace);
    walk->device = info.st_dev;
    return 0;
}

int file_snapshot_take(struct object_store *store, const char *workspace, int64_t deadline_ms,
                       struct file_snapshot *snapshot, struct error *err)
{
    CLEANUP(walk_done) struct walk walk = {.store = store,
                                           .snapshot = snapshot,
                                           .root = -1,
                                           .began_ns = clock_utc_us() * NS_PER_US,
                                           .deadline_ms = deadline_ms};

    snapshot->skipped = json_array();
    if (open_root(&walk, workspace, err) < 0)
        return -1;
    if (walk.root >= 0 && walk_workspace(&walk, workspace, err) < 0)
        return -1;
    return tree_write(store, &snapshot->files, &snapshot->tree, err);
}
