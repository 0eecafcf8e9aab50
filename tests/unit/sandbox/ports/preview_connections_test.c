/*
 * Connections of browsers to the sandbox's programs: which program gets which bytes, and when a
 * connection ends.
 */
#include "sandbox/ports/preview_listener.h"

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
#include "sandbox/core/event_loop.h"
#include "support/descriptors.h"
#include "unit/sandbox/tools_tests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum {
    WITHIN_MS = 20000,
    HEAD_MAX_BYTES = 64 * 1024,
    MAX_CONNECTIONS_OPEN = 256,
    MAX_TURNS = 2000
};

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

struct bench {
    struct event_loop *loop;
    struct preview_listener *listener;
    struct event_loop_timer watchdog;
    union address address;
};

static void on_late(void *owner)
{
    (void)owner;
    fail_msg("nothing happened");
}

/* A listening socket on loopback, or -1 without that family. */
static int listen_on(int family, union address *address)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t len = family == AF_INET ? sizeof(address->four) : sizeof(address->six);

    memset(address, 0, sizeof(*address));
    address->any.sa_family = (sa_family_t)family;
    if (family == AF_INET)
        address->four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        address->six.sin6_addr = in6addr_loopback;
    if (fd >= 0 && (bind(fd, &address->any, len) < 0 || listen(fd, 8) < 0))
        fd_close(&fd);
    if (fd >= 0)
        assert_int_equal(getsockname(fd, &address->any, &len), 0);
    return fd;
}

static int port_of(const union address *address)
{
    return ntohs(address->any.sa_family == AF_INET ? address->four.sin_port
                                                   : address->six.sin6_port);
}

static int set_up(void **state)
{
    struct bench *bench = NEW(struct bench);
    struct error err = ERROR_INIT;

    bench->watchdog = (struct event_loop_timer){.expired = on_late};
    assert_int_equal(event_loop_new(&bench->loop, &err), 0);
    assert_int_equal(preview_listener_open(bench->loop, listen_on(AF_INET, &bench->address),
                                           &bench->listener, &err),
                     0);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    preview_listener_close(bench->listener);
    preview_listener_close(NULL);
    event_loop_free(bench->loop);
    mem_free(bench);
    return 0;
}

static void dispatch(struct bench *bench)
{
    event_loop_timer_set(bench->loop, &bench->watchdog, WITHIN_MS);
    event_loop_dispatch(bench->loop);
    event_loop_timer_clear(bench->loop, &bench->watchdog);
}

static int connect_client(const struct bench *bench)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, &bench->address.any, sizeof(bench->address.four)), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Runs the loop until the socket has given so many bytes, or its end. */
static void hear(struct bench *bench, int fd, size_t len, struct strbuf *out)
{
    char bytes[4096];
    ssize_t n = 1;
    int n_turns = 0;

    strbuf_reset(out);
    while (n != 0 && out->len < len) {
        if (++n_turns > MAX_TURNS)
            fail_msg("nothing happened in many turns");
        n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n > 0)
            strbuf_append_bytes(out, bytes, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            dispatch(bench);
        else
            n = 0;
    }
}

static void assert_heard(struct bench *bench, int fd, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;

    hear(bench, fd, strlen(text), &heard);
    assert_string_equal(heard.text, text);
}

static void assert_ends(struct bench *bench, int fd)
{
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;

    hear(bench, fd, 1, &heard);
    assert_int_equal(heard.len, 0);
}

static int accept_program(struct bench *bench, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    while (fd < 0) {
        assert_int_equal(errno, EAGAIN);
        dispatch(bench);
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    }
    return fd;
}

static void say_head(int client, int port)
{
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;

    strbuf_appendf(&head, "GET / HTTP/1.1\r\nX-Deft-Port: %d\r\nHost: x\r\n\r\nbody", port);
    say(client, head.text);
}

static void program_gets_the_request_and_answers(void **state)
{
    static const int families[] = {AF_INET, AF_INET6};
    struct bench *bench = *state;
    int n_before = descriptors_count();

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        union address address;
        CLEANUP(fd_close) int listener = listen_on(families[i], &address);
        CLEANUP(fd_close) int client = -1;
        CLEANUP(fd_close) int program = -1;

        if (listener < 0)
            continue;
        client = connect_client(bench);
        say_head(client, port_of(&address));
        program = accept_program(bench, listener);
        assert_heard(bench, program, "GET / HTTP/1.1\r\nHost: x\r\n\r\nbody");
        say(program, "HTTP/1.1 200 OK\r\n\r\n");
        assert_heard(bench, client, "HTTP/1.1 200 OK\r\n\r\n");
        say(client, "more");
        assert_heard(bench, program, "more");
        fd_close(&program);
        assert_ends(bench, client);
        fd_close(&client);
        fd_close(&listener);
        while (descriptors_count() > n_before)
            dispatch(bench);
    }
}

