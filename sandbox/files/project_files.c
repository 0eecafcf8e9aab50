#include "sandbox/files/project_files.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/plugins/project_files.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/child_process.h"
#include "sandbox/files/project_roots.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/server_request.h"

enum {
    MAX_PLACES = 64,
    MAX_DEPTH = 4,
    MAX_ENTRIES = 10000,
};

/* Folders of other people's code. */
static const char *const foreign_folders[] = {"node_modules", "vendor", "venv", "target"};

/* A file of a place: several names may lead to it. */
struct taken_file {
    json_int_t place;
    dev_t device;
    ino_t number;
};

/* Files collected so far. */
struct found_files {
    json_t *files;
    json_t *skipped; /* {"path","reason"} */
    struct taken_file taken[PROJECT_FILES_MAX];
    size_t n_taken;
    size_t n_bytes;
    size_t n_entries;
};

/* A search: files that match one of the names, at most `depth` folders deep. */
struct file_search {
    json_int_t place;
    const json_t *names;
    int depth;
    bool is_beneath; /* no files of the first folder, nothing below hidden and foreign folders */
};

static bool fits(const struct file_search *search, const char *name)
{
    const json_t *pattern = NULL;
    size_t i = 0;

    json_array_foreach (search->names, i, pattern) {
        if (json_is_string(pattern) && fnmatch(json_string_value(pattern), name, FNM_CASEFOLD) == 0)
            return true;
    }
    return false;
}

static void skip_file(struct found_files *found, const char *path, const char *reason)
{
    json_t *file = NULL;

    if (json_array_size(found->skipped) >= PROJECT_FILES_SKIPPED_MAX)
        return;
    file = json_object();
    json_put_text(file, "path", path);
    json_put_text(file, "reason", reason);
    json_push(found->skipped, file);
}

/* False for a file that a place has under another name, too. */
static bool is_new(struct found_files *found, const struct file_search *search,
                   const struct stat *info)
{
    for (size_t i = 0; i < found->n_taken; i++) {
        const struct taken_file *taken = &found->taken[i];

        if (taken->place == search->place && taken->device == info->st_dev &&
            taken->number == info->st_ino)
            return false;
    }
    found->taken[found->n_taken++] = (struct taken_file){search->place, info->st_dev, info->st_ino};
    return true;
}

static void take_file(struct found_files *found, const struct file_search *search, const char *path,
                      const struct stat *info)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_t *file = NULL;

    if (found->n_taken >= PROJECT_FILES_MAX) {
        skip_file(found, path, "there are too many files");
        return;
    }
    if (!is_new(found, search, info))
        return;
    if (file_read(path, PROJECT_FILE_MAX_BYTES, &text, &err) < 0) {
        skip_file(found, path,
                  err.code == ERROR_TOO_LARGE ? "it is too large" : "it cannot be read");
        return;
    }
    if (found->n_bytes + text.len > PROJECT_FILES_MAX_BYTES) {
        skip_file(found, path, "the files are too large together");
        return;
    }
    found->n_bytes += text.len;
    file = json_object();
    json_put(file, "place", json_integer(search->place));
    json_put_text(file, "path", path);
    json_put(file, "text", json_text(text.text, text.len));
    json_push(found->files, file);
}

static int is_shown(const struct dirent *entry)
{
    return !text_equal(entry->d_name, ".") && !text_equal(entry->d_name, "..");
}

static void search_folder(struct found_files *found, const struct file_search *search,
                          const char *folder, bool is_first);

static bool is_searched(const struct file_search *search, const char *name)
{
    if (!search->is_beneath)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(foreign_folders); i++) {
        if (text_equal(foreign_folders[i], name))
            return false;
    }
    return name[0] != '.';
}

static void take_entry(struct found_files *found, const struct file_search *search,
                       const char *folder, const struct dirent *entry, bool is_first)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    const char *name = entry->d_name;
    struct stat info;

    if (++found->n_entries > MAX_ENTRIES || (entry->d_type == DT_REG && !fits(search, name)))
        return;
    strbuf_appendf(&path, "%s/%s", folder, name);
    if (stat(path.text, &info) < 0)
        return;
    if (S_ISREG(info.st_mode) && fits(search, name)) {
        if (!search->is_beneath || !is_first)
            take_file(found, search, path.text, &info);
    } else if (S_ISDIR(info.st_mode) && search->depth > 1 && is_searched(search, name)) {
        struct file_search deeper = *search;

        deeper.depth--;
        search_folder(found, &deeper, path.text, false);
    }
}

