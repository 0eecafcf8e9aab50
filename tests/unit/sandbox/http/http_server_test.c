#include "sandbox/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/http/http_route.h"
#include "sandbox/http/server_request.h"
#include "unit/sandbox/sandbox_test.h"

enum { REPLY_BYTES = 512, N_FILES = 2 * MAX_CONNECTIONS + 100 };

static void answer(struct server_request *request)
{
    server_request_answer_text(request, 200, "text/plain", "yes", 3);
}

static const struct http_route routes[] = {
    {METHOD_GET, "/alive", ROUTE_OPEN, 0, answer, NULL},
};
static const struct http_route_table table = {routes, ARRAY_SIZE(routes)};

/* A server with both listeners; the inner one is at 127.0.0.1. */
struct bench {
    struct action_config config;
    struct action_server server;
    struct event_loop *loop;
    struct http_server *http;
    struct sockaddr_in outer;
    struct sockaddr_in inner;
    int clients[MAX_CONNECTIONS];
    char host[INET_ADDRSTRLEN];
};

static void allow_files(void)
{
    struct rlimit limit = {0};

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < N_FILES)
        limit.rlim_cur = N_FILES;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* An address of this process alone: no other program takes a port of it that was free. */
static void own_address(struct sockaddr_in *address_out)
{
    uint32_t own = (uint32_t)getpid() & 0xFFFF;

    *address_out = (struct sockaddr_in){.sin_family = AF_INET};
    address_out->sin_addr.s_addr = htonl(0x7F4D0000 | own);
}

/* A socket at a free port; *address_out is where. */
static int bind_socket(struct sockaddr_in *address_out)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(*address_out);

    own_address(address_out);
    assert_int_equal(bind(fd, (const struct sockaddr *)address_out, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address_out, &len), 0);
    return fd;
}

static int set_up(void **state)
{
    struct bench *bench = NEW(struct bench);
    struct error err = ERROR_INIT;
    int outer = bind_socket(&bench->outer);
    int inner = bind_socket(&bench->inner);

    allow_files();
    assert_int_equal(listen(outer, 1), 0);
    fd_close(&inner);
    bench->config.open = 1;
    bench->config.socket = outer;
    assert_non_null(inet_ntop(AF_INET, &bench->inner.sin_addr, bench->host, sizeof(bench->host)));
    bench->config.bind = bench->host;
    bench->config.port = ntohs(bench->inner.sin_port);
    bench->server.config = &bench->config;
    memset(bench->clients, -1, sizeof(bench->clients));
    assert_int_equal(event_loop_new(&bench->loop, &err), 0);
    assert_int_equal(
        http_server_new(&bench->server, bench->loop, &bench->config, &table, &bench->http, &err),
        0);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        fd_close(&bench->clients[i]);
    http_server_free(bench->http);
    event_loop_free(bench->loop);
    mem_free(bench);
    return 0;
}

/* A client whose connection the server has taken up. */
static int connect_to(struct bench *bench, const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)address, sizeof(*address)), 0);
    event_loop_dispatch(bench->loop);
    return fd;
}

/* True if the server answers; false if it has closed the connection. */
static bool is_served(struct bench *bench, int client)
{
    static const char request[] = "GET /alive HTTP/1.1\r\nConnection: close\r\n\r\n";
    char reply[REPLY_BYTES] = "";

    if (recv(client, reply, sizeof(reply), MSG_DONTWAIT) == 0)
        return false;
    assert_int_equal(send(client, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    while (recv(client, reply, sizeof(reply), MSG_DONTWAIT) < 0)
        event_loop_dispatch(bench->loop);
    return strstr(reply, " 200 OK") != NULL;
}

static void each_listener_serves(void **state)
{
    struct bench *bench = *state;

    bench->clients[0] = connect_to(bench, &bench->outer);
    bench->clients[1] = connect_to(bench, &bench->inner);
    assert_true(is_served(bench, bench->clients[0]));
    assert_true(is_served(bench, bench->clients[1]));
}

/* Programs in the sandbox need no key to connect: they must not lock out the worker. */
static void inner_clients_leave_room_for_outer_ones(void **state)
{
    struct bench *bench = *state;
    CLEANUP(fd_close) int outer = -1;
    CLEANUP(fd_close) int late = -1;

    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        bench->clients[i] = connect_to(bench, &bench->inner);
    late = connect_to(bench, &bench->inner);
    assert_false(is_served(bench, late));
    outer = connect_to(bench, &bench->outer);
    assert_true(is_served(bench, outer));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int http_server_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_listener_serves),
        TEST(inner_clients_leave_room_for_outer_ones),
    };

    return cmocka_run_group_tests_name("http_server", tests, NULL, NULL);
}
