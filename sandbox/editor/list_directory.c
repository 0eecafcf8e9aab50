/* The tool list_directory (see text_tools.h). */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/normal_path.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/editor/text_tools.h"

enum { ENTRIES_SHOWN_MAX = 500, ENTRIES_SEEN_MAX = 20000, DEPTH_MAX = 16, TIME_BYTES = 32 };

struct entry {
    char *path;
    struct stat info;
};

struct folder_list {
    struct strbuf path;
    struct entry *entries;
    size_t n;
    bool is_recursive;
};

static void folder_list_done(struct folder_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        mem_free(list->entries[i].path);
    mem_free(list->entries);
    strbuf_done(&list->path);
}

static void list_folder(struct folder_list *list, int fd, int depth);

/* Hidden folders are listed, but not entered. */
static void take_entry(struct folder_list *list, int folder_fd, const char *name, int depth)
{
    struct stat info;
    int fd = -1;

    if (fstatat(folder_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    list->entries[list->n++] = (struct entry){mem_dup_text(list->path.text), info};
    if (!list->is_recursive || !S_ISDIR(info.st_mode) || name[0] == '.' || depth == DEPTH_MAX)
        return;
    fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        list_folder(list, fd, depth + 1);
}

/* Closes fd, which the stream reads from. */
static void list_folder(struct folder_list *list, int fd, int depth)
{
    DIR *stream = fdopendir(fd);
    const struct dirent *entry = NULL;
    size_t len = list->path.len;

    if (stream == NULL) {
        (void)close(fd);
        return;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, and the stream is ours */
    while (list->n < ENTRIES_SEEN_MAX && (entry = readdir(stream)) != NULL) {
        if (text_equal(entry->d_name, ".") || text_equal(entry->d_name, ".."))
            continue;
        if (!text_ends_with(list->path.text, "/"))
            strbuf_append_char(&list->path, '/');
        strbuf_append(&list->path, entry->d_name);
        take_entry(list, fd, entry->d_name, depth);
        strbuf_truncate(&list->path, len);
    }
    (void)closedir(stream);
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static json_t *entry_to_json(const struct entry *entry)
{
    json_t *json = json_object();
    char changed[TIME_BYTES] = "";
    struct tm parts;

    if (gmtime_r(&entry->info.st_mtim.tv_sec, &parts) != NULL)
        (void)strftime(changed, sizeof(changed), "%Y-%m-%dT%H:%M:%S", &parts);
    json_put_text(json, "name", strrchr(entry->path, '/') + 1);
    json_put_text(json, "path", entry->path);
    json_put(json, "is_directory", json_boolean(S_ISDIR(entry->info.st_mode)));
    json_put(json, "size", json_integer(entry->info.st_size));
    json_put_text(json, "modified_time", changed);
    return json;
}

static void tell_entries(const struct folder_list *list, json_t *facts, struct strbuf *words)
{
    json_t *entries = json_array();
    size_t root_len = list->path.len + !text_ends_with(list->path.text, "/");

    strbuf_appendf(words, "%zu entries in %s:", list->n, list->path.text);
    for (size_t i = 0; i < list->n && i < ENTRIES_SHOWN_MAX; i++) {
        const struct entry *entry = &list->entries[i];

        json_push(entries, entry_to_json(entry));
        if (S_ISDIR(entry->info.st_mode))
            strbuf_appendf(words, "\n%s/", entry->path + root_len);
        else
            strbuf_appendf(words, "\n%s (%lld bytes)", entry->path + root_len,
                           (long long)entry->info.st_size);
    }
    if (list->n > ENTRIES_SHOWN_MAX)
        strbuf_appendf(words, "\n[%zu more are not listed.]", list->n - ENTRIES_SHOWN_MAX);
    json_put(facts, "entries", entries);
    json_put(facts, "total_count", json_integer((json_int_t)list->n));
    json_put(facts, "is_truncated", json_boolean(list->n > ENTRIES_SHOWN_MAX));
}

int list_directory_tool_run(const json_t *args, const char *working_dir, json_t *facts,
                            struct strbuf *words, struct error *err)
{
    CLEANUP(folder_list_done) struct folder_list list = {
        .path = STRBUF_INIT,
        .entries = mem_alloc_array(ENTRIES_SEEN_MAX, sizeof(struct entry)),
        .is_recursive = json_bool_or(args, "recursive", 0) != 0};
    int fd = -1;

    normal_path_append_absolute(&list.path, working_dir, json_text_or(args, "dir_path", "."));
    json_put_text(facts, "dir_path", list.path.text);
    fd = open(list.path.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, ERROR_INVALID, "The directory %s cannot be listed: %m.",
                         list.path.text);
    list_folder(&list, fd, 0);
    if (list.n > 0)
        qsort(list.entries, list.n, sizeof(*list.entries), compare);
    tell_entries(&list, facts, words);
    return 0;
}
