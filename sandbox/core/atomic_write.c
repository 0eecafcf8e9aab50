#include "sandbox/core/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/uuid.h"

enum { NEW_FILE_MODE = 0666 };

enum error_code replace_error_code(void)
{
    switch (errno) {
    case EACCES:
    case EPERM:
    case EROFS:
        return ERROR_FORBIDDEN;
    case ENAMETOOLONG:
    case ENOENT: /* e.g. in /proc, where nothing can be created */
    case ELOOP:
        return ERROR_INVALID;
    default:
        return ERROR_UNAVAILABLE;
    }
}

static void keep_mode_and_owner(int fd, const struct stat *old)
{
    /* The file stays ours if its owner cannot be restored. Mode last: chown clears set-id bits. */
    if (fchown(fd, old->st_uid, old->st_gid) < 0)
        errno = 0;
    (void)fchmod(fd, old->st_mode & 07777U);
}

static char *resolve(const char *path)
{
    char *resolved = realpath(path, NULL);
    char *copy = mem_dup_text(resolved != NULL ? resolved : path);

    free(resolved);
    return copy;
}

int replace_begin(struct replace *replace, const char *path, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    struct uuid id = uuid_random();
    const char *slash = NULL;
    struct stat old;

    replace->path = resolve(path);
    slash = strrchr(replace->path, '/');
    strbuf_append_bytes(&name, replace->path,
                        slash != NULL ? (size_t)(slash + 1 - replace->path) : 0);
    strbuf_appendf(&name, ".deft-%s.tmp", id.text);
    replace->temporary = strbuf_take(&name);
    replace->fd = open(replace->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, NEW_FILE_MODE);
    if (replace->fd < 0) {
        enum error_code code = replace_error_code();

        mem_freep(&replace->temporary);
        return error_set(err, code, "writing %s: %m", path);
    }
    if (stat(replace->path, &old) == 0)
        keep_mode_and_owner(replace->fd, &old);
    return 0;
}

int replace_commit(struct replace *replace, struct error *err)
{
    if (fdatasync(replace->fd) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "writing %s: %m", replace->path);
    if (rename(replace->temporary, replace->path) < 0)
        return error_set(err, replace_error_code(), "writing %s: %m", replace->path);
    mem_freep(&replace->temporary);
    return 0;
}

void replace_done(struct replace *replace)
{
    if (replace == NULL)
        return;
    fd_close(&replace->fd);
    if (replace->temporary != NULL)
        (void)unlink(replace->temporary);
    mem_freep(&replace->temporary);
    mem_freep(&replace->path);
}