static void head_may_come_in_pieces(void **state)
{
    struct bench *bench = *state;
    union address address;
    CLEANUP(fd_close) int listener = listen_on(AF_INET, &address);
    CLEANUP(fd_close) int client = connect_client(bench);
    CLEANUP(fd_close) int program = -1;
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;

    strbuf_appendf(&head, "GET / HTTP/1.1\r\nX-Deft-Port: %d\r\n", port_of(&address));
    say(client, head.text);
    /* It is accepted, then read: neither connects to the program yet. */
    dispatch(bench);
    dispatch(bench);
    assert_int_equal(accept4(listener, NULL, NULL, SOCK_CLOEXEC), -1);
    say(client, "\r\n");
    program = accept_program(bench, listener);
    assert_heard(bench, program, "GET / HTTP/1.1\r\n\r\n");
}

/* More than is read at once: what follows the head is not taken for a head again. */
static void body_behind_the_head_arrives_whole(void **state)
{
    struct bench *bench = *state;
    union address address;
    CLEANUP(fd_close) int listener = listen_on(AF_INET, &address);
    CLEANUP(fd_close) int client = connect_client(bench);
    CLEANUP(fd_close) int program = -1;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;

    for (int i = 0; body.len < 60000; i++)
        strbuf_appendf(&body, "%d\r\n\r\n", i);
    say_head(client, port_of(&address));
    say(client, body.text);
    program = accept_program(bench, listener);
    strbuf_append(&expected, "GET / HTTP/1.1\r\nHost: x\r\n\r\nbody");
    strbuf_append(&expected, body.text);
    hear(bench, program, expected.len, &heard);
    assert_string_equal(heard.text, expected.text);
}

static void request_for_no_program_is_closed(void **state)
{
    struct bench *bench = *state;
    union address address;
    int listener = listen_on(AF_INET, &address);
    int n_before = descriptors_count() - 1;

    /* No program listens there any more. */
    fd_close(&listener);
    for (int i = 0; i < 4; i++) {
        CLEANUP(fd_close) int client = connect_client(bench);

        if (i == 0)
            say_head(client, port_of(&address));
        else if (i == 1)
            say(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        else if (i == 2)
            say_head(client, 0);
        else
            assert_int_equal(shutdown(client, SHUT_WR), 0);
        assert_ends(bench, client);
        fd_close(&client);
        assert_int_equal(descriptors_count(), n_before);
    }
}

static void head_has_a_limit(void **state)
{
    struct bench *bench = *state;
    CLEANUP(fd_close) int client = connect_client(bench);
    char line[1024];

    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    for (size_t sent = 0; sent < 2 * (size_t)HEAD_MAX_BYTES; sent += sizeof(line)) {
        if (send(client, line, sizeof(line) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
        dispatch(bench);
        if (recv(client, line, 1, MSG_DONTWAIT | MSG_PEEK) >= 0 || errno != EAGAIN)
            return;
    }
    fail_msg("a head of any size is read");
}

static void ended_connections_leave_their_places(void **state)
{
    struct bench *bench = *state;
    union address address;
    CLEANUP(fd_close) int listener = listen_on(AF_INET, &address);
    CLEANUP(fd_close) int client = -1;
    CLEANUP(fd_close) int program = -1;

    for (int i = 0; i <= MAX_CONNECTIONS_OPEN; i++) {
        fd_close(&client);
        client = connect_client(bench);
        assert_int_equal(shutdown(client, SHUT_WR), 0);
        assert_ends(bench, client);
    }
    fd_close(&client);
    client = connect_client(bench);
    say_head(client, port_of(&address));
    program = accept_program(bench, listener);
    assert_heard(bench, program, "GET / HTTP/1.1\r\nHost: x\r\n\r\nbody");
}

/* It owns the socket also then. */
static void listener_that_cannot_be_watched_is_an_error(void **state)
{
    struct bench *bench = *state;
    struct preview_listener *listener = NULL;
    struct error err = ERROR_INIT;
    int n_before = descriptors_count();
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC); /* a regular file is never ready */

    assert_true(fd >= 0);
    assert_int_equal(preview_listener_open(bench->loop, fd, &listener, &err), -1);
    assert_null(listener);
    assert_int_equal(descriptors_count(), n_before);
}

static void connections_end_with_the_listener(void **state)
{
    struct bench *bench = *state;
    union address address;
    CLEANUP(fd_close) int listener = listen_on(AF_INET, &address);
    CLEANUP(fd_close) int waiting = connect_client(bench);
    CLEANUP(fd_close) int client = connect_client(bench);
    CLEANUP(fd_close) int program = -1;
    struct error err = ERROR_INIT;

    say_head(client, port_of(&address));
    program = accept_program(bench, listener);
    assert_heard(bench, program, "GET / HTTP/1.1\r\nHost: x\r\n\r\nbody");
    preview_listener_close(bench->listener);
    assert_ends(bench, client);
    assert_ends(bench, program);
    assert_ends(bench, waiting);
    assert_int_equal(preview_listener_open(bench->loop, listen_on(AF_INET, &bench->address),
                                           &bench->listener, &err),
                     0);
}

int preview_connections_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(program_gets_the_request_and_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(head_may_come_in_pieces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(body_behind_the_head_arrives_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(request_for_no_program_is_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(head_has_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ended_connections_leave_their_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(listener_that_cannot_be_watched_is_an_error, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(connections_end_with_the_listener, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("sandbox/preview_connections", tests, NULL, NULL);
}
