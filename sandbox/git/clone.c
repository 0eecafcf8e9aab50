#include "sandbox/git/clone.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/folder.h"
#include "sandbox/git/credential_config.h"
#include "sandbox/git/credentials.h"
#include "sandbox/git/git.h"
#include "sandbox/git/git_address.h"
#include "sandbox/git/workspace_repository.h"

enum { BRANCH_RANDOM_CHARS = 22, ENTRIES_OF_EMPTY = 2 };

#define BRANCH_PREFIX "openhands-workspace-"

/* A clone in progress: its names, and where git works. */
struct clone {
    const struct clone_order *order;
    struct strbuf origin; /* "": no credential is sent */
    struct strbuf parent;
    struct strbuf target;
    struct strbuf fresh; /* temporary folder next to the target */
    int lock;
};

/* clang-format off */
#define CLONE_INIT {NULL, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, -1}
/* clang-format on */

static void clone_done(struct clone *clone)
{
    strbuf_done(&clone->origin);
    strbuf_done(&clone->parent);
    strbuf_done(&clone->target);
    strbuf_done(&clone->fresh);
    fd_close(&clone->lock);
}

void clone_result_done(struct clone_result *result)
{
    strbuf_done(&result->path);
    strbuf_done(&result->problem);
}

/* --- checks of the request --- */

static int check_order(const struct clone_order *order, struct error *err)
{
    if (!git_address_is_remote(order->url))
        return error_set(err, ERROR_INVALID, "That is not the URL of a git repository");
    if (strstr(order->url, "://") != NULL &&
        strcspn(strstr(order->url, "://") + 3, "@") < strcspn(strstr(order->url, "://") + 3, "/") &&
        text_starts_with(order->url, "http"))
        return error_set(err, ERROR_INVALID, "The URL must not contain a password");
    if (order->branch != NULL && !git_address_is_ref(order->branch))
        return error_set(err, ERROR_INVALID, "That is not a valid branch name");
    if (order->folder[0] != '/' || order->folder[1] == '\0')
        return error_set(err, ERROR_INVALID, "The folder must be an absolute path");
    if (order->name != NULL && !text_equal(order->name, ".") && !git_address_is_name(order->name))
        return error_set(err, ERROR_INVALID, "The name must be a single folder name");
    return 0;
}

static int name_places(struct clone *clone, struct error *err)
{
    const struct clone_order *order = clone->order;

    strbuf_append(&clone->target, order->folder);
    while (clone->target.len > 1 && clone->target.text[clone->target.len - 1] == '/')
        strbuf_truncate(&clone->target, clone->target.len - 1);
    if (order->name == NULL || !text_equal(order->name, ".")) {
        strbuf_append_char(&clone->target, '/');
        if (order->name != NULL)
            strbuf_append(&clone->target, order->name);
        else if (git_address_name(order->url, &clone->target, err) < 0)
            return -1;
    }
    strbuf_append_bytes(&clone->parent, clone->target.text,
                        (size_t)(strrchr(clone->target.text, '/') - clone->target.text));
    strbuf_appendf(&clone->fresh, "%s/.deft-clone-%s", clone->parent.text,
                   strrchr(clone->target.text, '/') + 1);
    if (!git_address_origin(order->url, &clone->origin))
        strbuf_reset(&clone->origin);
    return 0;
}

/* One clone at a time per parent folder: the second one finds the result of the first. */
static int lock_parent(struct clone *clone, struct error *err)
{
    const char *parent = clone->parent.len > 0 ? clone->parent.text : "/";

    if (workspace_repository_make_folder(parent, err) < 0)
        return error_wrap(err, "The folder of the repository cannot be created");
    clone->lock = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (clone->lock < 0 || flock(clone->lock, LOCK_EX) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s cannot be used: %m", parent);
    return 0;
}

/* --- the existing folder --- */

static size_t count_entries(const char *folder, bool *has_git_out)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry = NULL;
    size_t n = 0;

    *has_git_out = false;
    if (dir == NULL)
        return 0;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
    for (entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        *has_git_out |= text_equal(entry->d_name, ".git");
        n++;
    }
    (void)closedir(dir);
    return n - ENTRIES_OF_EMPTY;
}

/* A repository without a commit or a remote, as created for a new workspace. */
static bool is_unborn(const struct git *git)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    return git_find_commit(git, "HEAD", &line, &ignored) < 0 &&
           !git_ask(git, GIT_ARGS("config", "--get-regexp", "^remote\\."), &line);
}

/* Whether the target is this repository already; removes an empty repository. */
static int inspect_target(const struct clone *clone, bool *is_there_out, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf own = STRBUF_INIT;
    struct stat info;
    bool has_git = false;
    size_t n = 0;

    if (lstat(clone->target.text, &info) < 0)
        return 0;
    if (!S_ISDIR(info.st_mode))
        return error_set(err, ERROR_CONFLICT, "%s is not a folder", clone->target.text);
    n = count_entries(clone->target.text, &has_git);
    if (n == 0)
        return 0;
    if (!has_git)
        return error_set(err, ERROR_CONFLICT, "%s contains other files", clone->target.text);
    if (git_open(&git, clone->target.text, err) < 0)
        return -1;
    if (git_ask(&git, GIT_ARGS("config", "--get", "remote.origin.url"), &url) &&
        text_equal(url.text, clone->order->url)) {
        *is_there_out = true;
        return 0;
    }
    if (n > 1 || !is_unborn(&git))
        return error_set(err, ERROR_CONFLICT, "%s contains another repository", clone->target.text);
    strbuf_appendf(&own, "%s/.git", clone->target.text);
    folder_remove(own.text);
    return 0;
}

