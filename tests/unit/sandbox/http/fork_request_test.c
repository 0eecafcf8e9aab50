/*
 * Requests that a fork of the process answers: the loop, the forks and their answers are real.
 */
#include "sandbox/http/fork_request.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/http/server_request.h"
#include "support/descriptors.h"
#include "support/json_path.h"
#include "unit/sandbox/sandbox_test.h"

enum { ENDED_WITHIN_MS = 20000 };

struct bench {
    struct action_server server; /* first: the work finds the bench by it */
    pid_t pid;
    int n_descriptors;
    struct http_head head;
    struct server_request *requests[MAX_FORK_REQUESTS + 1];
    size_t n;
};

static int set_up(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\n\r\n";
    struct bench *bench = NEW(struct bench);
    struct error err = ERROR_INIT;
    size_t used = 0;

    bench->pid = getpid();
    bench->n_descriptors = descriptors_count();
    bench->head = (struct http_head)HTTP_HEAD_INIT;
    assert_int_equal(http_head_read(&bench->head, text, strlen(text), &used, &err), 0);
    assert_int_equal(event_loop_new(&bench->server.loop, &err), 0);
    bench->server.forks = fork_requests_new(bench->server.loop);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    int n_before = bench->n_descriptors;

    fork_requests_free(bench->server.forks);
    for (size_t i = 0; i < bench->n; i++)
        server_request_free(bench->requests[i]);
    event_loop_free(bench->server.loop);
    http_head_done(&bench->head);
    mem_free(bench);
    assert_int_equal(descriptors_count(), n_before);
    return 0;
}

static void on_answered(struct http_connection *connection)
{
    (void)connection;
}

static struct server_request *start(struct bench *bench, const struct fork_request_spec *spec)
{
    struct server_request *request = server_request_new(&bench->server, &bench->head);

    request->answered = on_answered;
    bench->requests[bench->n++] = request;
    fork_request_start(request, spec);
    return request;
}

static int status_of(struct bench *bench, const struct fork_request_spec *spec)
{
    const struct server_request *request = start(bench, spec);

    while (!request->is_answered)
        event_loop_dispatch(bench->server.loop);
    return request->status;
}

/* Work that ended the server's own process would end the test as if it had passed. */
static void need_fork(const struct server_request *request)
{
    if (((const struct bench *)request->server)->pid == getpid())
        abort();
}

static void answer_at_once(const struct server_request *request, struct fork_reply *answer)
{
    need_fork(request);
    answer->status = 201;
    answer->body = json_object();
    json_put_text(answer->body, "made", "yes");
    json_put_text(answer->headers, "etag", "a");
}

NORETURN static void die(const struct server_request *request, struct fork_reply *answer)
{
    (void)request;
    (void)answer;
    _exit(EXIT_FAILURE);
}

static void never_answer(const struct server_request *request, struct fork_reply *answer)
{
    (void)request;
    (void)answer;
    for (;;)
        (void)pause();
}

static void answer_of_the_fork_is_that_of_the_request(void **state)
{
    static const struct fork_request_spec spec = {answer_at_once, -1, 0};
    struct bench *bench = *state;
    char body[64] = "";

    assert_int_equal(status_of(bench, &spec), 201);
    assert_string_equal(bench->requests[0]->content_type, "application/json");
    assert_memory_equal(bench->requests[0]->headers.text, "etag\0a", sizeof("etag\0a"));
    assert_true(pread(bench->requests[0]->file_fd, body, sizeof(body) - 1, 0) > 0);
    assert_json_at(body, "", "{\"made\":\"yes\"}");
}

static void tell_of_the_process(const struct server_request *request, struct fork_reply *answer)
{
    struct sigaction broken_pipe = {0};
    sigset_t blocked;
    int signal_of_death = 0;

    need_fork(request);
    (void)sigprocmask(SIG_SETMASK, NULL, &blocked);
    (void)sigaction(SIGPIPE, NULL, &broken_pipe);
    (void)prctl(PR_GET_PDEATHSIG, &signal_of_death);
    answer->body = json_object();
    json_put(answer->body, "leads_a_session", json_boolean(getsid(0) == getpid()));
    json_put(answer->body, "blocks_child", json_boolean(sigismember(&blocked, SIGCHLD)));
    json_put(answer->body, "ignores_pipe", json_boolean(broken_pipe.sa_handler == SIG_IGN));
    json_put(answer->body, "dies_by", json_integer(signal_of_death));
}

static void fork_is_a_process_of_its_own(void **state)
{
    static const struct fork_request_spec spec = {tell_of_the_process, -1, 0};
    struct bench *bench = *state;
    char body[256] = "";

    (void)signal(SIGPIPE, SIG_IGN);
    assert_int_equal(status_of(bench, &spec), 200);
    assert_true(pread(bench->requests[0]->file_fd, body, sizeof(body) - 1, 0) > 0);
    assert_json_at(body, "",
                   "{\"leads_a_session\":true,\"blocks_child\":false,"
                   "\"ignores_pipe\":false,\"dies_by\":9}");
}

