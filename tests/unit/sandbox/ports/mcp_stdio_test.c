#include "sandbox/ports/mcp_stdio.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/server_request.h"
#include "unit/sandbox/sandbox_test.h"

enum { WITHIN_MS = 20000 };

struct bench {
    struct action_config config;
    struct action_server server;
    struct http_head head;
    struct server_request *request;
    char folder[32];
    char pipe[40]; /* the program and its children have its write end open */
    int ended;     /* its read end */
};

static void on_answered(struct http_connection *connection)
{
    (void)connection;
}

static int set_up(void **state)
{
    static const char text[] = "POST /programs/talk HTTP/1.1\r\nContent-Length: 1\r\n\r\n";
    struct bench *bench = NEW(struct bench);
    struct error err = ERROR_INIT;
    size_t used = 0;

    memcpy(bench->folder, "/tmp/deft-talk-XXXXXX", sizeof("/tmp/deft-talk-XXXXXX"));
    assert_non_null(mkdtemp(bench->folder));
    (void)snprintf(bench->pipe, sizeof(bench->pipe), "%s/pipe", bench->folder);
    assert_int_equal(mkfifo(bench->pipe, 0600), 0);
    bench->ended = open(bench->pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bench->head = (struct http_head)HTTP_HEAD_INIT;
    assert_int_equal(http_head_read(&bench->head, text, strlen(text), &used, &err), 0);
    bench->config.workspace = bench->folder;
    bench->server.config = &bench->config;
    assert_int_equal(event_loop_new(&bench->server.loop, &err), 0);
    bench->server.forks = fork_requests_new(bench->server.loop);
    bench->request = server_request_new(&bench->server, &bench->head);
    bench->request->answered = on_answered;
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    fork_requests_free(bench->server.forks);
    server_request_free(bench->request);
    event_loop_free(bench->server.loop);
    http_head_done(&bench->head);
    fd_close(&bench->ended);
    assert_int_equal(unlink(bench->pipe), 0);
    assert_int_equal(rmdir(bench->folder), 0);
    mem_free(bench);
    return 0;
}

/* Starts a program that says that it runs, does not reply, and ignores the end of its input. */
static void start_program(struct bench *bench)
{
    struct pollfd runs = {.fd = bench->ended, .events = POLLIN};
    char byte = 0;

    strbuf_appendf(&bench->request->body,
                   "{\"command\": \"/bin/sh\","
                   " \"args\": [\"-c\", \"exec 9>%s; echo >&9; sleep 1000; sleep 1000\"],"
                   " \"messages\": [{\"id\": 1, \"method\": \"initialize\"}]}",
                   bench->pipe);
    mcp_stdio_handle(bench->request);
    assert_int_equal(poll(&runs, 1, WITHIN_MS), 1);
    assert_int_equal(read(bench->ended, &byte, 1), 1);
}

static void program_ends_with_its_request(void **state)
{
    struct bench *bench = *state;
    struct pollfd ended = {.fd = bench->ended};

    start_program(bench);
    bench->request->dropped(bench->request->owner);
    assert_int_equal(poll(&ended, 1, WITHIN_MS), 1);
    assert_true((ended.revents & POLLHUP) != 0);
}

int mcp_stdio_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(program_ends_with_its_request, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("mcp_stdio", tests, NULL, NULL);
}
