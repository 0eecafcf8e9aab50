/*
 * The sockets of a gateway, at the loopback interface, and the server that reads them. An event and
 * then the stop are ready before the loop runs.
 */
#include "runtime/egress/dns_sockets.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "runtime/backend/bridge.h"
#include "runtime/core/service.h"
#include "runtime/egress/dns_answer.h"
#include "runtime/egress/dns_server.h"
#include "runtime/egress/dns_tcp.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_denials.h"
#include "runtime/egress/egress_state.h"
#include "unit/runtime/runtime_test.h"

#define LOOPBACK "lo"
#define PORT_BEFORE_ANY 65535

/* --- the host's interfaces: the loopback, by its name or that of a bridge --- */

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): what the host has */
static struct {
    unsigned loopback; /* its real number */
    char name[IF_NAMESIZE];
} host = {.name = ""};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

unsigned if_nametoindex(const char *name)
{
    return text_equal(name, LOOPBACK) ? host.loopback : 0;
}

char *if_indextoname(unsigned index, char name[IF_NAMESIZE])
{
    if (index != host.loopback || host.name[0] == '\0')
        return NULL;
    (void)snprintf(name, IF_NAMESIZE, "%s", host.name);
    return name;
}

struct fixture {
    struct runtime_settings settings;
    struct service service;
    struct egress *egress;
    struct error err;
};

static int setup(void **state)
{
    struct fixture *fixture = NEW(struct fixture);
    char id[BRIDGE_ID_BYTES] = "";

    host.loopback = 1;
    bridge_new_id("one", id);
    bridge_name(id, host.name);
    fixture->settings = (struct runtime_settings){.backend = "docker",
                                                  .has_network_rules = 1,
                                                  .resolver_port = PORT_BEFORE_ANY,
                                                  .egress = "list",
                                                  .egress_allow = "allowed.test",
                                                  .docker = {.instance = "one"},
                                                  .process = {.network = "none"}};
    assert_int_equal(egress_new(&fixture->settings, &fixture->egress, &fixture->err), 0);
    fixture->service.egress = fixture->egress;
    fixture->settings.has_network_rules = 0;
    fixture->service.denials = egress_denials_new(&fixture->settings);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    host.name[0] = '\0';
    egress_denials_free(fixture->service.denials);
    egress_free(fixture->egress);
    mem_free(fixture);
    return 0;
}

