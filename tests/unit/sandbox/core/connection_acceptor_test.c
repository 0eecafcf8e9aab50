#include "sandbox/core/connection_acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "unit/sandbox/sandbox_test.h"

enum { N_MAX = 2, N_CLIENTS = 4, N_TURNS = 5, PAUSE_MS = 100 };

struct bench {
    struct event_loop *loop;
    struct connection_acceptor acceptor;
    struct sockaddr_in address;
    int clients[N_CLIENTS];
    int accepted[N_CLIENTS];
    size_t n_accepted;
};

static void on_accepted(void *owner, int fd)
{
    struct bench *bench = owner;

    bench->accepted[bench->n_accepted++] = fd;
    bench->acceptor.n_open++;
}

static int set_up(void **state)
{
    struct bench *bench = NEW(struct bench);
    struct error err = ERROR_INIT;
    socklen_t len = sizeof(bench->address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    bench->address = (struct sockaddr_in){.sin_family = AF_INET};
    bench->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (const struct sockaddr *)&bench->address, len), 0);
    assert_int_equal(listen(fd, N_CLIENTS), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&bench->address, &len), 0);
    for (size_t i = 0; i < N_CLIENTS; i++)
        bench->clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bench->acceptor = (struct connection_acceptor){
        .source = {.fd = fd}, .accepted = on_accepted, .owner = bench, .n_max = N_MAX};
    assert_int_equal(event_loop_new(&bench->loop, &err), 0);
    assert_int_equal(connection_acceptor_start(&bench->acceptor, bench->loop, &err), 0);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    connection_acceptor_done(&bench->acceptor);
    event_loop_free(bench->loop);
    for (size_t i = 0; i < N_CLIENTS; i++)
        fd_close(&bench->clients[i]);
    for (size_t i = 0; i < bench->n_accepted; i++)
        fd_close(&bench->accepted[i]);
    mem_free(bench);
    return 0;
}

static void connect_client(struct bench *bench, size_t i)
{
    assert_int_equal(connect(bench->clients[i], (const struct sockaddr *)&bench->address,
                             sizeof(bench->address)),
                     0);
}

static void connections_have_a_limit(void **state)
{
    struct bench *bench = *state;
    char byte = 0;

    for (size_t i = 0; i < N_MAX + 1; i++) {
        connect_client(bench, i);
        event_loop_dispatch(bench->loop);
    }
    assert_int_equal(bench->n_accepted, N_MAX);
    assert_int_equal(recv(bench->clients[N_MAX], &byte, 1, 0), 0);
    /* One that ends leaves its place. */
    bench->acceptor.n_open--;
    connect_client(bench, N_MAX + 1);
    event_loop_dispatch(bench->loop);
    assert_int_equal(bench->n_accepted, N_MAX + 1);
}

/* Without a pause each turn would come back at once, and use up a processor. */
static void accepting_pauses_while_descriptors_are_short(void **state)
{
    struct bench *bench = *state;
    struct rlimit before = {0};
    struct rlimit none = {0};
    int64_t begun_ms = 0;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    connect_client(bench, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    begun_ms = clock_monotonic_ms();
    for (int i = 0; i < N_TURNS; i++)
        event_loop_dispatch(bench->loop);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    /* A turn that fails and one that ends the pause alternate. */
    assert_true(clock_monotonic_ms() - begun_ms >= N_TURNS / 2 * PAUSE_MS);
    assert_int_equal(bench->n_accepted, 0);
    while (bench->n_accepted == 0)
        event_loop_dispatch(bench->loop);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int connection_acceptor_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(connections_have_a_limit),
        TEST(accepting_pauses_while_descriptors_are_short),
    };

    return cmocka_run_group_tests_name("connection_acceptor", tests, NULL, NULL);
}
