#include "sandbox/files/project_files.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/child_process.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/server_request.h"

enum {
    MAX_PLACES = 64,
    MAX_DEPTH = 4,
    MAX_FILES = 500,
    MAX_FILE_BYTES = 512 * 1024,
    MAX_ALL_BYTES = 8 * 1024 * 1024,
    MAX_ENTRIES = 10000,
};

/* Files collected so far. */
struct found_files {
    json_t *files;
    size_t n_bytes;
    size_t n_entries;
};

/* A search: files that match one of the names, at most `depth` folders deep. */
struct file_search {
    json_int_t place;
    const json_t *names;
    int depth;
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

/* A file that is too large, or cannot be read, is left out. */
static void take_file(struct found_files *found, const struct file_search *search, const char *path)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    json_t *file = NULL;

    if (json_array_size(found->files) >= MAX_FILES ||
        file_read(path, MAX_FILE_BYTES, &text, &ignored) < 0 ||
        found->n_bytes + text.len > MAX_ALL_BYTES)
        return;
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
                          const char *folder);

static void take_entry(struct found_files *found, const struct file_search *search,
                       const char *folder, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat info;

    strbuf_appendf(&path, "%s/%s", folder, name);
    if (++found->n_entries > MAX_ENTRIES || stat(path.text, &info) < 0)
        return;
    if (S_ISREG(info.st_mode) && fits(search, name)) {
        take_file(found, search, path.text);
    } else if (S_ISDIR(info.st_mode) && search->depth > 1) {
        struct file_search deeper = *search;

        deeper.depth--;
        search_folder(found, &deeper, path.text);
    }
}

/* Down to MAX_DEPTH, in alphabetical order. */
/* NOLINTNEXTLINE(misc-no-recursion): at most MAX_DEPTH */
static void search_folder(struct found_files *found, const struct file_search *search,
                          const char *folder)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, is_shown, alphasort);

    for (int i = 0; i < n; i++) {
        take_entry(found, search, folder, entries[i]->d_name);
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

/* The nearest folder at or above this one that contains a .git; "" when there is none. */
static void find_root(const char *folder, struct strbuf *root)
{
    CLEANUP(strbuf_done) struct strbuf mark = STRBUF_INIT;
    struct stat info;

    strbuf_append(root, folder);
    while (root->len > 0) {
        strbuf_reset(&mark);
        strbuf_appendf(&mark, "%s/.git", root->text);
        if (lstat(mark.text, &info) == 0)
            return;
        while (root->len > 0 && root->text[root->len - 1] != '/')
            strbuf_truncate(root, root->len - 1);
        strbuf_truncate(root, root->len > 0 ? root->len - 1 : 0);
    }
}

static void search_below(struct found_files *found, const struct file_search *search,
                         const char *folder, const char *sub)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s%s%s", folder, sub[0] != '\0' ? "/" : "", sub);
    search_folder(found, search, path.text);
}

/* {"folder": "~" or absolute, "sub", "names", "depth", "with_root"}: the root comes first. */
static void search_place(struct found_files *found, const json_t *place, json_int_t number,
                         const char *home)
{
    CLEANUP(strbuf_done) struct strbuf root = STRBUF_INIT;
    const struct file_search search = {.place = number,
                                       .names = json_object_get(place, "names"),
                                       .depth = (int)json_int_or(place, "depth", 1) < MAX_DEPTH
                                                    ? (int)json_int_or(place, "depth", 1)
                                                    : MAX_DEPTH};
    const char *folder = json_text_or(place, "folder", "");
    const char *sub = json_text_or(place, "sub", "");

    if (text_equal(folder, "~"))
        folder = home;
    if (folder[0] != '/')
        return;
    if (json_bool_or(place, "with_root", 0)) {
        find_root(folder, &root);
        if (root.len > 0 && !text_equal(root.text, folder))
            search_below(found, &search, root.text, sub);
    }
    search_below(found, &search, folder, sub);
}

static void work(const struct server_request *request, struct fork_reply *answer)
{
    struct found_files found = {.files = json_array()};
    char **environment =
        child_process_environment_new(CHILD_PROCESS_TERMINAL, request->server->config->workspace);
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;
    const json_t *places = NULL;
    const json_t *place = NULL;
    size_t i = 0;

    error_ignore(json_parse(request->body.text, request->body.len, &body, &err), "checked below");
    places = json_object_get(body, "places");
    if (!json_is_array(places) || json_array_size(places) > MAX_PLACES) {
        error_set(&err, ERROR_INVALID, "places must be a list");
        fork_reply_error(answer, &err);
        return;
    }
    json_array_foreach (places, i, place)
        search_place(&found, place, (json_int_t)i, home_of(environment));
    answer->body = json_object();
    json_put(answer->body, "files", found.files);
    child_process_environment_free(environment);
}

void project_files_handle(struct server_request *request)
{
    fork_request_start(request, &(struct fork_request_spec){.work = work, .result = -1});
}
