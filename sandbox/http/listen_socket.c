#include "sandbox/http/listen_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/file.h"
#include "sandbox/core/action_config.h"

enum { BACKLOG = 128 };

static int parse_address(const struct action_config *config, struct sockaddr_storage *address,
                         socklen_t *len_out, struct error *err)
{
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;

    *address = (struct sockaddr_storage){0};
    if (inet_pton(AF_INET, config->bind, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)config->port);
        *len_out = sizeof(*four);
        return 0;
    }
    if (inet_pton(AF_INET6, config->bind, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)config->port);
        *len_out = sizeof(*six);
        return 0;
    }
    return error_set(err, ERROR_INVALID, "DEFT_ACTION_BIND: '%.60s' is not an IP address",
                     config->bind);
}

/* Inherited from the process that started us, it may belong to a network that we are not in. */
int listen_socket_inherit(int64_t number, int *fd_out, struct error *err)
{
    int fd = (int)number;
    int is_listening = 0;
    socklen_t len = sizeof(is_listening);

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &len) < 0 || is_listening == 0)
        return error_set(err, ERROR_INVALID, "descriptor %d is not a listening socket", fd);
    /* Commands must not inherit it. */
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "descriptor %d: %m", fd);
    *fd_out = fd;
    return 0;
}

int listen_socket_open(const struct action_config *config, int *fd_out, struct error *err)
{
    CLEANUP(fd_close) int fd = -1;
    struct sockaddr_storage address = {0};
    socklen_t len = 0;
    int on = 1;

    if (parse_address(config, &address, &len, err) < 0)
        return -1;
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "socket: %m");
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "listening on %s port %lld: %m", config->bind,
                         (long long)config->port);
    *fd_out = fd_take(&fd);
    return 0;
}

int listen_socket_port(int fd)
{
    struct sockaddr_in6 address = {0};
    socklen_t len = sizeof(address);

    /* The port is at the same offset for both families. */
    if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        return 0;
    return ntohs(address.sin6_port);
}
