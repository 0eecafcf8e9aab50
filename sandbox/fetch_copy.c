#include "sandbox/fetch_copy.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/git.h"

enum {
    MAX_SOURCE_BYTES = 4096,
    MAX_REF_BYTES = 255,
    OPEN_FOLDERS = 16,
    SWAP_TRIES = 3,
    LEFT_AFTER_S = 3600,
    FOLDER_MODE = 0755,
};

#define MAX_PACK_BYTES ((rlim_t)256 * 1024 * 1024)
#define NEW_MARK ".new-"

/* What git may speak; helpers that run programs are not among it. */
static const char *const schemes[] = {"https://", "http://", "git://", "ssh://"};
static const char protocols[] = "https:http:git:ssh:file";

/* --- what may be asked for --- */

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text <= ' ' || *text == '\x7f')
            return true;
    }
    return false;
}

/* "git@host:path": no slash before the colon, and a name before the "@". */
static bool is_scp_like(const char *source)
{
    const char *at = strchr(source, '@');
    const char *colon = strchr(source, ':');

    return source[0] != '-' && at != NULL && at > source && colon != NULL && at + 1 < colon &&
           at[1] != '-' && colon[1] != ':' && strcspn(source, "/") > (size_t)(colon - source);
}

static bool has_host(const char *source, const char *scheme)
{
    const char *host = source + strlen(scheme);

    return *host != '\0' && *host != '/' && *host != '-';
}

static bool is_source(const char *source)
{
    if (strlen(source) > MAX_SOURCE_BYTES || has_control(source))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
        if (text_starts_with(source, schemes[i]))
            return has_host(source, schemes[i]);
    }
    return source[0] == '/' || is_scp_like(source);
}

/* A name of one commit: nothing that git reads as an option, a pattern or a pair. */
static bool is_ref(const char *ref)
{
    return ref[0] != '\0' && ref[0] != '-' && ref[0] != '+' && strlen(ref) <= MAX_REF_BYTES &&
           !has_control(ref) && strpbrk(ref, ":*?[^~\\") == NULL && strstr(ref, "..") == NULL &&
           strstr(ref, "@{") == NULL;
}

static int check(const struct fetch_copy *copy, struct error *err)
{
    if (!is_source(copy->source))
        return error_set(err, ERROR_INVALID, "The source is neither a path nor a git address");
    if (copy->ref != NULL && !is_ref(copy->ref))
        return error_set(err, ERROR_INVALID, "The ref cannot be a branch, a tag or a commit");
    if (copy->folder[0] != '/' || strstr(copy->folder, "/../") != NULL)
        return error_set(err, ERROR_INVALID, "The folder must be an absolute path");
    return 0;
}

/* --- folders --- */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

static void remove_folder(const char *path)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a job is a process of one thread */
    (void)nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void make_parents(const char *folder)
{
    CLEANUP(mem_freep) char *path = mem_dup_text(folder);

    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, FOLDER_MODE);
        *slash = '/';
    }
}

/* Copies that nobody finished, since the server or the sandbox was ended. */
static void remove_left(const char *folder)
{
    CLEANUP(strbuf_done) struct strbuf parent = STRBUF_INIT;
    struct dirent **entries = NULL;
    time_t now = time(NULL);
    int n = 0;

    strbuf_append_bytes(&parent, folder, (size_t)(strrchr(folder, '/') - folder));
    n = scandir(parent.text, &entries, NULL, NULL);
    for (int i = 0; i < n; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        struct stat info;

        strbuf_appendf(&path, "%s/%s", parent.text, entries[i]->d_name);
        if (strstr(entries[i]->d_name, NEW_MARK) != NULL && lstat(path.text, &info) == 0 &&
            now - info.st_mtime > LEFT_AFTER_S)
            remove_folder(path.text);
        free(entries[i]);
    }
    free(entries);
}

void fetch_copy_drop(const char *fresh)
{
    remove_folder(fresh);
}

int fetch_copy_place(const struct fetch_copy *copy, const char *fresh, struct error *err)
{
    for (int i = 0; i < SWAP_TRIES; i++) {
        if (rename(fresh, copy->folder) == 0)
            return 0;
        remove_folder(copy->folder);
    }
    error_set(err, ERROR_UNAVAILABLE, "Putting the copy into its place: %m");
    remove_folder(fresh);
    return -1;
}

/* --- git --- */

/* "http.<origin>.extraHeader": sent there and nowhere else. */
static void put_credentials(const struct fetch_copy *copy, struct git *git)
{
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    const char *host = strstr(copy->source, "://");

    if (copy->password == NULL || host == NULL || !text_starts_with(copy->source, "http"))
        return;
    strbuf_appendf(&plain, "%s:%s", copy->username != NULL ? copy->username : "x-access-token",
                   copy->password);
    strbuf_append(&value, "Authorization: Basic ");
    base64_append(&value, (const unsigned char *)plain.text, plain.len);
    strbuf_append(&key, "http.");
    strbuf_append_bytes(&key, copy->source,
                        (size_t)(host + 3 - copy->source) + strcspn(host + 3, "/?#"));
    strbuf_append(&key, "/.extraHeader");
    git_put_variable(git, "GIT_CONFIG_COUNT", "1");
    git_put_variable(git, "GIT_CONFIG_KEY_0", key.text);
    git_put_variable(git, "GIT_CONFIG_VALUE_0", value.text);
}

/* Nobody is there to be asked, and a file of more than MAX_PACK_BYTES cannot be written. */
static void bound(struct git *git)
{
    const struct rlimit limit = {MAX_PACK_BYTES, MAX_PACK_BYTES};

    (void)setrlimit(RLIMIT_FSIZE, &limit);
    (void)signal(SIGXFSZ, SIG_IGN);
    git_put_variable(git, "GIT_TERMINAL_PROMPT", "0");
    git_put_variable(git, "GIT_ALLOW_PROTOCOL", protocols);
    git_put_variable(git, "GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=20");
    git_put_variable(git, "GIT_LFS_SKIP_SMUDGE", "1");
}

/* Links become files that hold where they point. */
static int fill(const struct fetch_copy *copy, const struct git *git, struct strbuf *commit_out,
                struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    if (git_run(git, GIT_ARGS("init", "-q"), &said, err) < 0)
        return -1;
    if (git_run(git,
                GIT_ARGS("-c", "core.hooksPath=/dev/null", "fetch", "-q", "--depth=1", "--no-tags",
                         "--no-recurse-submodules", "--", copy->source,
                         copy->ref != NULL ? copy->ref : "HEAD"),
                &said, err) < 0 ||
        git_run(git,
                GIT_ARGS("-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false", "-c",
                         "advice.detachedHead=false", "checkout", "-q", "--detach", "FETCH_HEAD"),
                &said, err) < 0) {
        err->code = ERROR_NOT_FOUND;
        return -1;
    }
    return git_find_commit(git, "HEAD", commit_out, err);
}

int fetch_copy_make(const struct fetch_copy *copy, struct strbuf *fresh_out,
                    struct strbuf *commit_out, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    int rc = 0;

    if (check(copy, err) < 0)
        return -1;
    make_parents(copy->folder);
    remove_left(copy->folder);
    strbuf_appendf(fresh_out, "%s" NEW_MARK "XXXXXX", copy->folder);
    if (mkdtemp(fresh_out->text) == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "A folder for the copy: %m");
    rc = git_open(&git, fresh_out->text, err);
    if (rc == 0) {
        bound(&git);
        put_credentials(copy, &git);
        rc = fill(copy, &git, commit_out, err);
    }
    if (rc < 0)
        remove_folder(fresh_out->text);
    return rc;
}
