#include "sandbox/fetch_copy.h"

#include <dirent.h>
#include <errno.h>
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
#include "sandbox/folder.h"
#include "sandbox/git.h"
#include "sandbox/git_address.h"

enum {
    SWAP_TRIES = 3,
    LEFT_AFTER_S = 3600,
    FOLDER_MODE = 0755,
};

#define MAX_PACK_BYTES ((rlim_t)256 * 1024 * 1024)
#define NEW_MARK ".new-"

/* --- what may be asked for --- */

static int check(const struct fetch_copy *copy, struct error *err)
{
    if (copy->source[0] != '/' && !git_address_is_remote(copy->source))
        return error_set(err, ERROR_INVALID, "The source is neither a path nor a git address");
    if (copy->ref != NULL && !git_address_is_ref(copy->ref))
        return error_set(err, ERROR_INVALID, "The ref cannot be a branch, a tag or a commit");
    if (copy->folder[0] != '/' || strstr(copy->folder, "/../") != NULL)
        return error_set(err, ERROR_INVALID, "The folder must be an absolute path");
    return 0;
}

/* --- folders --- */

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
            folder_remove(path.text);
        free(entries[i]);
    }
    free(entries);
}

void fetch_copy_drop(const char *fresh)
{
    folder_remove(fresh);
}

int fetch_copy_place(const struct fetch_copy *copy, const char *fresh, struct error *err)
{
    for (int i = 0; i < SWAP_TRIES; i++) {
        if (rename(fresh, copy->folder) == 0)
            return 0;
        folder_remove(copy->folder);
    }
    error_set(err, ERROR_UNAVAILABLE, "Putting the copy into its place: %m");
    folder_remove(fresh);
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
    CLEANUP(strbuf_done) struct strbuf protocols = STRBUF_INIT;
    const struct rlimit limit = {MAX_PACK_BYTES, MAX_PACK_BYTES};

    strbuf_appendf(&protocols, "%s:file", git_address_protocols);
    (void)setrlimit(RLIMIT_FSIZE, &limit);
    (void)signal(SIGXFSZ, SIG_IGN);
    git_put_variable(git, "GIT_TERMINAL_PROMPT", "0");
    git_put_variable(git, "GIT_ALLOW_PROTOCOL", protocols.text);
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
        folder_remove(fresh_out->text);
    return rc;
}
