#include "runtime/egress/dns_tcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "runtime/core/service.h"
#include "runtime/egress/dns_answer.h"
#include "runtime/egress/dns_message.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_denials.h"
#include "runtime/egress/egress_state.h"
#include "unit/runtime/runtime_test.h"

/* A service whose sandboxes may reach `localhost` and `allowed.test`; nothing is loaded or stored.
 */
struct fixture {
    struct runtime_settings settings;
    struct service service;
    struct dns_source source;
};

static int setup(void **state)
{
    struct fixture *fixture = NEW(struct fixture);
    struct error err = ERROR_INIT;

    fixture->settings = (struct runtime_settings){.backend = "docker",
                                                  .has_network_rules = 1,
                                                  .egress = "list",
                                                  .egress_allow = "localhost allowed.test:443",
                                                  .docker = {.instance = "one"},
                                                  .process = {.network = "none"}};
    assert_int_equal(egress_new(&fixture->settings, &fixture->service.egress, &err), 0);
    fixture->settings.has_network_rules = 0;
    fixture->service.denials = egress_denials_new(&fixture->settings);
    fixture->source = (struct dns_source){.bridge_index = 7, .bridge = "dsb0000000007"};
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    egress_denials_free(fixture->service.denials);
    egress_free(fixture->service.egress);
    mem_free(fixture);
    return 0;
}

/* Writes a query without EDNS; its length. */
static size_t make_query(const char *name, uint8_t type, unsigned char packet[DNS_PACKET_BYTES])
{
    static const unsigned char header[] = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    const unsigned char tail[] = {0, 0, type, 0, 1};
    size_t at = sizeof(header);

    memcpy(packet, header, sizeof(header));
    while (*name != '\0') {
        size_t len = strcspn(name, ".");

        packet[at] = (unsigned char)len;
        memcpy(packet + at + 1, name, len);
        at += 1 + len;
        name += len + (name[len] == '.');
    }
    memcpy(packet + at, tail, sizeof(tail));
    return at + sizeof(tail);
}

/* Of no bridge. */
#define UNUSED_INDEX 4000000U

#define FRAME_BYTES (2 + DNS_PACKET_BYTES)

/* A query with its length before it; the frame's length. */
static size_t make_frame(const char *name, unsigned char frame[FRAME_BYTES])
{
    size_t len = make_query(name, DNS_TYPE_AAAA, frame + 2);

    frame[0] = (unsigned char)(len >> 8);
    frame[1] = (unsigned char)len;
    return 2 + len;
}

/* Sends the bytes, serves the connection, and returns the number of bytes of all replies. */
static size_t serve(struct fixture *fixture, const unsigned char *bytes, size_t len,
                    unsigned char *replies, size_t size)
{
    CLEANUP(fd_close) int client = -1;
    int pair[2] = {-1, -1};
    size_t n = 0;
    ssize_t got = 1;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    client = pair[0];
    assert_int_equal(send(client, bytes, len, 0), len);
    dns_tcp_serve(&fixture->service, &fixture->source, pair[1]);
    fd_close(&pair[1]);
    while (got > 0 && n < size) {
        got = recv(client, replies + n, size - n, 0);
        n += got > 0 ? (size_t)got : 0;
    }
    return n;
}

static void queries_sent_together_are_answered_in_order(void **state)
{
    unsigned char frames[2 * FRAME_BYTES];
    unsigned char replies[2 * FRAME_BYTES];
    size_t first = make_frame("allowed.test", frames);
    size_t second = make_frame("evil.test", frames + first);

    assert_int_equal(serve(*state, frames, first + second, replies, sizeof(replies)),
                     first + second);
    assert_memory_equal(replies, frames, 4);
    assert_int_equal(replies[5] & 15, 0);
    assert_memory_equal(replies + first, frames + first, 4);
    assert_int_equal(replies[first + 5] & 15, 3);
}

