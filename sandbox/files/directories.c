/*
 * Routes that list, search and create directories.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/textfile.h"
#include "sandbox/files/files.h"
#include "sandbox/http/file_path.h"
#include "sandbox/http/server_request.h"
#include "sandbox/http/validation.h"

enum { MAX_NAMES = 20000, PAGE_DEFAULT = 100, PAGE_MAX = 100 };

struct names {
    char **items;
    size_t n;
};

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        mem_free(names->items[i]);
    mem_free(names->items);
}

/* Case-insensitively; equal names by exact comparison. */
static int compare_names(const char *a, const char *b)
{
    int order = strcasecmp(a, b);

    return order != 0 ? order : strcmp(a, b);
}

static int compare_items(const void *a, const void *b)
{
    return compare_names(*(char *const *)a, *(char *const *)b);
}

static void append_child_path(struct strbuf *path, const char *dir, const char *name)
{
    strbuf_append(path, dir);
    if (!text_ends_with(dir, "/"))
        strbuf_append_char(path, '/');
    strbuf_append(path, name);
}

static bool is_subdirectory(const char *dir, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat info;

    append_child_path(&path, dir, name);
    return stat(path.text, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_true(const char *text)
{
    return text != NULL && (text_equal_nocase(text, "true") || text_equal(text, "1"));
}

static int read_names(const char *path, bool with_hidden, struct names *names, struct error *err)
{
    DIR *dir = opendir(path);
    const struct dirent *entry = NULL;

    if (dir == NULL && errno == ENOENT)
        return error_set(err, ERROR_NOT_FOUND, "Path not found");
    if (dir == NULL && errno == ENOTDIR)
        return error_set(err, ERROR_INVALID, "Path is not a directory");
    if (dir == NULL)
        return error_set(err, ERROR_FORBIDDEN, "Permission denied");
    names->items = mem_alloc_array(MAX_NAMES, sizeof(char *));
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, and the stream is ours */
    for (entry = readdir(dir); entry != NULL && names->n < MAX_NAMES; entry = readdir(dir)) {
        const char *name = entry->d_name;

        if (text_equal(name, ".") || text_equal(name, "..") || (name[0] == '.' && !with_hidden))
            continue;
        if (utf8_is_valid(name, strlen(name)) && is_subdirectory(path, name))
            names->items[names->n++] = mem_dup_text(name);
    }
    (void)closedir(dir);
    qsort(names->items, names->n, sizeof(*names->items), compare_items);
    return 0;
}

/* The first name of a page: that name, or (old clients send lower case) the first not before it. */
static size_t find_page(const struct names *names, const char *page_id)
{
    size_t at = 0;

    for (size_t i = 0; i < names->n; i++) {
        if (text_equal(names->items[i], page_id))
            return i;
    }
    while (at < names->n && strcasecmp(names->items[at], page_id) < 0)
        at++;
    return at;
}

static json_t *named_path(const char *key, const char *name, const char *path)
{
    json_t *item = json_object();

    json_put_text(item, key, name);
    json_put_text(item, "path", path);
    return item;
}

static void answer_page(struct server_request *request, const char *path, const struct names *names,
                        size_t limit)
{
    json_auto_t *body = json_object();
    json_t *items = json_array();
    const char *page_id = server_request_query(request, "page_id");
    size_t at = page_id != NULL ? find_page(names, page_id) : 0;
    size_t end = names->n - at > limit ? at + limit : names->n;

    for (size_t i = at; i < end; i++) {
        CLEANUP(strbuf_done) struct strbuf child = STRBUF_INIT;

        append_child_path(&child, path, names->items[i]);
        json_push(items, named_path("name", names->items[i], child.text));
    }
    json_put(body, "items", items);
    json_put(body, "next_page_id", end < names->n ? json_text_of(names->items[end]) : json_null());
    server_request_answer_json(request, 200, body);
}

static int read_limit(const struct server_request *request, int64_t *limit_out, struct error *err)
{
    const char *limit = server_request_query(request, "limit");

    *limit_out = PAGE_DEFAULT;
    if (limit == NULL)
        return 0;
    return text_parse_int(limit, 1, PAGE_MAX, limit_out, err);
}

static int search(struct server_request *request, struct error *err)
{
    CLEANUP(names_done) struct names names = {NULL, 0};
    CLEANUP(mem_freep) char *path = NULL;
    int64_t limit = 0;

    if (read_limit(request, &limit, err) < 0 || file_path_read(request, &path, err) < 0)
        return -1;
    if (read_names(path, is_true(server_request_query(request, "include_hidden")), &names, err) < 0)
        return -1;
    answer_page(request, path, &names, (size_t)limit);
    return 0;
}

void files_handle_search(struct server_request *request)
{
    struct error err = ERROR_INIT;

    if (server_request_query(request, "path") == NULL)
        validation_answer(request, "missing", "query", "path", "Field required");
    else if (search(request, &err) < 0)
        server_request_answer_error(request, &err);
}

static int create_directory(const struct server_request *request, struct error *err)
{
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(strbuf_done) struct strbuf inside = STRBUF_INIT;
    struct stat info;

    if (file_path_read(request, &path, err) < 0)
        return -1;
    strbuf_appendf(&inside, "%s/", path);
    if (textfile_make_parents(inside.text, err) < 0) {
        if (err->code == ERROR_FORBIDDEN)
            return error_set(err, ERROR_FORBIDDEN, "Permission denied");
        if (err->code == ERROR_INVALID)
            return error_set(err, ERROR_INVALID, "Path is not a directory");
        return -1;
    }
    if (stat(path, &info) < 0 || !S_ISDIR(info.st_mode))
        return error_set(err, ERROR_INVALID, "Path is not a directory");
    return 0;
}

void files_handle_create_directory(struct server_request *request)
{
    json_auto_t *body = json_object();
    struct error err = ERROR_INIT;

    if (server_request_query(request, "path") == NULL) {
        validation_answer(request, "missing", "query", "path", "Field required");
        return;
    }
    if (create_directory(request, &err) < 0) {
        server_request_answer_error(request, &err);
        return;
    }
    json_put(body, "success", json_true());
    server_request_answer_json(request, 200, body);
}

/*
 * The home to which clients append `workspace/project` to get a conversation's folder: a workspace
 * that already ends so is cut, else the suffix would appear twice.
 */
static void append_home(const char *workspace, struct strbuf *out)
{
    static const char below[] = "/workspace/project";

    strbuf_append(out, workspace);
    if (text_ends_with(workspace, below))
        strbuf_truncate(out, out->len - strlen(below));
    if (out->len == 0)
        strbuf_append_char(out, '/');
}

void files_handle_home(struct server_request *request)
{
    CLEANUP(strbuf_done) struct strbuf home = STRBUF_INIT;
    json_auto_t *body = json_object();
    json_t *favorites = json_array();
    json_t *locations = json_array();
    const char *workspace = request->server->config->workspace;

    append_home(workspace, &home);
    json_put_text(body, "home", home.text);
    json_push(favorites, named_path("label", "Workspace", workspace));
    json_push(locations, named_path("label", "/", "/"));
    json_put(body, "favorites", favorites);
    json_put(body, "locations", locations);
    server_request_answer_json(request, 200, body);
}
