#include "sandbox/git/repository_fetch.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/git/fetch_copy.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/path_scope.h"
#include "sandbox/http/server_request.h"

enum {
    MAX_DEPTH = 8,
    MAX_FILES = 2000,
    MAX_ENTRIES = 20000,
    MAX_TEXT_BYTES = 512 * 1024,
    MAX_ALL_BYTES = 3 * 1024 * 1024,
    MAX_PATH_BYTES = 1024,
    MAX_WAIT_MS = 600000,
};

/* Types of files whose text is returned. */
static const char *const told[] = {".md", ".json", ".yml", ".yaml"};

/* Files found so far. */
struct fetched_files {
    json_t *files;
    size_t n_bytes;
    size_t n_entries;
};

static bool is_told(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
        if (text_ends_with(name, told[i]))
            return true;
    }
    return false;
}

static void add_file(struct fetched_files *found, const char *path, const char *name, off_t size)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    json_t *file = NULL;

    if (json_array_size(found->files) >= MAX_FILES)
        return;
    file = json_object();
    json_put(file, "path", json_text(name, strlen(name)));
    json_put(file, "size_bytes", json_integer(size));
    if (is_told(name) && file_read(path, MAX_TEXT_BYTES, &text, &ignored) == 0 &&
        found->n_bytes + text.len <= MAX_ALL_BYTES) {
        found->n_bytes += text.len;
        json_put(file, "text", json_text(text.text, text.len));
    }
    json_push(found->files, file);
}

static int is_shown(const struct dirent *entry)
{
    return !text_equal(entry->d_name, ".") && !text_equal(entry->d_name, "..") &&
           !text_equal(entry->d_name, ".git");
}

/* Regular files and folders only, no links. */
/* NOLINTNEXTLINE(misc-no-recursion): at most MAX_DEPTH */
static void find_files(struct fetched_files *found, const char *root, const char *below, int depth)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    struct dirent **entries = NULL;
    int n = 0;

    strbuf_appendf(&folder, "%s/%s", root, below);
    n = scandir(folder.text, &entries, is_shown, alphasort);
    for (int i = 0; i < n; i++) {
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        struct stat info = {0};

        strbuf_appendf(&name, "%s%s%s", below, below[0] != '\0' ? "/" : "", entries[i]->d_name);
        strbuf_appendf(&path, "%s/%s", root, name.text);
        if (++found->n_entries <= MAX_ENTRIES && lstat(path.text, &info) == 0) {
            if (S_ISREG(info.st_mode))
                add_file(found, path.text, name.text, info.st_size);
            else if (S_ISDIR(info.st_mode) && depth > 1)
                find_files(found, root, name.text, depth - 1);
        }
        free(entries[i]);
    }
    free(entries);
}

/* Resolves the requested folder of a repository, following every link. */
static int find_part(const char *base, const char *part, struct strbuf *out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf written = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    struct stat info;

    strbuf_appendf(&written, "%s%s%s", base, part[0] != '\0' ? "/" : "", part);
    if (path_scope_resolve(base, &whole, err) < 0 || path_scope_resolve(written.text, out, err) < 0)
        return -1;
    if (!path_scope_contains(whole.text, out->text))
        return error_set(err, ERROR_INVALID, "repo_path leads outside the repository");
    if (lstat(out->text, &info) < 0 || !S_ISDIR(info.st_mode))
        return error_set(err, ERROR_INVALID, "There is no folder %s",
                         part[0] != '\0' ? part : base);
    return 0;
}

/* Adds the files of a folder, reported under `path`. */
static void put_files(json_t *answer, const char *folder, const char *path)
{
    struct fetched_files found = {.files = json_array()};

    find_files(&found, folder, "", MAX_DEPTH);
    json_put_text(answer, "path", path);
    json_put(answer, "files", found.files);
}

static int read_in_place(const char *source, const char *part, json_t *answer, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;

    if (find_part(source, part, &folder, err) < 0)
        return -1;
    put_files(answer, folder.text, folder.text);
    return 0;
}

/* The copy is read before it is moved into place, where another one may replace it at once. */
static int read_copy(const struct fetch_copy *copy, const char *part, json_t *answer,
                     struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf fresh = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf commit = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (fetch_copy_make(copy, &fresh, &commit, err) < 0)
        return -1;
    if (find_part(fresh.text, part, &folder, err) < 0) {
        fetch_copy_drop(fresh.text);
        return -1;
    }
    strbuf_appendf(&path, "%s%s%s", copy->folder, part[0] != '\0' ? "/" : "", part);
    put_files(answer, folder.text, path.text);
    json_put_text(answer, "resolved_ref", commit.text);
    return fetch_copy_place(copy, fresh.text, err);
}

/* A folder of the sandbox is read in place, unless a commit of it is requested. */
static int fetch(const json_t *order, json_t *answer, struct error *err)
{
    const json_t *credentials = json_object_get(order, "credentials");
    const char *part = json_text_or(order, "repo_path", "");
    const struct fetch_copy copy = {
        .source = json_text_or(order, "source", ""),
        .ref = json_text_or(order, "ref", NULL),
        .folder = json_text_or(order, "folder", ""),
        .username = json_text_or(credentials, "username", NULL),
        .password = json_text_or(credentials, "password", NULL),
    };

    if (part[0] == '/' || strlen(part) > MAX_PATH_BYTES)
        return error_set(err, ERROR_INVALID, "repo_path must be a path within the repository");
    if (copy.source[0] == '/' && copy.ref == NULL)
        return read_in_place(copy.source, part, answer, err);
    return read_copy(&copy, part, answer, err);
}

static void work(const struct server_request *request, struct fork_reply *answer)
{
    json_auto_t *order = NULL;
    json_auto_t *body = json_object();
    struct error err = ERROR_INIT;

    if (json_parse(request->body.text, request->body.len, &order, &err) < 0 ||
        fetch(order, body, &err) < 0) {
        if (err.code != ERROR_NOT_FOUND) {
            fork_reply_error(answer, &err);
            return;
        }
        json_object_clear(body);
        json_put_text(body, "unreachable", err.message);
    }
    answer->body = json_incref(body);
}

static int64_t deadline_of(const struct server_request *request)
{
    json_auto_t *order = NULL;
    struct error ignored = ERROR_INIT;
    json_int_t wait_ms = 0;

    error_ignore(json_parse(request->body.text, request->body.len, &order, &ignored),
                 "the work reports the error");
    wait_ms = json_int_or(order, "timeout_ms", FORK_REQUEST_DEADLINE_MS);
    return wait_ms > 0 && wait_ms < MAX_WAIT_MS ? wait_ms : MAX_WAIT_MS;
}

void repository_fetch_handle(struct server_request *request)
{
    fork_request_start(request, &(struct fork_request_spec){.work = work,
                                                            .result = -1,
                                                            .deadline_ms = deadline_of(request)});
}
