#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strbuf.h"

enum { CHUNK_BYTES = 16384 };

void fd_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

int fd_take(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

static int read_all(int fd, size_t max_bytes, struct strbuf *out, struct error *err)
{
    size_t start = out->len;
    char chunk[CHUNK_BYTES];
    ssize_t n = 0;

    do {
        n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno != EINTR)
            return error_set(err, ERROR_UNAVAILABLE, "read: %m");
        if (n > 0)
            strbuf_append_bytes(out, chunk, (size_t)n);
        if (out->len - start > max_bytes)
            return error_set(err, ERROR_TOO_LARGE, "larger than %zu bytes", max_bytes);
    } while (n != 0);
    return 0;
}

int file_read(const char *path, size_t max_bytes, struct strbuf *out, struct error *err)
{
    /* A non-file, such as a FIFO, can block its reader, and may just have replaced the file. */
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return error_set(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_UNAVAILABLE, "open %s: %m",
                         path);
    if (read_all(fd, max_bytes, out, err) < 0)
        return error_wrap(err, "%s", path);
    return 0;
}

int fd_write_all(int fd, const void *bytes, size_t len, struct error *err)
{
    const char *at = bytes;

    while (len > 0) {
        ssize_t n = write(fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(err, ERROR_UNAVAILABLE, "write: %m");
        at += n;
        len -= (size_t)n;
    }
    return 0;
}
