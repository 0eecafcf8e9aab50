#include "sandbox/git/git_routes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/git/git.h"
#include "sandbox/http/file_path.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/server_request.h"
#include "sandbox/http/validation.h"

enum { COMMITS_DEFAULT = 50, COMMITS_MAX = 200 };

/* --- changes --- */

struct status_word {
    char letter;
    const char *word;
};

/* T is a type change, U an unfinished merge. */
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

/* Path → word; of several for a path the first is kept. */
static void note_change(json_t *changes, const char *path, const char *word)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    utf8_append_repaired(&name, path, strlen(path));
    /* A nested repository, for which git lists no files. */
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

/* Differences of tracked files; to NULL: the current files. */
static int add_tracked(const struct git *git, const char *from, const char *to, json_t *changes,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    const char *letter = NULL;
    const char *path = NULL;
    size_t at = 0;

    if (git_run(git,
                GIT_ARGS("diff", "--name-status", "-z", "--no-renames", "--no-ext-diff",
                         "--relative", from, to != NULL ? to : "--"),
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

    if (git_run(git, GIT_ARGS("ls-files", "--others", "--exclude-standard", "-z"), &out, err) < 0)
        return -1;
    for (path = next_field(&out, &at); path != NULL; path = next_field(&out, &at))
        note_change(changes, path, "ADDED");
    return 0;
}

/* Opens git in the request's folder. False: there is no repository, no folder, or no git. */
static int open_folder(const struct server_request *request, struct git *git,
                       bool *has_repository_out, struct error *err)
{
    CLEANUP(mem_freep) char *folder = NULL;
    struct error no_git = ERROR_INIT;
    struct stat info;

    *has_repository_out = false;
    if (file_path_read(request, &folder, err) < 0)
        return -1;
    if (stat(folder, &info) < 0 || !S_ISDIR(info.st_mode))
        return 0;
    *has_repository_out = git_open(git, folder, &no_git) == 0 && git_has_repository(git);
    return 0;
}

static int find_changes(const struct server_request *request, json_t *changes, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf base = STRBUF_INIT;
    bool has_repository = false;

    if (open_folder(request, &git, &has_repository, err) < 0)
        return -1;
    if (!has_repository)
        return 0;
    if (git_find_base(&git, server_request_query(request, "ref"), &base, err) < 0)
        return -1;
    if (add_tracked(&git, base.text, NULL, changes, err) < 0)
        return -1;
    return add_untracked(&git, changes, err);
}

static void answer_changes(struct fork_reply *answer, json_t *changes, int rc,
                           const struct error *err)
{
    if (rc < 0)
        fork_reply_error(answer, err);
    else
        answer->body = sorted_list(changes);
}

static void work_changes(const struct server_request *request, struct fork_reply *answer)
{
    json_auto_t *changes = json_object();
    struct error err = ERROR_INIT;
    int rc = find_changes(request, changes, &err);

    answer_changes(answer, changes, rc, &err);
}

static int find_commit_changes(const struct server_request *request, json_t *changes,
                               struct error *err)
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
    git_find_parent(&git, commit.text, &parent);
    return add_tracked(&git, parent.text, commit.text, changes, err);
}

static void work_commit_changes(const struct server_request *request, struct fork_reply *answer)
{
    json_auto_t *changes = json_object();
    struct error err = ERROR_INIT;
    int rc = find_commit_changes(request, changes, &err);

    answer_changes(answer, changes, rc, &err);
}

/* --- commits --- */

static int64_t read_limit(const struct server_request *request)
{
    const char *text = server_request_query(request, "limit");
    struct error ignored = ERROR_INIT;
    int64_t limit = COMMITS_DEFAULT;

    if (text != NULL)
        error_ignore(text_parse_int(text, 1, COMMITS_MAX, &limit, &ignored),
                     "checked before; otherwise the default is used");
    return limit;
}

/* Newer versions of git say Z for UTC, older ones an offset. */
static void put_time(json_t *commit, const char *time)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    bool is_utc = text_ends_with(time, "Z");

    strbuf_append_bytes(&text, time, strlen(time) - (is_utc ? 1 : 0));
    if (is_utc)
        strbuf_append(&text, "+00:00");
    json_put_text(commit, "timestamp", text.text);
}

static json_t *next_commit(const struct strbuf *out, size_t *at)
{
    static const char *const members[] = {"sha", "short_sha", "subject", "author"};
    json_t *commit = json_object();
    const char *field = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        field = next_field(out, at);
        json_put_text(commit, members[i], field != NULL ? field : "");
    }
    field = next_field(out, at);
    put_time(commit, field != NULL ? field : "");
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
    if (git_run(git,
                GIT_ARGS("log", "-z", count.text, "--format=%H%x00%h%x00%s%x00%an%x00%aI", "HEAD",
                         "--"),
                &out, err) < 0)
        return -1;
    while (at < out.len && (int64_t)json_array_size(commits) < limit)
        json_push(commits, next_commit(&out, &at));
    json_put(body, "has_more", json_boolean(at < out.len));
    return 0;
}

static int find_commits(const struct server_request *request, json_t *body, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
    bool has_repository = false;

    if (open_folder(request, &git, &has_repository, err) < 0)
        return -1;
    if (has_repository &&
        git_ask(&git, GIT_ARGS("rev-parse", "--verify", "--quiet", "HEAD"), &head))
        return list_commits(&git, read_limit(request), body, err);
    json_put(body, "commits", json_array());
    json_put(body, "has_more", json_false());
    return 0;
}

static void work_commits(const struct server_request *request, struct fork_reply *answer)
{
    json_auto_t *body = json_object();
    struct error err = ERROR_INIT;

    if (find_commits(request, body, &err) < 0)
        fork_reply_error(answer, &err);
    else
        answer->body = json_incref(body);
}

/* --- routes --- */

static void start_fork(struct server_request *request,
                       void (*work)(const struct server_request *request,
                                    struct fork_reply *answer))
{
    if (server_request_query(request, "path") == NULL)
        validation_answer(request, "missing", "query", "path", "Field required");
    else
        fork_request_start(request, &(struct fork_request_spec){.work = work, .result = -1});
}

void git_handle_changes(struct server_request *request)
{
    start_fork(request, work_changes);
}

void git_handle_commits(struct server_request *request)
{
    start_fork(request, work_commits);
}

void git_handle_commit_changes(struct server_request *request)
{
    start_fork(request, work_commit_changes);
}
