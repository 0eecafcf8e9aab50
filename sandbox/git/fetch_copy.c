#include "sandbox/git/fetch_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/folder.h"
#include "sandbox/git/credential_config.h"
#include "sandbox/git/credential_helper.h"
#include "sandbox/git/credentials.h"
#include "sandbox/git/git.h"
#include "sandbox/git/git_address.h"

enum {
    SWAP_TRIES = 3,
    LEFT_AFTER_S = 3600,
    FOLDER_MODE = 0755,
    /* git asks once, and again when refused. */
    QUESTIONS_MAX = 4,
    PASSWORD_MAX_BYTES = 8192,
};

#define MAX_PACK_BYTES ((rlim_t)256 * 1024 * 1024)
#define NEW_MARK ".new-"

/* --- what may be asked for --- */

/* Absolute, and each part the name of an entry: the folder itself is replaced. */
static bool is_plain_path(const char *path)
{
    const char *part = path;

    while (*part == '/') {
        size_t len = strcspn(++part, "/");

        if (len == 0 || strncmp(part, ".", len) == 0 || strncmp(part, "..", len) == 0)
            return false;
        part += len;
    }
    return part > path && *part == '\0';
}

static int check_copy(const struct fetch_copy *copy, struct error *err)
{
    if (copy->source[0] != '/' && !git_address_is_remote(copy->source))
        return error_set(err, ERROR_INVALID, "The source is neither a path nor a git URL");
    if (copy->ref != NULL && !git_address_is_ref(copy->ref))
        return error_set(err, ERROR_INVALID, "The ref is not a valid branch, tag or commit");
    if (!is_plain_path(copy->folder))
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

/* Removes copies left unfinished when the server or the sandbox was ended. */
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
    for (int i = 1; rename(fresh, copy->folder) < 0; i++) {
        if (i == SWAP_TRIES) {
            error_set(err, ERROR_UNAVAILABLE, "Moving the copy into place: %m");
            folder_remove(fresh);
            return -1;
        }
        folder_remove(copy->folder);
    }
    return 0;
}

/* --- git --- */

static const char *username_of(const struct fetch_copy *copy)
{
    return copy->username != NULL ? copy->username : "x-access-token";
}

/*
 * Writes one answer for each time that git's helper may ask, to a socket that no other program can
 * open. The agent's programs have our uid, and can read our children's environment. Both ends
 * belong to this process, a fork, and end with it.
 */
static int hand_credential(const struct fetch_copy *copy, struct git *git, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf number = STRBUF_INIT;
    int ends[2] = {-1, -1};

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
        fcntl(ends[1], F_SETFD, 0) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "Creating a socket for the credential: %m");
    strbuf_appendf(&answer, "username=%s\npassword=%s\n", username_of(copy), copy->password);
    for (int i = 0; i < QUESTIONS_MAX; i++) {
        if (send(ends[0], answer.text, answer.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            return error_set(err, ERROR_UNAVAILABLE, "Passing the credential to git: %m");
    }
    explicit_bzero(answer.text, answer.len);
    strbuf_appendf(&number, "%d", ends[1]);
    git_put_variable(git, CREDENTIAL_DESCRIPTOR_VARIABLE, number.text);
    return 0;
}

/* Makes git ask our helper, for the source's origin only. hidden: also gets the credential. */
static int put_credentials(const struct fetch_copy *copy, struct git *git,
                           struct credentials *hidden, struct credential_settings *settings,
                           struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf origin = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    if (copy->password == NULL || !git_address_origin(copy->source, &origin))
        return 0;
    if (strlen(copy->password) > PASSWORD_MAX_BYTES || strpbrk(copy->password, "\r\n") != NULL ||
        strpbrk(username_of(copy), "\r\n") != NULL)
        return error_set(err, ERROR_INVALID, "git cannot use such a credential");
    error_ignore(credentials_keep(hidden,
                                  &(struct credential_order){.origin = origin.text,
                                                             .username = username_of(copy),
                                                             .password = copy->password},
                                  &ignored),
                 "a short secret cannot be masked; the fetch is tried anyway");
    git->hidden = hidden;
    credential_settings_fill(settings, origin.text);
    return hand_credential(copy, git, err);
}

/* Disables prompts, and limits files to MAX_PACK_BYTES. */
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

/* A setting without effect if there is no credential. */
static const char *setting_or_none(const struct strbuf *setting)
{
    return setting->len > 0 ? setting->text : "core.hooksPath=/dev/null";
}

/* Links are checked out as files that contain their target. */
static int fill(const struct fetch_copy *copy, struct git *git, struct credentials *hidden,
                struct strbuf *commit_out, struct error *err)
{
    CLEANUP(credential_settings_done) struct credential_settings settings =
        CREDENTIAL_SETTINGS_INIT;
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    if (git_run(git, GIT_ARGS("init", "-q"), &said, err) < 0 ||
        put_credentials(copy, git, hidden, &settings, err) < 0)
        return -1;
    if (git_run(git,
                GIT_ARGS("-c", setting_or_none(&settings.none), "-c",
                         setting_or_none(&settings.helper), "-c", "core.hooksPath=/dev/null",
                         "fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules", "--",
                         copy->source, copy->ref != NULL ? copy->ref : "HEAD"),
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
    struct credentials *hidden = NULL;
    int rc = 0;

    if (check_copy(copy, err) < 0)
        return -1;
    make_parents(copy->folder);
    remove_left(copy->folder);
    strbuf_appendf(fresh_out, "%s" NEW_MARK "XXXXXX", copy->folder);
    if (mkdtemp(fresh_out->text) == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "Creating a folder for the copy: %m");
    hidden = credentials_new();
    rc = git_open(&git, fresh_out->text, err);
    if (rc == 0) {
        bound(&git);
        rc = fill(copy, &git, hidden, commit_out, err);
    }
    credentials_free(hidden);
    if (rc < 0)
        folder_remove(fresh_out->text);
    return rc;
}
