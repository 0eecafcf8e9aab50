#include "sandbox/files/archive.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/program.h"
#include "sandbox/git/git.h"
#include "sandbox/http/file_path.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/server_request.h"
#include "sandbox/http/validation.h"

enum { MAX_PATTERNS = 48, MAX_COMMAND_ARGS = 8, MAX_DEPTH = 3, COPY_BYTES = 64 * 1024 };

/* Folders that can be rebuilt, and are often larger than the rest. */
static const char *const default_excludes[] = {
    "node_modules", ".venv", "venv",   "__pycache__", ".pytest_cache", ".mypy_cache",
    ".ruff_cache",  ".tox",  ".cache", ".npm",        ".gradle",
};

/* Files that may hold keys; they are never archived. */
static const char *const credential_files[] = {".git/config", ".git/credentials",
                                               ".git-credentials", ".netrc"};

/* Excluded names and paths, as given. */
struct patterns {
    const char *items[MAX_PATTERNS];
    size_t n;
};

static void add_pattern(struct patterns *patterns, const char *pattern)
{
    if (patterns->n < MAX_PATTERNS && pattern[0] != '\0')
        patterns->items[patterns->n++] = pattern;
}

static void read_patterns(const struct server_request *request, struct patterns *patterns)
{
    const char *with_defaults = server_request_query(request, "use_default_excludes");

    for (size_t i = 0; i < ARRAY_SIZE(credential_files); i++)
        add_pattern(patterns, credential_files[i]);
    if (with_defaults == NULL ||
        !(text_equal_nocase(with_defaults, "false") || text_equal(with_defaults, "0"))) {
        for (size_t i = 0; i < ARRAY_SIZE(default_excludes); i++)
            add_pattern(patterns, default_excludes[i]);
    }
    for (size_t i = 0; i < request->n_query; i++) {
        if (text_equal(request->query[i].name, "exclude"))
            add_pattern(patterns, request->query[i].value);
    }
}

/* --- the repository --- */

static bool holds_repository(const char *folder)
{
    CLEANUP(strbuf_done) struct strbuf mark = STRBUF_INIT;
    struct stat info;

    strbuf_appendf(&mark, "%s/.git", folder);
    return lstat(mark.text, &info) == 0;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The first repository at most `depth` folders below, in alphabetical order. */
/* NOLINTNEXTLINE(misc-no-recursion): at most MAX_DEPTH */
static bool find_below(const char *folder, int depth, struct strbuf *found)
{
    struct dirent **entries = NULL;
    int n = depth > 0 ? scandir(folder, &entries, is_visible, alphasort) : 0;
    bool has_found = false;

    for (int i = 0; i < n; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        struct stat info;

        strbuf_appendf(&path, "%s/%s", folder, entries[i]->d_name);
        free(entries[i]);
        if (has_found || lstat(path.text, &info) < 0 || !S_ISDIR(info.st_mode))
            continue;
        has_found = holds_repository(path.text);
        if (has_found)
            strbuf_append(found, path.text);
        else
            has_found = find_below(path.text, depth - 1, found);
    }
    free(entries);
    return has_found;
}

static int open_repository(const char *folder, struct git *git, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf root = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf below = STRBUF_INIT;

    if (git_open(git, folder, err) < 0)
        return -1;
    if (git_ask(git, GIT_ARGS("rev-parse", "--show-toplevel"), &root)) {
        git_done(git);
        return git_open(git, root.text, err);
    }
    if (!find_below(folder, MAX_DEPTH, &below))
        return error_set(err, ERROR_INVALID, "No git repository at %s", folder);
    git_done(git);
    return git_open(git, below.text, err);
}

/* "https://user:token@host/x" as "https://host/x". */
static void append_clean_url(struct strbuf *out, const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme != NULL ? scheme + 3 : url;
    const char *at = strchr(host, '@');

    if (scheme != NULL && at != NULL && at < host + strcspn(host, "/")) {
        strbuf_append_bytes(out, url, (size_t)(host - url));
        host = at + 1;
        strbuf_append(out, host);
        return;
    }
    strbuf_append(out, url);
}

static void put_header(struct fork_reply *answer, const char *name, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf encoded = STRBUF_INIT;

    percent_append(&encoded, value);
    json_put_text(answer->headers, name, encoded.text);
}

/* Describes the archive's repository and base in headers. */
static void describe(const struct git *git, const char *base, const char *base_ref,
                     struct fork_reply *answer)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;

    put_header(answer, "x-archive-repo-root", git->folder);
    put_header(answer, "x-archive-base-commit", base);
    put_header(answer, "x-archive-base-ref", base_ref != NULL ? base_ref : base);
    if (git_ask(git, GIT_ARGS("config", "--get", "remote.origin.url"), &line)) {
        append_clean_url(&url, line.text);
        put_header(answer, "x-archive-repo-remote", url.text);
    }
    if (git_ask(git, GIT_ARGS("symbolic-ref", "--quiet", "--short", "HEAD"), &line))
        put_header(answer, "x-archive-branch", line.text);
    if (git_ask(git, GIT_ARGS("rev-parse", "--verify", "--quiet", "HEAD"), &line))
        put_header(answer, "x-archive-head-commit", line.text);
}

