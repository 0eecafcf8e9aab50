/*
 * Bytes between two connections: all of them, in order, until both sides have ended; and the socket
 * that the server listens on.
 */
#include "sandbox/core/tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/http/listen_socket.h"
#include "unit/sandbox/core/core_tests.h"

enum { WITHIN_MS = 20000, MANY_BYTES = 3 * 1024 * 1024, READ_BYTES = 100000 };

struct bench {
    struct event_loop *loop;
    struct event_loop_timer watchdog;
    struct tunnel *tunnel;
    int ends[2]; /* the other ends of its two sides */
    int n_ended;
};

static void on_late(void *owner)
{
    (void)owner;
    fail_msg("nothing happened");
}

static void on_ended(void *owner)
{
    struct bench *bench = owner;

    bench->n_ended++;
    tunnel_free(bench->tunnel);
    bench->tunnel = NULL;
}

static int set_up(void **state)
{
    struct bench *bench = NEW(struct bench);
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
    struct error err = ERROR_INIT;
    int one[2] = {-1, -1};
    int other[2] = {-1, -1};

    assert_int_equal(event_loop_new(&bench->loop, &err), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, one), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, other), 0);
    bench->ends[0] = one[1];
    bench->ends[1] = other[1];
    bench->watchdog = (struct event_loop_timer){.expired = on_late};
    event_loop_timer_set(bench->loop, &bench->watchdog, WITHIN_MS);
    strbuf_append(&first, "first ");
    bench->tunnel =
        tunnel_new(bench->loop, one[0], other[0], &first, &(struct tunnel_owner){on_ended, bench});
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    tunnel_free(bench->tunnel);
    event_loop_timer_clear(bench->loop, &bench->watchdog);
    event_loop_free(bench->loop);
    fd_close(&bench->ends[0]);
    fd_close(&bench->ends[1]);
    mem_free(bench);
    return 0;
}

