#include "sandbox/git/git_diff.h"

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
#include "sandbox/git/git.h"
#include "sandbox/http/file_path.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/server_request.h"
#include "sandbox/http/validation.h"

enum { MAX_TEXT_BYTES = 1024 * 1024 };

/* Splits a path into its nearest existing folder and the rest. */
static void split_path(const char *path, struct strbuf *folder, struct strbuf *rest)
{
    struct stat info;

    strbuf_append(folder, path);
    do {
        size_t len = folder->len;

        while (len > 0 && folder->text[len - 1] != '/')
            len--;
        strbuf_truncate(folder, len > 1 ? len - 1 : len);
    } while (folder->len > 1 && (stat(folder->text, &info) < 0 || !S_ISDIR(info.st_mode)));
    strbuf_append(rest, path + folder->len + (folder->len > 1));
}

/* A text as clients compare it: without its final newline. */
static json_t *shown_text(const struct strbuf *text)
{
    size_t len = text->len;

    if (len > 0 && text->text[len - 1] == '\n')
        len--;
    return json_text(text->text, len);
}

static bool is_in_commit(const struct git *git, const char *commit, const char *path)
{
    CLEANUP(strbuf_done) struct strbuf object = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf kind = STRBUF_INIT;

    strbuf_appendf(&object, "%s:%s", commit, path);
    return git_ask(git, GIT_ARGS("cat-file", "-t", object.text), &kind) &&
           text_equal(kind.text, "blob");
}

/* The file in a commit; "" when it does not exist there. */
static int read_version(const struct git *git, const char *commit, const char *path,
                        struct strbuf *text, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf object = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf size = STRBUF_INIT;

    if (!is_in_commit(git, commit, path))
        return 0;
    strbuf_appendf(&object, "%s:%s", commit, path);
    if (git_ask(git, GIT_ARGS("cat-file", "-s", object.text), &size) &&
        strtoll(size.text, NULL, 10) > MAX_TEXT_BYTES)
        return error_set(err, ERROR_INVALID, "The file is too large to be shown");
    return git_run(git, GIT_ARGS("cat-file", "blob", object.text), text, err);
}

static bool is_there(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0;
}

static int say_missing(const char *path, struct error *err)
{
    return error_set(err, ERROR_INVALID, "File does not exist: %s", path);
}

/* "" when it was deleted after the commit. */
static int read_now(const struct git *git, const char *commit, const char *name, const char *path,
                    struct strbuf *text, struct error *err)
{
    if (!is_there(path))
        return is_in_commit(git, commit, name) ? 0 : say_missing(path, err);
    if (file_read(path, MAX_TEXT_BYTES, text, err) == 0)
        return 0;
    if (err->code == ERROR_TOO_LARGE)
        return error_set(err, ERROR_INVALID, "The file is too large to be shown");
    return error_set(err, ERROR_INVALID, "The file cannot be read: %s", path);
}

struct versions {
    struct strbuf original;
    struct strbuf modified;
};

static void versions_done(struct versions *versions)
{
    strbuf_done(&versions->original);
    strbuf_done(&versions->modified);
}

/* Both versions of the file `name` of the repository. */
static int read_versions(const struct server_request *request, const struct git *git,
                         const char *name, struct versions *versions, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf base = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf commit = STRBUF_INIT;
    const char *wanted = server_request_query(request, "commit");
    const char *path = server_request_query(request, "path");

    if (wanted == NULL) {
        if (git_find_base(git, server_request_query(request, "ref"), &base, err) < 0 ||
            read_now(git, base.text, name, path, &versions->modified, err) < 0)
            return -1;
        return read_version(git, base.text, name, &versions->original, err);
    }
    if (git_find_commit(git, wanted, &commit, err) < 0)
        return -1;
    git_find_parent(git, commit.text, &base);
    if (read_version(git, commit.text, name, &versions->modified, err) < 0)
        return -1;
    return read_version(git, base.text, name, &versions->original, err);
}

static int check_diff(const struct server_request *request, const char *path, struct error *err)
{
    struct stat info;

    if (server_request_query(request, "commit") != NULL) {
        if (server_request_query(request, "ref") != NULL)
            return error_set(err, ERROR_INVALID, "Only one of ref and commit may be given");
        return 0;
    }
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return error_set(err, ERROR_INVALID, "Path is not a file");
    return 0;
}

static int find_diff(const struct server_request *request, json_t *body, struct error *err)
{
    CLEANUP(versions_done) struct versions versions = {STRBUF_INIT, STRBUF_INIT};
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf rest = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    struct error no_git = ERROR_INIT;

    if (file_path_read(request, &path, err) < 0 || check_diff(request, path, err) < 0)
        return -1;
    split_path(path, &folder, &rest);
    json_put(body, "modified", json_null());
    json_put(body, "original", json_null());
    if (git_open(&git, folder.text, &no_git) < 0 || !git_has_repository(&git)) {
        if (server_request_query(request, "commit") == NULL && !is_there(path))
            return say_missing(path, err);
        return 0;
    }
    if (!git_ask(&git, GIT_ARGS("rev-parse", "--show-prefix"), &name))
        strbuf_reset(&name);
    strbuf_append(&name, rest.text);
    if (read_versions(request, &git, name.text, &versions, err) < 0)
        return -1;
    json_put(body, "modified", shown_text(&versions.modified));
    json_put(body, "original", shown_text(&versions.original));
    return 0;
}

static void work_diff(const struct server_request *request, struct fork_reply *answer)
{
    json_auto_t *body = json_object();
    struct error err = ERROR_INIT;

    if (find_diff(request, body, &err) < 0)
        fork_reply_error(answer, &err);
    else
        answer->body = json_incref(body);
}

void git_handle_diff(struct server_request *request)
{
    if (server_request_query(request, "path") == NULL)
        validation_answer(request, "missing", "query", "path", "Field required");
    else
        fork_request_start(request, &(struct fork_request_spec){.work = work_diff, .result = -1});
}