/* --- changed files --- */

/* git treats a file older than the index as unchanged, so the copy keeps the original's time. */
static int keep_time(int from, int to, struct error *err)
{
    struct stat info;

    if (fstat(from, &info) < 0 ||
        futimens(to, (const struct timespec[2]){info.st_atim, info.st_mtim}) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "copying the index: %m");
    return 0;
}

/* Copies the repository's index, so that new files can be added without changing the original. */
static int copy_index(const struct git *git, char copy[FORK_FILE_BYTES], struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf index = STRBUF_INIT;
    CLEANUP(fd_close) int from = -1;
    CLEANUP(fd_close) int to = -1;
    char bytes[COPY_BYTES];
    ssize_t n = 0;

    if (!git_ask(git, GIT_ARGS("rev-parse", "--git-path", "index"), &name))
        return error_set(err, ERROR_INVALID, "The repository has no index");
    if (name.text[0] != '/')
        strbuf_appendf(&index, "%s/", git->folder);
    strbuf_append(&index, name.text);
    (void)snprintf(copy, FORK_FILE_BYTES, "/tmp/deft-index-XXXXXX");
    to = mkostemp(copy, O_CLOEXEC);
    if (to < 0)
        return error_set(err, ERROR_UNAVAILABLE, "creating %s: %m", copy);
    /* The sandbox controls this path: opening a FIFO must not block. */
    from = open(index.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (from < 0) /* nothing was ever added */
        return unlink(copy);
    for (n = read(from, bytes, sizeof(bytes)); n > 0; n = read(from, bytes, sizeof(bytes))) {
        if (fd_write_all(to, bytes, (size_t)n, err) < 0)
            return -1;
    }
    return keep_time(from, to, err);
}

/* Two pathspecs for each pattern: entries with that name, and entries below them. */
struct pathspecs {
    struct strbuf texts[2 * MAX_PATTERNS];
    size_t n;
};

static void pathspecs_done(struct pathspecs *specs)
{
    for (size_t i = 0; i < specs->n; i++)
        strbuf_done(&specs->texts[i]);
}

static void make_pathspecs(const struct patterns *patterns, struct pathspecs *specs)
{
    static const char *const ends[] = {"", "/**"};

    for (size_t i = 0; i < 2 * patterns->n; i++) {
        const char *pattern = patterns->items[i / 2];

        specs->texts[i] = (struct strbuf)STRBUF_INIT;
        strbuf_appendf(&specs->texts[i], ":(exclude,glob)%s%s%s",
                       strchr(pattern, '/') != NULL ? "" : "**/", pattern, ends[i % 2]);
        specs->n++;
    }
}

/* Runs a git command on all files except those. */
static int run_without(const struct git *git, const char *const *command,
                       const struct pathspecs *specs, int fd, struct error *err)
{
    const char *args[2 * MAX_PATTERNS + MAX_COMMAND_ARGS + 2] = {NULL};
    size_t n = 0;

    for (; n < MAX_COMMAND_ARGS && command[n] != NULL; n++)
        args[n] = command[n];
    args[n++] = ".";
    for (size_t i = 0; i < specs->n; i++)
        args[n++] = specs->texts[i].text;
    return git_run_to(git, args, fd, err);
}

static int write_changes(struct git *git, const char *base, const struct patterns *patterns,
                         const struct fork_reply *answer, struct error *err)
{
    CLEANUP(pathspecs_done) struct pathspecs specs = {.n = 0};
    CLEANUP(fd_close) int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char *index = answer->leftovers->file;
    int rc = copy_index(git, index, err);

    make_pathspecs(patterns, &specs);
    if (rc == 0) {
        git_use_index(git, index);
        rc = run_without(git, GIT_ARGS("add", "--intent-to-add", "--all", "--"), &specs, nothing,
                         err);
    }
    if (rc == 0)
        rc = run_without(git,
                         GIT_ARGS("diff", "--binary", "--no-ext-diff", "--no-textconv",
                                  "--no-color", base, "--"),
                         &specs, answer->result, err);
    return rc;
}

static int archive_changes(const struct server_request *request, const char *folder,
                           struct fork_reply *answer, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf base = STRBUF_INIT;
    struct patterns patterns = {.n = 0};
    const char *ref = server_request_query(request, "base_ref");

    if (open_repository(folder, &git, err) < 0 || git_find_base(&git, ref, &base, err) < 0)
        return -1;
    describe(&git, base.text, ref, answer);
    json_put_text(answer->headers, "content-disposition", "attachment; filename=\"changes.patch\"");
    answer->content_type = "text/x-patch; charset=utf-8";
    read_patterns(request, &patterns);
    return write_changes(&git, base.text, &patterns, answer, err);
}

/* --- all of it --- */

/* Adds each pattern as an option of tar. */
static void add_excludes(const struct patterns *patterns, struct strbuf *texts, const char **argv)
{
    for (size_t i = 0; i < patterns->n; i++) {
        texts[i] = (struct strbuf)STRBUF_INIT;
        strbuf_appendf(&texts[i], "--exclude=%s", patterns->items[i]);
        argv[i] = texts[i].text;
    }
    argv[patterns->n] = ".";
}

static int run_tar(const char *folder, const struct patterns *patterns, int fd, struct error *err)
{
    CLEANUP(program_result_done) struct program_result result = PROGRAM_RESULT_INIT;
    CLEANUP(mem_freep) char *tar =
        child_process_find_program("tar", "/usr/local/bin:/usr/bin:/bin");
    char **environment = NULL;
    struct strbuf texts[MAX_PATTERNS];
    const char *argv[MAX_PATTERNS + 8] = {"tar", "-C", folder, "-czf", "-"};
    int rc = 0;

    if (tar == NULL)
        return error_set(err, ERROR_INVALID, "The sandbox has no tar");
    add_excludes(patterns, texts, argv + 5);
    environment = child_process_environment_new(CHILD_PROCESS_TERMINAL, folder);
    rc =
        program_run(&(struct program){.path = tar, .argv = argv, .envp = environment, .out_fd = fd},
                    &result, err);
    child_process_environment_free(environment);
    for (size_t i = 0; i < patterns->n; i++)
        strbuf_done(&texts[i]);
    /* 1: a file changed while it was read. */
    if (rc == 0 && result.exit_code > 1)
        return error_set(err, ERROR_INVALID, "tar: %s", result.complaint.text);
    return rc;
}

/* Names the archive after its folder. */
static void name_archive(const char *folder, struct fork_reply *answer)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    const char *slash = strrchr(folder, '/');

    strbuf_append(&name, slash != NULL && slash[1] != '\0' ? slash + 1 : "archive");
    strbuf_append(&name, ".tar.gz");
    file_name_append_disposition(name.text, &value);
    json_put_text(answer->headers, "content-disposition", value.text);
}