/* --- git --- */

/* Disables prompts, and protocols that run programs. */
static void confine(const struct clone *clone, struct git *git)
{
    git->hidden = clone->order->credentials;
    git_put_variable(git, "GIT_TERMINAL_PROMPT", "0");
    git_put_variable(git, "GIT_ALLOW_PROTOCOL", git_address_protocols);
    git_put_variable(git, "GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=20");
}

static bool has_credential(const struct clone *clone)
{
    return clone->origin.len > 0 &&
           credentials_find(clone->order->credentials, clone->origin.text).state !=
               CREDENTIAL_UNKNOWN;
}

static int fetch(const struct clone *clone, struct git *git, struct error *err)
{
    CLEANUP(credential_settings_done) struct credential_settings settings =
        CREDENTIAL_SETTINGS_INIT;
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    if (!has_credential(clone))
        return git_run(git,
                       GIT_ARGS("clone", "--quiet", "--origin=origin", "--", clone->order->url,
                                clone->fresh.text),
                       &said, err);
    credential_settings_fill(&settings, clone->origin.text);
    return git_run(git,
                   GIT_ARGS("-c", settings.none.text, "-c", settings.helper.text, "clone",
                            "--quiet", "--origin=origin", "--", clone->order->url,
                            clone->fresh.text),
                   &said, err);
}

/* The repository and its submodules ask the helper for the credential. folder: its current path. */
static int keep_helper(const struct clone *clone, const struct git *git, const char *folder,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf git_dir = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf place = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    if (!has_credential(clone))
        return 0;
    if (credential_config_keep(git, clone->origin.text, err) < 0)
        return -1;
    strbuf_appendf(&git_dir, "%s/.git", folder);
    strbuf_appendf(&place, "%s/.git", clone->target.text);
    error_ignore(
        credential_config_keep_inside(git, git_dir.text, place.text, clone->origin.text, &ignored),
        "the home may be read-only, or .git a file: git works without this setting");
    return 0;
}

static void append_new_branch(struct strbuf *out)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    unsigned char random[BRANCH_RANDOM_CHARS];

    crypto_random(random, sizeof(random));
    strbuf_append(out, BRANCH_PREFIX);
    for (size_t i = 0; i < sizeof(random); i++)
        strbuf_append_char(out, digits[random[i] % (sizeof(digits) - 1)]);
}

static int check_out(const struct clone *clone, const struct git *git, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf branch = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    if (clone->order->branch != NULL)
        return git_run(git, GIT_ARGS("checkout", "--quiet", clone->order->branch, "--"), &said,
                       err);
    append_new_branch(&branch);
    return git_run(git, GIT_ARGS("checkout", "--quiet", "-b", branch.text), &said, err);
}

/* A missing branch is reported, but the repository is kept. */
static int make(const struct clone *clone, struct strbuf *problem_out, struct error *err)
{
    CLEANUP(git_done) struct git beside = GIT_INIT;
    CLEANUP(git_done) struct git inside = GIT_INIT;
    struct error no_branch = ERROR_INIT;

    folder_remove(clone->fresh.text);
    if (git_open(&beside, clone->parent.len > 0 ? clone->parent.text : "/", err) < 0)
        return -1;
    confine(clone, &beside);
    if (fetch(clone, &beside, err) < 0 || git_open(&inside, clone->fresh.text, err) < 0)
        return -1;
    confine(clone, &inside);
    if (keep_helper(clone, &inside, clone->fresh.text, err) < 0)
        return -1;
    if (check_out(clone, &inside, &no_branch) < 0)
        strbuf_append(problem_out, no_branch.message);
    if (rename(clone->fresh.text, clone->target.text) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "Moving it to %s: %m", clone->target.text);
    return 0;
}

/* An existing clone may lack the helper for a later credential, or be on another branch. */
static int renew(const struct clone *clone, struct strbuf *problem_out, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf branch = STRBUF_INIT;
    struct error no_branch = ERROR_INIT;

    if (git_open(&git, clone->target.text, err) < 0)
        return -1;
    confine(clone, &git);
    if (keep_helper(clone, &git, clone->target.text, err) < 0)
        return -1;
    if (clone->order->branch == NULL ||
        (git_ask(&git, GIT_ARGS("symbolic-ref", "--quiet", "--short", "HEAD"), &branch) &&
         text_equal(branch.text, clone->order->branch)))
        return 0;
    if (check_out(clone, &git, &no_branch) < 0)
        strbuf_append(problem_out, no_branch.message);
    return 0;
}

int clone_run(const struct clone_order *order, struct clone_result *result, struct error *err)
{
    CLEANUP(clone_done) struct clone clone = CLONE_INIT;

    clone.order = order;
    if (check_order(order, err) < 0 || name_places(&clone, err) < 0 ||
        lock_parent(&clone, err) < 0 || inspect_target(&clone, &result->was_there, err) < 0)
        return -1;
    if (result->was_there) {
        if (renew(&clone, &result->problem, err) < 0)
            return -1;
    } else if (make(&clone, &result->problem, err) < 0) {
        folder_remove(clone.fresh.text);
        return -1;
    }
    strbuf_append(&result->path, clone.target.text);
    return 0;
}
