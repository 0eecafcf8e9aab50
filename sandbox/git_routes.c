#include "sandbox/git_routes.h"

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
#include "sandbox/file_path.h"
#include "sandbox/git.h"
#include "sandbox/http.h"
#include "sandbox/job.h"
#include "sandbox/validation.h"

enum { COMMITS_DEFAULT = 50, COMMITS_MAX = 200, COMMIT_FIELDS = 5, MAX_TEXT_BYTES = 1024 * 1024 };

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* --- changes --- */

struct status_word {
    char letter;
    const char *word;
};

/* T is a change of type, U a merge that is not finished. */
static const struct status_word status_words[] = {
    {'A', "ADDED"}, {'D', "DELETED"}, {'M', "UPDATED"}, {'T', "UPDATED"}, {'U', "UPDATED"},
};

static const char *word_of(char letter)
{
    for (size_t i = 0; i < ARRAY_SIZE(status_words); i++) {
        if (status_words[i].letter == letter)
            return status_words[i].word;
    }
    return "UPDATED";
}

/* The text up to the next NUL; NULL at the end. */
static const char *next_field(const struct strbuf *text, size_t *at)
{
    const char *field = text->text + *at;

    if (*at >= text->len)
        return NULL;
    *at += strlen(field) + 1;
    return field;
}

/* Path → word; a path that git names twice counts once. */
static void note_change(json_t *changes, const char *path, const char *word)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    utf8_append_repaired(&name, path, strlen(path));
    /* A repository within, of which git says nothing more. */
    if (text_ends_with(name.text, "/"))
        strbuf_truncate(&name, name.len - 1);
    if (json_object_get(changes, name.text) == NULL)
        json_put_text(changes, name.text, word);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *sorted_list(json_t *changes)
{
    size_t n = json_object_size(changes);
    const char **paths = mem_alloc_array(n + 1, sizeof(*paths));
    json_t *list = json_array();
    const char *path = NULL;
    json_t *word = NULL;
    size_t i = 0;

    json_object_foreach (changes, path, word)
        paths[i++] = path;
    qsort(paths, n, sizeof(*paths), compare_keys);
    for (i = 0; i < n; i++) {
        json_t *item = json_object();

        json_put(item, "status", json_incref(json_object_get(changes, paths[i])));
        json_put_text(item, "path", paths[i]);
        json_push(list, item);
    }
    mem_free(paths);
    return list;
}

/* Differences of tracked files; to NULL: the files as they are now. */
static int add_tracked(const struct git *git, const char *from, const char *to, json_t *changes,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    const char *letter = NULL;
    const char *path = NULL;
    size_t at = 0;

    if (git_run(git,
                ARGS("diff", "--name-status", "-z", "--no-renames", "--no-ext-diff", "--relative",
                     from, to != NULL ? to : "--"),
                &out, err) < 0)
        return -1;
    for (letter = next_field(&out, &at); letter != NULL; letter = next_field(&out, &at)) {
        path = next_field(&out, &at);
        if (path != NULL)
            note_change(changes, path, word_of(letter[0]));
    }
    return 0;
}

static int add_untracked(const struct git *git, json_t *changes, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    const char *path = NULL;
    size_t at = 0;

    if (git_run(git, ARGS("ls-files", "--others", "--exclude-standard", "-z"), &out, err) < 0)
        return -1;
    for (path = next_field(&out, &at); path != NULL; path = next_field(&out, &at))
        note_change(changes, path, "ADDED");
    return 0;
}

/* Opens git in the request's folder. False: there is no repository, or no folder. */
static int open_folder(const struct request *request, struct git *git, bool *has_repository_out,
                       struct error *err)
{
    CLEANUP(mem_freep) char *folder = NULL;
    struct stat info;

    *has_repository_out = false;
    if (file_path_read(request, &folder, err) < 0)
        return -1;
    if (stat(folder, &info) < 0 || !S_ISDIR(info.st_mode))
        return 0;
    if (git_open(git, folder, err) < 0)
        return -1;
    *has_repository_out = git_has_repository(git);
    return 0;
}

