#include "sandbox/search/file_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"

enum {
    ENTRIES_MAX = 500000,
    DEPTH_MAX = 64,
    ENTRIES_PER_CLOCK = 256, /* between two looks at the clock */
    NS_PER_S = 1000000000,
};

/* Folders of what is installed or built, which nobody means. */
static const char *const skipped_folders[] = {"node_modules", "__pycache__"};

/* A walk on its way: the path up to here, of which root_len bytes are the folder itself. */
struct walker {
    struct file_walk *walk;
    struct strbuf path;
    size_t root_len;
};

static bool is_skipped(const char *name)
{
    if (name[0] == '.')
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(skipped_folders); i++) {
        if (text_equal(name, skipped_folders[i]))
            return true;
    }
    return false;
}

static bool is_over(struct file_walk *walk)
{
    if (!walk->is_cut && walk->n_entries % ENTRIES_PER_CLOCK == 0)
        walk->is_cut = clock_monotonic_ms() >= walk->until_ms;
    walk->is_cut = walk->is_cut || walk->n_entries >= ENTRIES_MAX;
    return walk->is_cut;
}

static void tell_file(struct walker *walker, const struct stat *info)
{
    const struct walked_file file = {
        .path = walker->path.text,
        .relative = walker->path.text + walker->root_len,
        .size = info->st_size,
        .changed_ns = (int64_t)info->st_mtim.tv_sec * NS_PER_S + info->st_mtim.tv_nsec,
    };

    walker->walk->found(walker->walk->owner, &file);
}

static void walk_folder(struct walker *walker, int fd, int depth);

static void take_entry(struct walker *walker, int folder_fd, const char *name, int depth)
{
    struct stat info;
    int fd = -1;

    if (fstatat(folder_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (S_ISREG(info.st_mode)) {
        tell_file(walker, &info);
        return;
    }
    if (!S_ISDIR(info.st_mode))
        return;
    walker->walk->is_cut = walker->walk->is_cut || depth == DEPTH_MAX;
    if (depth == DEPTH_MAX)
        return;
    fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        walk_folder(walker, fd, depth + 1);
}

/* Closes fd, which the stream reads from. */
static void walk_folder(struct walker *walker, int fd, int depth)
{
    DIR *stream = fdopendir(fd);
    const struct dirent *entry = NULL;
    size_t len = walker->path.len;

    if (stream == NULL) {
        (void)close(fd);
        return;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, and the stream is ours */
    while (!is_over(walker->walk) && (entry = readdir(stream)) != NULL) {
        walker->walk->n_entries++;
        if (is_skipped(entry->d_name))
            continue;
        strbuf_append_char(&walker->path, '/');
        strbuf_append(&walker->path, entry->d_name);
        take_entry(walker, fd, entry->d_name, depth);
        strbuf_truncate(&walker->path, len);
    }
    (void)closedir(stream);
}

int file_walk_run(struct file_walk *walk, const char *folder, struct error *err)
{
    struct walker walker = {.walk = walk, .path = STRBUF_INIT};
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return error_set(err, ERROR_INVALID, "The search path %s cannot be searched: %m.", folder);
    strbuf_append(&walker.path, folder);
    while (walker.path.len > 0 && walker.path.text[walker.path.len - 1] == '/')
        strbuf_truncate(&walker.path, walker.path.len - 1);
    walker.root_len = walker.path.len + 1;
    walk_folder(&walker, fd, 0);
    strbuf_done(&walker.path);
    return 0;
}