/* Down to MAX_DEPTH, in alphabetical order. */
/* NOLINTNEXTLINE(misc-no-recursion): at most MAX_DEPTH */
static void search_folder(struct found_files *found, const struct file_search *search,
                          const char *folder, bool is_first)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, is_shown, alphasort);

    for (int i = 0; i < n; i++) {
        take_entry(found, search, folder, entries[i], is_first);
        free(entries[i]);
    }
    free(entries);
}

static const char *home_of(char *const *environment)
{
    for (; *environment != NULL; environment++) {
        if (text_starts_with(*environment, "HOME="))
            return *environment + strlen("HOME=");
    }
    return "/";
}

static void search_below(struct found_files *found, const struct file_search *search,
                         const char *folder, const char *sub)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s%s%s", folder, sub[0] != '\0' ? "/" : "", sub);
    search_folder(found, search, path.text, true);
}

static struct file_search search_of(const json_t *place, json_int_t number)
{
    json_int_t depth = json_int_or(place, "depth", 1);

    return (struct file_search){.place = number,
                                .names = json_object_get(place, "names"),
                                .depth = depth < MAX_DEPTH ? (int)depth : MAX_DEPTH,
                                .is_beneath = json_bool_or(place, "is_beneath", 0) != 0};
}

/*
 * {"folder": "~" or absolute, "sub", "names", "depth", "with_root", "with_clone", "is_beneath"}:
 * the root comes first, a clone last.
 */
static void search_place(struct found_files *found, const json_t *place, json_int_t number,
                         const char *home)
{
    CLEANUP(strbuf_done) struct strbuf root = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf clone = STRBUF_INIT;
    const struct file_search search = search_of(place, number);
    const char *folder = json_text_or(place, "folder", "");
    const char *sub = json_text_or(place, "sub", "");
    bool is_root = false;

    if (text_equal(folder, "~"))
        folder = home;
    if (folder[0] != '/')
        return;
    project_root_find(folder, &root);
    is_root = root.len == 0 || text_equal(root.text, folder);
    if (!is_root && json_bool_or(place, "with_root", 0))
        search_below(found, &search, root.text, sub);
    /* Below the root is all that is below the folder. */
    if (is_root || !search.is_beneath)
        search_below(found, &search, folder, sub);
    if (json_bool_or(place, "with_clone", 0))
        project_clone_find(folder, &clone);
    if (clone.len > 0)
        search_below(found, &search, clone.text, sub);
}

static void search_places(struct found_files *found, const json_t *places, const char *workspace)
{
    char **environment = child_process_environment_new(CHILD_PROCESS_TERMINAL, workspace);
    const json_t *place = NULL;
    size_t i = 0;

    json_array_foreach (places, i, place)
        search_place(found, place, (json_int_t)i, home_of(environment));
    child_process_environment_free(environment);
}

static void work(const struct server_request *request, struct fork_reply *answer)
{
    struct found_files found = {.files = json_array(), .skipped = json_array()};
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;
    const json_t *places = NULL;
    const char *folder = NULL;

    error_ignore(json_parse(request->body.text, request->body.len, &body, &err), "checked below");
    places = json_object_get(body, "places");
    if (!json_is_array(places) || json_array_size(places) > MAX_PLACES) {
        error_set(&err, ERROR_INVALID, "places must be a list");
        fork_reply_error(answer, &err);
        return;
    }
    search_places(&found, places, request->server->config->workspace);
    answer->body = json_object();
    json_put(answer->body, "files", found.files);
    json_put(answer->body, "skipped", found.skipped);
    folder = json_text_or(body, "summary_of", "");
    if (folder[0] == '/')
        json_put(answer->body, "summary", project_summary(folder));
}

void project_files_handle(struct server_request *request)
{
    fork_request_start(request, &(struct fork_request_spec){.work = work, .result = -1});
}