static int find_changes(const struct request *request, json_t *changes, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf base = STRBUF_INIT;
    bool has_repository = false;

    if (open_folder(request, &git, &has_repository, err) < 0)
        return -1;
    if (!has_repository)
        return 0;
    if (git_find_base(&git, request_query(request, "ref"), &base, err) < 0)
        return -1;
    if (add_tracked(&git, base.text, NULL, changes, err) < 0)
        return -1;
    return add_untracked(&git, changes, err);
}

static void answer_changes(struct job_answer *answer, json_t *changes, int rc,
                           const struct error *err)
{
    if (rc < 0)
        job_answer_error(answer, err);
    else
        answer->body = sorted_list(changes);
}

static void work_changes(const struct request *request, struct job_answer *answer)
{
    json_auto_t *changes = json_object();
    struct error err = ERROR_INIT;
    int rc = find_changes(request, changes, &err);

    answer_changes(answer, changes, rc, &err);
}

/* What a commit is compared with: its first parent, or nothing. */
static void find_parent(const struct git *git, const char *commit, struct strbuf *parent_out)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    strbuf_appendf(&name, "%s^1", commit);
    if (!git_ask(git, ARGS("rev-parse", "--verify", "--quiet", name.text), parent_out))
        strbuf_append(parent_out, git_empty_tree);
}

static int find_commit_changes(const struct request *request, json_t *changes, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf commit = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf parent = STRBUF_INIT;
    bool has_repository = false;

    if (open_folder(request, &git, &has_repository, err) < 0)
        return -1;
    if (!has_repository)
        return 0;
    if (git_find_commit(&git, request->param, &commit, err) < 0)
        return -1;
    find_parent(&git, commit.text, &parent);
    return add_tracked(&git, parent.text, commit.text, changes, err);
}

static void work_commit_changes(const struct request *request, struct job_answer *answer)
{
    json_auto_t *changes = json_object();
    struct error err = ERROR_INIT;
    int rc = find_commit_changes(request, changes, &err);

    answer_changes(answer, changes, rc, &err);
}

/* --- a file before and after --- */

/* A path as the folder above it that exists, and the rest. */
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

/* A text as clients compare it: without the last line's end. */
static json_t *shown_text(const struct strbuf *text)
{
    size_t len = text->len;

    if (len > 0 && text->text[len - 1] == '\n')
        len--;
    return json_text(text->text, len);
}

/* The file in a commit; "" when it is not in there. */
static int read_version(const struct git *git, const char *commit, const char *path,
                        struct strbuf *text, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf object = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf kind = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf size = STRBUF_INIT;

    strbuf_appendf(&object, "%s:%s", commit, path);
    if (!git_ask(git, ARGS("cat-file", "-t", object.text), &kind) || !text_equal(kind.text, "blob"))
        return 0;
    if (git_ask(git, ARGS("cat-file", "-s", object.text), &size) &&
        strtoll(size.text, NULL, 10) > MAX_TEXT_BYTES)
        return error_set(err, ERROR_INVALID, "The file is too large to be shown");
    return git_run(git, ARGS("cat-file", "blob", object.text), text, err);
}

