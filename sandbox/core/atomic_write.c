#include "sandbox/core/atomic_write.h"

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

enum error_code atomic_write_error_code(void)
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

int atomic_write_begin(struct atomic_write *file, const char *path, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    struct uuid id = uuid_random();
    const char *slash = NULL;
    struct stat old;

    file->path = resolve(path);
    slash = strrchr(file->path, '/');
    strbuf_append_bytes(&name, file->path, slash != NULL ? (size_t)(slash + 1 - file->path) : 0);
    strbuf_appendf(&name, ".deft-%s.tmp", id.text);
    file->temporary = strbuf_take(&name);
    file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, NEW_FILE_MODE);
    if (file->fd < 0) {
        enum error_code code = atomic_write_error_code();

        mem_freep(&file->temporary);
        return error_set(err, code, "writing %s: %m", path);
    }
    if (stat(file->path, &old) == 0)
        keep_mode_and_owner(file->fd, &old);
    return 0;
}

int atomic_write_commit(struct atomic_write *file, struct error *err)
{
    if (fdatasync(file->fd) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "writing %s: %m", file->path);
    if (rename(file->temporary, file->path) < 0)
        return error_set(err, atomic_write_error_code(), "writing %s: %m", file->path);
    mem_freep(&file->temporary);
    return 0;
}

void atomic_write_done(struct atomic_write *file)
{
    if (file == NULL)
        return;
    fd_close(&file->fd);
    if (file->temporary != NULL)
        (void)unlink(file->temporary);
    mem_freep(&file->temporary);
    mem_freep(&file->path);
}