/* Reads so many bytes, or to the end. */
static void hear(struct bench *bench, int i, size_t len, struct strbuf *out)
{
    CLEANUP(mem_freep) char *bytes = mem_alloc(READ_BYTES);
    ssize_t n = 1;

    while (n != 0 && out->len < len) {
        n = read(bench->ends[i], bytes, READ_BYTES);
        if (n > 0)
            strbuf_append_bytes(out, bytes, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            event_loop_dispatch(bench->loop);
        else
            n = 0;
    }
}

static void assert_heard(struct bench *bench, int i, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;

    hear(bench, i, strlen(text), &heard);
    assert_string_equal(heard.text, text);
}

static void assert_ends(struct bench *bench, int i)
{
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;

    hear(bench, i, 1, &heard);
    assert_int_equal(heard.len, 0);
}

static void bytes_go_both_ways_until_both_have_ended(void **state)
{
    struct bench *bench = *state;

    assert_int_equal(write(bench->ends[0], "ping", 4), 4);
    assert_heard(bench, 1, "first ping");
    assert_int_equal(write(bench->ends[1], "pong", 4), 4);
    assert_heard(bench, 0, "pong");
    /* One side ends; the other may still be sent to. */
    assert_int_equal(write(bench->ends[0], "last", 4), 4);
    assert_int_equal(shutdown(bench->ends[0], SHUT_WR), 0);
    assert_heard(bench, 1, "last");
    assert_ends(bench, 1);
    assert_int_equal(bench->n_ended, 0);
    assert_int_equal(write(bench->ends[1], "answer", 6), 6);
    assert_heard(bench, 0, "answer");
    assert_int_equal(shutdown(bench->ends[1], SHUT_WR), 0);
    assert_ends(bench, 0);
    while (bench->n_ended == 0)
        event_loop_dispatch(bench->loop);
    assert_int_equal(bench->n_ended, 1);
}

static void slow_reader_gets_everything(void **state)
{
    struct bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf sent = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;
    size_t at = 0;

    for (int i = 0; sent.len < MANY_BYTES; i++)
        strbuf_appendf(&sent, "%d,", i);
    assert_heard(bench, 1, "first ");
    /* First only written, until neither the sockets nor the tunnel take more. */
    for (int idle = 0; idle < 3 && at < sent.len;) {
        ssize_t n = write(bench->ends[0], sent.text + at, sent.len - at);

        idle = n > 0 ? 0 : idle + 1;
        at += n > 0 ? (size_t)n : 0;
        if (n > 0)
            event_loop_dispatch(bench->loop);
    }
    assert_true(at < sent.len);
    while (heard.len < sent.len) {
        if (at < sent.len) {
            ssize_t n = write(bench->ends[0], sent.text + at, sent.len - at);

            at += n > 0 ? (size_t)n : 0;
            if (at == sent.len)
                assert_int_equal(shutdown(bench->ends[0], SHUT_WR), 0);
        }
        hear(bench, 1, heard.len + 1, &heard);
    }
    assert_int_equal(heard.len, sent.len);
    assert_memory_equal(heard.text, sent.text, sent.len);
    assert_ends(bench, 1);
}

static void side_that_is_gone_ends_the_tunnel(void **state)
{
    struct bench *bench = *state;

    fd_close(&bench->ends[1]);
    while (bench->n_ended == 0) {
        (void)!send(bench->ends[0], "x", 1, MSG_NOSIGNAL);
        event_loop_dispatch(bench->loop);
    }
    assert_ends(bench, 0);
    tunnel_free(NULL);
}

/* --- the server's socket --- */

static void server_listens_where_it_is_told(void **state)
{
    static const struct {
        const char *bind;
        int family;
    } cases[] = {{"127.0.0.1", AF_INET}, {"0.0.0.0", AF_INET}, {"::1", AF_INET6}};
    struct error err = ERROR_INIT;
    CLEANUP(fd_close) int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in6 loopback = {.sin6_family = AF_INET6,
                                          .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool has_six = bind(six, (const struct sockaddr *)&loopback, sizeof(loopback)) == 0;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct action_config config = {.bind = cases[i].bind};
        CLEANUP(fd_close) int fd = -1;
        struct sockaddr_storage address = {0};
        socklen_t len = sizeof(address);
        int again = -1;

        if (cases[i].family == AF_INET6 && !has_six)
            continue;
        assert_int_equal(listen_socket_open(&config, &fd, &err), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
        assert_int_equal(address.ss_family, cases[i].family);
        assert_in_range(listen_socket_port(fd), 1, 65535);
        assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
        config.port = listen_socket_port(fd);
        assert_int_equal(listen_socket_open(&config, &again, &err), -1);
        assert_int_equal(err.code, ERROR_UNAVAILABLE);
        assert_int_equal(again, -1);
    }
    assert_int_equal(listen_socket_open(&(struct action_config){.bind = "localhost"}, &six, &err),
                     -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.message, "DEFT_ACTION_BIND: 'localhost' is not an IP address");
    assert_int_equal(listen_socket_port(-1), 0);
}

static void inherited_socket_must_listen(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CLEANUP(fd_close) int listening = socket(AF_INET, SOCK_STREAM, 0);
    int taken = -1;

    (void)state;
    assert_int_equal(listen_socket_inherit(fd, &taken, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(listen_socket_inherit(54321, &taken, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.message, "descriptor 54321 is not a listening socket");
    assert_int_equal(taken, -1);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(listen_socket_inherit(listening, &taken, &err), 0);
    assert_int_equal(taken, listening);
    assert_int_equal(fcntl(taken, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(taken, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

int tunnel_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_go_both_ways_until_both_have_ended, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(slow_reader_gets_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(side_that_is_gone_ends_the_tunnel, set_up, tear_down),
        cmocka_unit_test(server_listens_where_it_is_told),
        cmocka_unit_test(inherited_socket_must_listen),
    };

    return cmocka_run_group_tests_name("sandbox/tunnel", tests, NULL, NULL);
}
