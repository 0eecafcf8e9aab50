#include "gateway/core/listener.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

enum { BACKLOG = 4096 };

int listener_open(const char *socket_path, int *fd_out, struct error *err)
{
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "socket: %m");
    if (strlen(socket_path) >= sizeof(address.sun_path))
        return error_set(err, ERROR_INVALID, "%s: too long for a socket", socket_path);
    memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
    (void)unlink(socket_path);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        chmod(socket_path, 0660) < 0 || listen(fd, BACKLOG) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "listening on %s: %m", socket_path);
    *fd_out = fd_take(&fd);
    return 0;
}
