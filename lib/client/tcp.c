#include "client/tcp.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/file.h"

enum { KEEPALIVE_S = 60 };

static const struct {
    int level;
    int option;
    int value;
} options[] = {
    {IPPROTO_TCP, TCP_NODELAY, 1},
    {SOL_SOCKET, SO_KEEPALIVE, 1},
    {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S},
    {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_S},
};

int tcp_open(const struct sockaddr_in *address)
{
    CLEANUP(fd_close) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        (void)setsockopt(fd, options[i].level, options[i].option, &options[i].value,
                         sizeof(options[i].value));
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 && errno != EINPROGRESS)
        return -1;
    return fd_take(&fd);
}