static void incomplete_query_gets_no_reply(void **state)
{
    unsigned char frame[FRAME_BYTES];
    unsigned char replies[FRAME_BYTES];
    size_t len = make_frame("allowed.test", frame);

    assert_int_equal(serve(*state, frame, 1, replies, sizeof(replies)), 0);
    assert_int_equal(serve(*state, frame, len - 1, replies, sizeof(replies)), 0);
}

static void query_that_is_too_long_ends_the_connection(void **state)
{
    unsigned char frames[2 * FRAME_BYTES] = {0xff, 0xff};
    unsigned char replies[2 * FRAME_BYTES];
    size_t len = make_frame("allowed.test", frames + 2);

    assert_int_equal(serve(*state, frames, 2 + len, replies, sizeof(replies)), 0);
}

/* Not a byte of it is read: there is no room for it. */
static void query_larger_than_a_packet_is_not_read(void **state)
{
    enum { LEN = DNS_PACKET_BYTES + 1 };
    struct fixture *fixture = *state;
    unsigned char frame[2 + LEN] = {LEN >> 8, LEN & 255};
    int pair[2] = {-1, -1};
    int n_left = 0;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(send(pair[0], frame, sizeof(frame), 0), sizeof(frame));
    dns_tcp_serve(&fixture->service, &fixture->source, pair[1]);
    assert_int_equal(ioctl(pair[1], FIONREAD, &n_left), 0);
    assert_int_equal(n_left, LEN);
    fd_close(&pair[0]);
    fd_close(&pair[1]);
}

static void connection_has_eight_queries_at_most(void **state)
{
    unsigned char frames[9 * FRAME_BYTES];
    unsigned char replies[9 * FRAME_BYTES];
    size_t one = make_frame("allowed.test", frames);

    for (size_t i = 1; i < 9; i++)
        memcpy(frames + i * one, frames, one);
    assert_int_equal(serve(*state, frames, 9 * one, replies, sizeof(replies)), 8 * one);
}

/* Both events are ready before the loop runs: a connection, and then the end. */
static void connections_are_taken_again_after_a_lack_of_descriptors(void **state)
{
    struct fixture *fixture = *state;
    struct egress *egress = fixture->service.egress;
    CLEANUP(fd_close) int listener = -1;
    struct dns_socket dns_socket = {.bridge_index = UNUSED_INDEX, .fds = {-1, -1}};
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data = {.u32 = UNUSED_INDEX}};
    struct epoll_event ready[2];
    struct rlimit before = {0};
    struct rlimit none = {0};
    const uint64_t one = 1;
    int pair[2] = {-1, -1};

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    listener = pair[0];
    dns_socket.fds[DNS_TCP] = listener;
    egress->dns_sockets = &dns_socket;
    egress->n_dns_sockets = 1;
    assert_int_equal(epoll_ctl(egress->polls[DNS_TCP], EPOLL_CTL_ADD, listener, &event), 0);
    assert_int_equal(send(pair[1], "x", 1, 0), 1);
    assert_int_equal(write(egress->stop_fd, &one, sizeof(one)), sizeof(one));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    dns_tcp_run(&fixture->service);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    /* The end and the connection that is still there. */
    assert_int_equal(epoll_wait(egress->polls[DNS_TCP], ready, 2, 0), 2);
    egress->dns_sockets = NULL;
    egress->n_dns_sockets = 0;
    fd_close(&pair[1]);
}

int test_dns_tcp(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_sent_together_are_answered_in_order),
        cmocka_unit_test(incomplete_query_gets_no_reply),
        cmocka_unit_test(query_that_is_too_long_ends_the_connection),
        cmocka_unit_test(query_larger_than_a_packet_is_not_read),
        cmocka_unit_test(connection_has_eight_queries_at_most),
        cmocka_unit_test(connections_are_taken_again_after_a_lack_of_descriptors),
    };

    return cmocka_run_group_tests_name("runtime/dns_tcp", tests, setup, teardown);
}