static int archive_folder(const struct server_request *request, const char *folder,
                          struct fork_reply *answer, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf base = STRBUF_INIT;
    struct patterns patterns = {.n = 0};
    struct error ignored = ERROR_INIT;
    const char *ref = server_request_query(request, "base_ref");

    /* The folder need not be a repository. */
    if (open_repository(folder, &git, &ignored) == 0) {
        if (git_find_base(&git, ref, &base, err) < 0)
            return -1;
        describe(&git, base.text, ref, answer);
    }
    name_archive(folder, answer);
    answer->content_type = "application/gzip";
    read_patterns(request, &patterns);
    return run_tar(folder, &patterns, answer->result, err);
}

static int archive(const struct server_request *request, struct fork_reply *answer,
                   struct error *err)
{
    CLEANUP(mem_freep) char *folder = NULL;
    const char *format = server_request_query(request, "format");
    struct stat info;

    if (file_path_read(request, &folder, err) < 0)
        return -1;
    if (stat(folder, &info) < 0)
        return error_set(err, ERROR_NOT_FOUND, "Path not found");
    if (!S_ISDIR(info.st_mode))
        return error_set(err, ERROR_INVALID, "Path is not a directory");
    if (format != NULL && text_equal(format, "tar.gz"))
        return archive_folder(request, folder, answer, err);
    return archive_changes(request, folder, answer, err);
}

static void work(const struct server_request *request, struct fork_reply *answer)
{
    struct error err = ERROR_INIT;

    if (archive(request, answer, &err) < 0) {
        json_object_clear(answer->headers);
        fork_reply_error(answer, &err);
    }
}

/* An unnamed file on disk, since it may be large: in the archived folder, else in /tmp. */
static int open_result(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 ? fd : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

void archive_handle(struct server_request *request)
{
    const char *path = server_request_query(request, "path");

    if (path == NULL)
        validation_answer(request, "missing", "query", "path", "Field required");
    else
        fork_request_start(request,
                           &(struct fork_request_spec){.work = work, .result = open_result(path)});
}