static int read_now(const char *path, struct strbuf *text, struct error *err)
{
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

/* Both versions of a file, which lies at `name` of the repository. */
static int read_versions(const struct request *request, const struct git *git, const char *name,
                         struct versions *versions, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf base = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf commit = STRBUF_INIT;
    const char *wanted = request_query(request, "commit");

    if (wanted == NULL) {
        if (git_find_base(git, request_query(request, "ref"), &base, err) < 0 ||
            read_now(request_query(request, "path"), &versions->modified, err) < 0)
            return -1;
        return read_version(git, base.text, name, &versions->original, err);
    }
    if (git_find_commit(git, wanted, &commit, err) < 0)
        return -1;
    find_parent(git, commit.text, &base);
    if (read_version(git, commit.text, name, &versions->modified, err) < 0)
        return -1;
    return read_version(git, base.text, name, &versions->original, err);
}

static int check_diff(const struct request *request, const char *path, struct error *err)
{
    struct stat info;

    if (request_query(request, "commit") != NULL) {
        if (request_query(request, "ref") != NULL)
            return error_set(err, ERROR_INVALID, "Only one of ref and commit can be given");
        return 0;
    }
    if (stat(path, &info) < 0)
        return error_set(err, ERROR_INVALID, "File does not exist: %s", path);
    if (!S_ISREG(info.st_mode))
        return error_set(err, ERROR_INVALID, "Path is not a file");
    return 0;
}

static int find_diff(const struct request *request, json_t *body, struct error *err)
{
    CLEANUP(versions_done) struct versions versions = {STRBUF_INIT, STRBUF_INIT};
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf rest = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    if (file_path_read(request, &path, err) < 0 || check_diff(request, path, err) < 0)
        return -1;
    split_path(path, &folder, &rest);
    if (git_open(&git, folder.text, err) < 0)
        return -1;
    json_put(body, "modified", json_null());
    json_put(body, "original", json_null());
    if (!git_has_repository(&git))
        return 0;
    if (!git_ask(&git, ARGS("rev-parse", "--show-prefix"), &name))
        strbuf_reset(&name);
    strbuf_append(&name, rest.text);
    if (read_versions(request, &git, name.text, &versions, err) < 0)
        return -1;
    json_put(body, "modified", shown_text(&versions.modified));
    json_put(body, "original", shown_text(&versions.original));
    return 0;
}

static void work_diff(const struct request *request, struct job_answer *answer)
{
    json_auto_t *body = json_object();
    struct error err = ERROR_INIT;

    if (find_diff(request, body, &err) < 0)
        job_answer_error(answer, &err);
    else
        answer->body = json_incref(body);
}

/* --- commits --- */

static int64_t read_limit(const struct request *request)
{
    const char *text = request_query(request, "limit");
    struct error ignored = ERROR_INIT;
    int64_t limit = COMMITS_DEFAULT;

    if (text != NULL)
        error_ignore(text_parse_int(text, 1, COMMITS_MAX, &limit, &ignored),
                     "checked before; the default then");
    return limit;
}

static json_t *next_commit(const struct strbuf *out, size_t *at)
{
    static const char *const members[COMMIT_FIELDS] = {"sha", "short_sha", "subject", "author",
                                                       "timestamp"};
    json_t *commit = json_object();

    for (size_t i = 0; i < COMMIT_FIELDS; i++) {
        const char *field = next_field(out, at);

        json_put_text(commit, members[i], field != NULL ? field : "");
    }
    return commit;
}

static int list_commits(const struct git *git, int64_t limit, json_t *body, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf count = STRBUF_INIT;
    json_t *commits = json_array();
    size_t at = 0;

    json_put(body, "commits", commits);
    strbuf_appendf(&count, "--max-count=%lld", (long long)limit + 1);
    if (git_run(
            git,
            ARGS("log", "-z", count.text, "--format=%H%x00%h%x00%s%x00%an%x00%aI", "HEAD", "--"),
            &out, err) < 0)
        return -1;
    while (at < out.len && (int64_t)json_array_size(commits) < limit)
        json_push(commits, next_commit(&out, &at));
    json_put(body, "has_more", json_boolean(at < out.len));
    return 0;
}

static int find_commits(const struct request *request, json_t *body, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
    bool has_repository = false;

    if (open_folder(request, &git, &has_repository, err) < 0)
        return -1;
    if (has_repository && git_ask(&git, ARGS("rev-parse", "--verify", "--quiet", "HEAD"), &head))
        return list_commits(&git, read_limit(request), body, err);
    json_put(body, "commits", json_array());
    json_put(body, "has_more", json_false());
    return 0;
}

static void work_commits(const struct request *request, struct job_answer *answer)
{
    json_auto_t *body = json_object();
    struct error err = ERROR_INIT;

    if (find_commits(request, body, &err) < 0)
        job_answer_error(answer, &err);
    else
        answer->body = json_incref(body);
}

/* --- routes --- */

static void start(struct request *request,
                  void (*work)(const struct request *request, struct job_answer *answer))
{
    if (request_query(request, "path") == NULL)
        validation_answer(request, "missing", "query", "path", "Field required");
    else
        job_start(request, &(struct job_order){work, -1});
}

void git_handle_changes(struct request *request)
{
    start(request, work_changes);
}

void git_handle_diff(struct request *request)
{
    start(request, work_diff);
}

void git_handle_commits(struct request *request)
{
    start(request, work_commits);
}

void git_handle_commit_changes(struct request *request)
{
    start(request, work_commit_changes);
}
