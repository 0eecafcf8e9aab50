#include "sandbox/http/path_scope.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/http/server_request.h"

enum { MAX_LINKS = 40 };

/* A walk along a path: the resolved part and the rest. */
struct path_walk {
    struct strbuf done; /* "" is the root */
    struct strbuf rest;
    int n_links;
};

static void path_walk_done(struct path_walk *walk)
{
    strbuf_done(&walk->done);
    strbuf_done(&walk->rest);
}

static void drop_last(struct strbuf *path)
{
    size_t len = path->len;

    while (len > 0 && path->text[len - 1] != '/')
        len--;
    strbuf_truncate(path, len > 0 ? len - 1 : 0);
}

/* Puts a link's target before the rest; an absolute one starts over at the root. */
static int follow(struct path_walk *walk, const char *target, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf rest = STRBUF_INIT;

    if (++walk->n_links > MAX_LINKS)
        return error_set(err, ERROR_INVALID, "Path has too many symbolic links");
    strbuf_appendf(&rest, "%s/%s", target, walk->rest.text);
    if (target[0] == '/')
        strbuf_reset(&walk->done);
    else
        drop_last(&walk->done);
    strbuf_done(&walk->rest);
    walk->rest = rest;
    rest = (struct strbuf)STRBUF_INIT;
    return 0;
}

/* Resolves one name of the path. */
static int take_name(struct path_walk *walk, const char *name, size_t len, struct error *err)
{
    char target[PATH_MAX + 1];
    ssize_t n = 0;

    if (len == 0 || (len == 1 && name[0] == '.'))
        return 0;
    if (len == 2 && strncmp(name, "..", 2) == 0) {
        drop_last(&walk->done);
        return 0;
    }
    strbuf_append_char(&walk->done, '/');
    strbuf_append_bytes(&walk->done, name, len);
    n = readlink(walk->done.text, target, PATH_MAX);
    if (n <= 0)
        return 0;
    target[n] = '\0';
    return follow(walk, target, err);
}

int path_scope_resolve(const char *path, struct strbuf *out, struct error *err)
{
    CLEANUP(path_walk_done) struct path_walk walk = {STRBUF_INIT, STRBUF_INIT, 0};

    if (path[0] != '/')
        return error_set(err, ERROR_INVALID, "Path must be absolute");
    strbuf_append(&walk.rest, path);
    while (walk.rest.len > 0) {
        size_t len = strcspn(walk.rest.text, "/");
        CLEANUP(mem_freep) char *name = mem_dup_bytes(walk.rest.text, len);

        strbuf_remove_head(&walk.rest, len < walk.rest.len ? len + 1 : len);
        if (take_name(&walk, name, len, err) < 0)
            return -1;
    }
    strbuf_append(out, walk.done.len > 0 ? walk.done.text : "/");
    return 0;
}

bool path_scope_contains(const char *folder, const char *path)
{
    CLEANUP(strbuf_done) struct strbuf root = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    if (path_scope_resolve(folder, &root, &ignored) < 0 ||
        path_scope_resolve(path, &plain, &ignored) < 0)
        return false;
    if (text_equal(root.text, "/") || text_equal(root.text, plain.text))
        return true;
    return text_starts_with(plain.text, root.text) && plain.text[root.len] == '/';
}

/* The folder that the request is limited to; NULL: any. The caller frees. */
static char *wanted_folder(const struct server_request *request)
{
    CLEANUP(mem_freep) char *header = server_request_header(request, "x-deft-inside");
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;

    if (header == NULL)
        return NULL;
    percent_decode(&folder, header, strlen(header), '+');
    return strbuf_take(&folder);
}

static struct server_request_pair *find_path(struct server_request *request)
{
    for (size_t i = 0; i < request->n_query; i++) {
        if (text_equal(request->query[i].name, "path"))
            return &request->query[i];
    }
    return NULL;
}

bool path_scope_check(struct server_request *request)
{
    CLEANUP(mem_freep) char *folder = wanted_folder(request);
    CLEANUP(strbuf_done) struct strbuf resolved = STRBUF_INIT;
    struct server_request_pair *path = find_path(request);
    struct error ignored = ERROR_INIT;

    if (folder == NULL || path == NULL)
        return true;
    if (!path_scope_contains(folder, path->value) ||
        path_scope_resolve(path->value, &resolved, &ignored) < 0) {
        server_request_answer_detail(request, 422,
                                     "path must be inside the conversation workspace");
        return false;
    }
    /* A trailing slash marks a directory. */
    if (text_ends_with(path->value, "/") && !text_ends_with(resolved.text, "/"))
        strbuf_append_char(&resolved, '/');
    mem_free(path->value);
    path->value = strbuf_take(&resolved);
    return true;
}

bool path_scope_allows(const struct server_request *request, const char *path)
{
    CLEANUP(mem_freep) char *wanted = wanted_folder(request);

    return wanted == NULL || path_scope_contains(wanted, path);
}

bool path_scope_check_folder(struct server_request *request, const char *folder)
{
    if (path_scope_allows(request, folder))
        return true;
    server_request_answer_detail(request, 422, "cwd must be inside the conversation workspace");
    return false;
}