static void fork_that_dies_is_an_internal_error(void **state)
{
    static const struct fork_request_spec spec = {die, -1, 0};

    assert_int_equal(status_of(*state, &spec), 500);
}

static void fork_that_takes_too_long_is_ended(void **state)
{
    static const struct fork_request_spec spec = {never_answer, -1, 1};

    assert_int_equal(status_of(*state, &spec), 504);
}

static void forks_at_once_are_bounded(void **state)
{
    static const struct fork_request_spec endless = {never_answer, -1, 0};
    static const struct fork_request_spec spec = {answer_at_once, -1, 0};
    struct bench *bench = *state;

    for (int i = 0; i < MAX_FORK_REQUESTS; i++)
        assert_false(start(bench, &endless)->is_answered);
    assert_int_equal(status_of(bench, &spec), 429);
    /* One whose client has gone leaves its place. */
    bench->requests[0]->dropped(bench->requests[0]->owner);
    server_request_free(bench->requests[0]);
    bench->requests[0] = bench->requests[--bench->n];
    assert_int_equal(status_of(bench, &spec), 201);
}

/* Also one that does not lead a group of its own yet. The pipe ends when all forks have ended. */
static void fork_that_is_dropped_at_once_ends(void **state)
{
    static const struct fork_request_spec endless = {never_answer, -1, 0};
    struct bench *bench = *state;
    CLEANUP(fd_close) int ended = -1;
    int ends[2] = {-1, -1};
    struct pollfd polled = {.events = POLLIN};

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    ended = ends[0];
    for (int i = 0; i < MAX_FORK_REQUESTS; i++) {
        const struct server_request *request = start(bench, &endless);

        request->dropped(request->owner);
    }
    fd_close(&ends[1]);
    polled.fd = ended;
    assert_int_equal(poll(&polled, 1, ENDED_WITHIN_MS), 1);
}

static void forks_end_with_the_server(void **state)
{
    static const struct fork_request_spec endless = {never_answer, -1, 0};
    struct bench *bench = *state;
    CLEANUP(fd_close) int ended = -1;
    int ends[2] = {-1, -1};
    struct pollfd polled = {.events = POLLIN};

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    ended = ends[0];
    for (int i = 0; i < 3; i++)
        (void)start(bench, &endless);
    fork_requests_free(bench->server.forks);
    bench->server.forks = NULL;
    for (size_t i = 0; i < bench->n; i++)
        bench->requests[i]->dropped = NULL;
    fd_close(&ends[1]);
    polled.fd = ended;
    assert_int_equal(poll(&polled, 1, ENDED_WITHIN_MS), 1);
}

static void leave_a_file(const struct server_request *request, struct fork_reply *answer)
{
    CLEANUP(fd_close) int fd = -1;

    (void)snprintf(answer->leftovers->file, FORK_FILE_BYTES, "/tmp/deft-left-XXXXXX");
    fd = mkostemp(answer->leftovers->file, O_CLOEXEC);
    answer->body = json_object();
    json_put_text(answer->body, "file", answer->leftovers->file);
    (void)request;
}

static void leave_a_file_and_die(const struct server_request *request, struct fork_reply *answer)
{
    struct error ignored = ERROR_INIT;

    leave_a_file(request, answer);
    error_ignore(fd_write_all(answer->result, answer->leftovers->file, FORK_FILE_BYTES, &ignored),
                 "the test then finds no name");
    _exit(EXIT_FAILURE);
}

/* The server removes it, whether the work has answered or not. */
static void file_of_the_work_is_removed_after_it(void **state)
{
    static const struct fork_request_spec answers = {leave_a_file, -1, 0};
    struct fork_request_spec dies = {leave_a_file_and_die, memfd_create("result", MFD_CLOEXEC), 0};
    CLEANUP(fd_close) int result = fcntl(dies.result, F_DUPFD_CLOEXEC, 0);
    json_auto_t *body = NULL;
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    char text[256] = "";
    ssize_t n = 0;

    assert_int_equal(status_of(bench, &answers), 200);
    n = pread(bench->requests[0]->file_fd, text, sizeof(text), 0);
    assert_int_equal(json_parse(text, (size_t)n, &body, &err), 0);
    assert_int_equal(access(json_text_or(body, "file", "/"), F_OK), -1);
    assert_int_equal(status_of(bench, &dies), 500);
    assert_int_equal(pread(result, text, sizeof(text), 0), FORK_FILE_BYTES);
    assert_int_equal(access(text, F_OK), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int fork_request_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answer_of_the_fork_is_that_of_the_request),
        TEST(fork_that_dies_is_an_internal_error),
        TEST(fork_that_takes_too_long_is_ended),
        TEST(forks_at_once_are_bounded),
        TEST(fork_is_a_process_of_its_own),
        TEST(forks_end_with_the_server),
        TEST(fork_that_is_dropped_at_once_ends),
        TEST(file_of_the_work_is_removed_after_it),
    };

    return cmocka_run_group_tests_name("fork_request", tests, NULL, NULL);
}
