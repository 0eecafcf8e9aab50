/*
 * Connections as they are opened: without waiting, and with what keeps them alive.
 */
#include "client/tcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/file.h"

/* Listens on a free port; its address in *address_out. */
static int listen_somewhere(struct sockaddr_in *address_out)
{
    socklen_t len = sizeof(*address_out);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *address_out =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || bind(fd, (const struct sockaddr *)address_out, len) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)address_out, &len) < 0)
        fail_msg("%m");
    return fd;
}

static void connection_has_its_options(void **state)
{
    static const struct {
        int level;
        int option;
        int value; /* 1: on */
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 60},
        {IPPROTO_TCP, TCP_KEEPINTVL, 60},
    };
    struct sockaddr_in address;
    CLEANUP(fd_close) int listening = listen_somewhere(&address);
    CLEANUP(fd_close) int fd = tcp_open(&address);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 60000), 1);
    assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        int value = -1;
        socklen_t len = sizeof(value);

        assert_int_equal(getsockopt(fd, options[i].level, options[i].option, &value, &len), 0);
        assert_int_equal(options[i].value == 1 ? value != 0 : value, options[i].value);
    }
}

/* An address without a way to it is refused at once. */
static void connection_to_nowhere_is_none(void **state)
{
    const struct sockaddr_in address = {.sin_family = AF_INET6};

    (void)state;
    assert_int_equal(tcp_open(&address), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connection_has_its_options),
        cmocka_unit_test(connection_to_nowhere_is_none),
    };

    return cmocka_run_group_tests_name("tcp", tests, NULL, NULL);
}
