#include "sandbox/git/git_hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/identity.h"
#include "sandbox/git/git.h"

enum { MAX_HOOK_BYTES = 1024 * 1024, HOOK_MODE = 0755 };

#define SCRIPT ".openhands/pre-commit.sh"
#define OURS "This hook was installed by OpenHands"

/* The script need not be executable: without that its first line is ignored and sh runs it. */
static const char hook[] =
    "#!/bin/sh\n"
    "# " OURS "\n"
    "# It calls the hook that was here before, then the repository's " SCRIPT ".\n"
    "local_hook=\"$(dirname \"$0\")/pre-commit.local\"\n"
    "if [ -x \"$local_hook\" ]; then\n"
    "    \"$local_hook\" \"$@\" || exit $?\n"
    "fi\n"
    "if [ -x " SCRIPT " ]; then\n"
    "    exec ./" SCRIPT " \"$@\"\n"
    "elif [ -f " SCRIPT " ]; then\n"
    "    exec sh ./" SCRIPT " \"$@\"\n"
    "fi\n";

static bool is_there(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0;
}

static bool is_ours(const char *path)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    return file_read(path, MAX_HOOK_BYTES, &text, &ignored) == 0 && strstr(text.text, OURS) != NULL;
}

/* Written atomically: git may be committing. */
static int write_hook(const char *path, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf fresh = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;

    strbuf_appendf(&fresh, "%s.deft-new", path);
    (void)unlink(fresh.text);
    fd = open(fresh.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, HOOK_MODE);
    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "writing %s: %m", path);
    if (fd_write_all(fd, hook, sizeof(hook) - 1, err) < 0)
        return -1;
    if (fchmod(fd, HOOK_MODE) < 0 || rename(fresh.text, path) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "writing %s: %m", path);
    return 0;
}

static int step_aside(const char *path, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf local = STRBUF_INIT;

    if (!is_there(path) || is_ours(path))
        return 0;
    strbuf_appendf(&local, "%s.local", path);
    if (is_there(local.text))
        return error_set(err, ERROR_CONFLICT, "There is another hook, and %s already exists",
                         local.text);
    if (rename(path, local.text) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "moving %s: %m", path);
    return 0;
}

/* Worktrees share the hooks of their repository. */
static int find_hooks(const char *path, struct strbuf *out, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf common = STRBUF_INIT;

    if (git_open(&git, path, err) < 0)
        return -1;
    if (!git_ask(&git, GIT_ARGS("rev-parse", "--git-common-dir"), &common))
        return error_set(err, ERROR_INVALID, "%s is not a git repository", path);
    if (common.text[0] != '/')
        strbuf_appendf(out, "%s/", path);
    strbuf_appendf(out, "%s/hooks", common.text);
    if (mkdir(out->text, HOOK_MODE) < 0 && errno != EEXIST)
        return error_set(err, ERROR_UNAVAILABLE, "creating %s: %m", out->text);
    return 0;
}

int git_hooks_install(const char *path, bool *installed_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf place = STRBUF_INIT;

    strbuf_appendf(&script, "%s/" SCRIPT, path);
    *installed_out = identity_has_access(script.text, R_OK);
    if (!*installed_out)
        return 0;
    if (find_hooks(path, &place, err) < 0)
        return -1;
    strbuf_append(&place, "/pre-commit");
    if (step_aside(place.text, err) < 0)
        return -1;
    return write_hook(place.text, err);
}