static void open_sockets(struct fixture *fixture)
{
    if (dns_sockets_open(fixture->egress, LOOPBACK, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
}

static void stop(const struct fixture *fixture)
{
    const uint64_t one = 1;

    assert_int_equal(write(fixture->egress->stop_fd, &one, sizeof(one)), sizeof(one));
}

static struct sockaddr_in address_of(const struct fixture *fixture, enum dns_protocol protocol)
{
    struct sockaddr_in address = {.sin_family = AF_UNSPEC};
    socklen_t len = sizeof(address);

    assert_int_equal(getsockname(fixture->egress->dns_sockets[0].fds[protocol],
                                 (struct sockaddr *)&address, &len),
                     0);
    return address;
}

/* A client of the gateway's socket. */
static int connect_to(const struct fixture *fixture, enum dns_protocol protocol)
{
    struct sockaddr_in address = address_of(fixture, protocol);
    int type = protocol == DNS_UDP ? SOCK_DGRAM : SOCK_STREAM;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* A query for evil.test, type A, with its length before it. */
static const unsigned char frame[] = {0,   27,  0x12, 0x34, 1, 0,   0,   1,   0,   0, 0, 0, 0, 0, 4,
                                      'e', 'v', 'i',  'l',  4, 't', 'e', 's', 't', 0, 0, 1, 0, 1};

static void assert_refused(const unsigned char *reply, ssize_t n)
{
    assert_int_equal(n, sizeof(frame) - 2);
    assert_memory_equal(reply, frame + 2, 2);
    assert_int_equal(reply[2] & 0x80, 0x80);
    assert_int_equal(reply[3] & 15, 3);
}

static void sockets_are_opened_once_at_the_gateway(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(fd_close) int copy = -1;

    open_sockets(fixture);
    open_sockets(fixture);
    assert_int_equal(fixture->egress->n_dns_sockets, 1);
    assert_int_equal(fixture->egress->dns_sockets[0].bridge_index, 1);
    for (int i = 0; i < DNS_N_PROTOCOLS; i++) {
        struct sockaddr_in address = address_of(fixture, (enum dns_protocol)i);

        assert_int_equal(address.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
        assert_true(address.sin_port != 0);
    }
    copy = dns_sockets_copy(fixture->egress, DNS_UDP, 1);
    assert_true(copy >= 0);
    assert_int_not_equal(copy, fixture->egress->dns_sockets[0].fds[DNS_UDP]);
    assert_int_equal(dns_sockets_copy(fixture->egress, DNS_UDP, 2), -1);
    /* A bridge that is gone needs none. */
    assert_int_equal(dns_sockets_open(fixture->egress, "dsb0", &fixture->err), 0);
    assert_int_equal(fixture->egress->n_dns_sockets, 1);
}

static void port_in_use_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    CLEANUP(fd_close) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    fixture->egress->resolver_port = (uint16_t)(ntohs(address.sin_port) - 1);
    assert_int_equal(dns_sockets_open(fixture->egress, LOOPBACK, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
    assert_true(text_starts_with(fixture->err.message, "binding a DNS socket to lo, port "));
    assert_int_equal(fixture->egress->n_dns_sockets, 0);
}

static void sockets_of_a_bridge_that_is_gone_are_closed(void **state)
{
    struct fixture *fixture = *state;
    struct epoll_event event = {.events = 0};
    CLEANUP(fd_close) int copy = -1;
    CLEANUP(fd_close) int client = -1;

    open_sockets(fixture);
    dns_sockets_close_gone(fixture->egress);
    assert_int_equal(fixture->egress->n_dns_sockets, 1);
    client = connect_to(fixture, DNS_UDP);
    copy = dns_sockets_copy(fixture->egress, DNS_UDP, 1);
    assert_int_equal(send(client, "x", 1, 0), 1);
    host.name[0] = '\0';
    dns_sockets_close_gone(fixture->egress);
    assert_int_equal(fixture->egress->n_dns_sockets, 0);
    /* Although a thread has a copy. */
    assert_int_equal(epoll_wait(fixture->egress->polls[DNS_UDP], &event, 1, 0), 0);
}

static void packet_is_answered(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(fd_close) int client = -1;
    unsigned char reply[DNS_PACKET_BYTES];

    open_sockets(fixture);
    client = connect_to(fixture, DNS_UDP);
    assert_int_equal(send(client, frame + 2, sizeof(frame) - 2, 0), sizeof(frame) - 2);
    stop(fixture);
    dns_server_run(&fixture->service);
    assert_refused(reply, recv(client, reply, sizeof(reply), MSG_DONTWAIT));
}

static void packet_of_another_interface_gets_no_reply(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(fd_close) int client = -1;
    unsigned char reply[DNS_PACKET_BYTES];

    host.loopback = 900;
    open_sockets(fixture);
    client = connect_to(fixture, DNS_UDP);
    assert_int_equal(send(client, frame + 2, sizeof(frame) - 2, 0), sizeof(frame) - 2);
    stop(fixture);
    dns_server_run(&fixture->service);
    assert_int_equal(recv(client, reply, sizeof(reply), MSG_DONTWAIT), -1);
}

/* The bridge of another instance, or one that is gone. */
static void packet_of_no_sandbox_of_ours_gets_no_reply(void **state)
{
    struct fixture *fixture = *state;
    struct dns_source source = {.bridge_index = 0};
    CLEANUP(fd_close) int client = -1;
    unsigned char reply[DNS_PACKET_BYTES];

    assert_true(dns_source_find(&fixture->service, 1, &source));
    assert_int_equal(source.bridge_index, 1);
    assert_string_equal(source.bridge, host.name);
    open_sockets(fixture);
    client = connect_to(fixture, DNS_UDP);
    assert_int_equal(send(client, frame + 2, sizeof(frame) - 2, 0), sizeof(frame) - 2);
    stop(fixture);
    (void)snprintf(host.name, sizeof(host.name), "eth0");
    dns_server_run(&fixture->service);
    assert_int_equal(recv(client, reply, sizeof(reply), MSG_DONTWAIT), -1);
    assert_false(dns_source_find(&fixture->service, 1, &source));
    host.name[0] = '\0';
    assert_false(dns_source_find(&fixture->service, 1, &source));
}

static void connection_is_answered(void **state)
{
    struct fixture *fixture = *state;
    struct epoll_event events[2];
    CLEANUP(fd_close) int client = -1;
    unsigned char reply[2 + DNS_PACKET_BYTES];

    open_sockets(fixture);
    client = connect_to(fixture, DNS_TCP);
    assert_int_equal(send(client, frame, sizeof(frame), 0), sizeof(frame));
    assert_int_equal(shutdown(client, SHUT_WR), 0);
    assert_int_equal(epoll_wait(fixture->egress->polls[DNS_TCP], events, 1, 60000), 1);
    assert_int_equal(events[0].data.u32, 1);
    assert_int_equal(events[0].events, EPOLLIN);
    /* One thread has it; only then may the next one come. */
    assert_int_equal(epoll_wait(fixture->egress->polls[DNS_TCP], events, 1, 0), 0);
    dns_sockets_resume(fixture->egress, 1);
    dns_sockets_resume(fixture->egress, 2);
    stop(fixture);
    dns_tcp_run(&fixture->service);
    assert_int_equal(recv(client, reply, 2, MSG_WAITALL), 2);
    assert_memory_equal(reply, frame, 2);
    assert_refused(reply, recv(client, reply, sizeof(reply), 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int test_dns_sockets(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sockets_are_opened_once_at_the_gateway),
        TEST(port_in_use_is_an_error),
        TEST(sockets_of_a_bridge_that_is_gone_are_closed),
        TEST(packet_is_answered),
        TEST(packet_of_another_interface_gets_no_reply),
        TEST(packet_of_no_sandbox_of_ours_gets_no_reply),
        TEST(connection_is_answered),
    };

    return cmocka_run_group_tests_name("runtime/dns_sockets", tests, NULL, NULL);
}
