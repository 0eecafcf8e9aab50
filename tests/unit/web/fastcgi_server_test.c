/*
 * A server with real sockets: the test speaks FastCGI to it, as nginx does.
 */
#include "web/fastcgi_server.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/fastcgi_client.h"
#include "web/reply_output.h"
#include "web/request_input.h"

enum { STOP_MS = 10000, PATH_BYTES = 64 };

/* A folder for sockets. */
struct place {
    char folder[32];
    char path[PATH_BYTES];
    char other[PATH_BYTES];
};

static int set_up(void **state)
{
    struct place *place = NEW(struct place);

    (void)snprintf(place->folder, sizeof(place->folder), "/tmp/fastcgi_test.XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    (void)snprintf(place->path, sizeof(place->path), "%s/one", place->folder);
    (void)snprintf(place->other, sizeof(place->other), "%s/two", place->folder);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;

    (void)unlink(place->path);
    (void)unlink(place->other);
    assert_int_equal(rmdir(place->folder), 0);
    mem_free(place);
    return 0;
}

/* --- the other side --- */

static int begin(const char *path, const char *uri)
{
    char param[64];

    (void)snprintf(param, sizeof(param), "REQUEST_URI=%s", uri);
    return fastcgi_begin(path, (const char *[]){param, NULL});
}

static void ask(const char *path, struct strbuf *answer)
{
    int fd = begin(path, "/x");

    fastcgi_send_body(fd, "", 0);
    fastcgi_read_answer(fd, answer);
}

/* --- handlers --- */

/* What a handler heard: the address, then each piece of the body that a read gave. */
struct heard {
    struct lock lock;
    struct condition changed;
    struct strbuf text;
    size_t n_bytes;
    int last; /* what the last read returned */
    int rc;   /* of the write */
    bool is_over;
    bool may_end;
};

static void heard_init(struct heard *heard)
{
    *heard = (struct heard){.text = STRBUF_INIT};
    lock_init(&heard->lock);
    condition_init(&heard->changed);
}

static void heard_done(struct heard *heard)
{
    strbuf_done(&heard->text);
    condition_done(&heard->changed);
    lock_done(&heard->lock);
}

static void serve_body(void *context, const struct request_input *input,
                       const struct reply_output *output)
{
    static const char reply[] = "Status: 200\r\n\r\nhello";
    struct heard *heard = context;
    char buffer[1000];
    int n = 0;

    lock_take(&heard->lock);
    strbuf_appendf(&heard->text, "%s|", request_input_param(input, "REQUEST_URI"));
    do {
        n = input->read(input->stream, buffer, sizeof(buffer));
        if (n > 0 && n < 10)
            strbuf_appendf(&heard->text, "%.*s|", n, buffer);
        heard->n_bytes += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    heard->last = n;
    heard->rc = output->write(output->stream, reply, (int)strlen(reply));
    heard->is_over = true;
    condition_wake_all(&heard->changed);
    lock_release(&heard->lock);
}

static void wait_until_over(struct heard *heard)
{
    int64_t deadline_ms = clock_monotonic_ms() + STOP_MS;
    bool in_time = true;

    lock_take(&heard->lock);
    while (!heard->is_over && in_time)
        in_time = condition_wait_until(&heard->changed, &heard->lock, deadline_ms);
    lock_release(&heard->lock);
    assert_true(in_time);
}

/* Answers when it is let go. */
static void serve_late(void *context, const struct request_input *input,
                       const struct reply_output *output)
{
    struct heard *heard = context;

    (void)input;
    lock_take(&heard->lock);
    heard->is_over = true;
    condition_wake_all(&heard->changed);
    while (!heard->may_end)
        condition_wait(&heard->changed, &heard->lock);
    lock_release(&heard->lock);
    (void)!output->write(output->stream, "late", 4);
}

static void let_go(struct heard *heard)
{
    lock_take(&heard->lock);
    heard->may_end = true;
    condition_wake_all(&heard->changed);
    lock_release(&heard->lock);
}

/* Writes until the other side has gone; the last result is -1. */
static void serve_without_end(void *context, const struct request_input *input,
                              const struct reply_output *output)
{
    static const char bytes[8192] = "";
    struct heard *heard = context;
    int rc = 0;

    (void)input;
    for (int i = 0; i < 100000 && rc == 0; i++)
        rc = output->write(output->stream, bytes, sizeof(bytes));
    lock_take(&heard->lock);
    heard->last = rc;
    heard->is_over = true;
    condition_wake_all(&heard->changed);
    lock_release(&heard->lock);
}

static struct fastcgi_server *start(const struct fastcgi_listener *listeners, size_t n)
{
    struct fastcgi_server *server = NULL;
    struct error err = ERROR_INIT;

    if (fastcgi_server_start(listeners, n, NULL, &server, &err) < 0)
        fail_msg("%s", err.message);
    return server;
}

static void stop(struct fastcgi_server *server)
{
    fastcgi_server_close(server);
    assert_int_equal(fastcgi_server_wait(server, clock_monotonic_ms() + STOP_MS), 0);
    fastcgi_server_free(server);
}

/* --- tests --- */

static void server_answers_and_stops(void **state)
{
    struct place *place = *state;
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    CLEANUP(heard_done) struct heard heard = {.n_bytes = 0};
    const struct fastcgi_listener listener = {
        .path = place->path, .n_threads = 2, .mode = 0600, .serve = serve_body, .context = &heard};
    struct fastcgi_server *server = NULL;
    struct fastcgi_server *second = NULL;
    struct error err = ERROR_INIT;
    struct stat seen;

    heard_init(&heard);
    server = start(&listener, 1);
    assert_int_equal(stat(place->path, &seen), 0);
    assert_int_equal(seen.st_mode & 0777, 0600);
    assert_int_equal(fastcgi_server_start(&listener, 1, NULL, &second, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_null(second);
    ask(place->path, &answer);
    assert_string_equal(heard.text.text, "/x|");
    assert_int_equal(heard.last, 0);
    assert_int_equal(heard.rc, 0);
    assert_non_null(memmem(answer.text, answer.len, "hello", 5));
    stop(server);
    assert_int_equal(access(place->path, F_OK), -1);
}

/* A read gives what has come, and does not wait for as much as was asked for. */
static void body_is_read_as_it_comes(void **state)
{
    struct place *place = *state;
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    CLEANUP(heard_done) struct heard heard = {.n_bytes = 0};
    const struct fastcgi_listener listener = {
        .path = place->path, .n_threads = 1, .serve = serve_body, .context = &heard};
    char long_body[30000];
    struct fastcgi_server *server = NULL;
    int fd = -1;

    heard_init(&heard);
    memset(long_body, 'x', sizeof(long_body));
    server = start(&listener, 1);
    fd = begin(place->path, "/y");
    fastcgi_send_body(fd, "a", 1);
    fastcgi_send_body(fd, long_body, sizeof(long_body));
    fastcgi_send_body(fd, long_body, sizeof(long_body));
    fastcgi_send_body(fd, "", 0);
    fastcgi_read_answer(fd, &answer);
    assert_int_equal(heard.n_bytes, 1 + 2 * sizeof(long_body));
    assert_int_equal(heard.last, 0);
    assert_int_equal(strncmp(heard.text.text, "/y|", 3), 0);
    stop(server);
}

static void body_that_ends_early_is_broken(void **state)
{
    struct place *place = *state;
    CLEANUP(heard_done) struct heard heard = {.n_bytes = 0};
    const struct fastcgi_listener listener = {
        .path = place->path, .n_threads = 1, .serve = serve_body, .context = &heard};
    struct fastcgi_server *server = NULL;
    int fd = -1;

    heard_init(&heard);
    server = start(&listener, 1);
    fd = begin(place->path, "/z");
    fastcgi_send_body(fd, "abc", 3);
    assert_int_equal(close(fd), 0);
    wait_until_over(&heard);
    assert_int_equal(heard.last, REQUEST_READ_BROKEN);
    assert_int_equal(heard.n_bytes, 3);
    stop(server);
}

static void writing_ends_when_the_other_side_has_gone(void **state)
{
    struct place *place = *state;
    CLEANUP(heard_done) struct heard heard = {.n_bytes = 0};
    const struct fastcgi_listener listener = {
        .path = place->path, .n_threads = 1, .serve = serve_without_end, .context = &heard};
    struct fastcgi_server *server = NULL;
    int fd = -1;

    heard_init(&heard);
    server = start(&listener, 1);
    fd = begin(place->path, "/");
    fastcgi_send_body(fd, "", 0);
    assert_int_equal(close(fd), 0);
    wait_until_over(&heard);
    assert_int_equal(heard.last, -1);
    stop(server);
}

/* Requests that take long on one socket leave the threads of the other alone. */
static void each_socket_has_threads_of_its_own(void **state)
{
    struct place *place = *state;
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf late = STRBUF_INIT;
    CLEANUP(heard_done) struct heard slow = {.n_bytes = 0};
    CLEANUP(heard_done) struct heard quick = {.n_bytes = 0};
    const struct fastcgi_listener listeners[] = {
        {.path = place->path, .n_threads = 1, .serve = serve_late, .context = &slow},
        {.path = place->other, .n_threads = 1, .serve = serve_body, .context = &quick},
    };
    struct fastcgi_server *server = NULL;
    int fd = -1;

    heard_init(&slow);
    heard_init(&quick);
    server = start(listeners, ARRAY_SIZE(listeners));
    fd = begin(place->path, "/");
    fastcgi_send_body(fd, "", 0);
    wait_until_over(&slow);
    ask(place->other, &answer);
    assert_non_null(memmem(answer.text, answer.len, "hello", 5));
    fastcgi_server_close(server);
    assert_int_equal(access(place->path, F_OK), -1);
    assert_int_equal(access(place->other, F_OK), -1);
    /* The thread in the middle of a request is counted until it ends. */
    assert_true(fastcgi_server_wait(server, clock_monotonic_ms() - 1) >= 1);
    let_go(&slow);
    fastcgi_read_answer(fd, &late);
    assert_non_null(memmem(late.text, late.len, "late", 4));
    assert_int_equal(fastcgi_server_wait(server, clock_monotonic_ms() + STOP_MS), 0);
    fastcgi_server_free(server);
}

static void requests_run_on_as_many_threads_as_there_are(void **state)
{
    enum { N = 3 };
    struct place *place = *state;
    CLEANUP(heard_done) struct heard heard = {.n_bytes = 0};
    const struct fastcgi_listener listener = {
        .path = place->path, .n_threads = N, .serve = serve_late, .context = &heard};
    struct fastcgi_server *server = NULL;
    int fds[N] = {-1};

    heard_init(&heard);
    server = start(&listener, 1);
    for (size_t i = 0; i < N; i++) {
        lock_take(&heard.lock);
        heard.is_over = false;
        lock_release(&heard.lock);
        fds[i] = begin(place->path, "/");
        fastcgi_send_body(fds[i], "", 0);
        wait_until_over(&heard);
    }
    fastcgi_server_close(server);
    assert_int_equal(fastcgi_server_wait(server, clock_monotonic_ms() - 1), N);
    let_go(&heard);
    for (size_t i = 0; i < N; i++) {
        CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;

        fastcgi_read_answer(fds[i], &answer);
        assert_non_null(memmem(answer.text, answer.len, "late", 4));
    }
    assert_int_equal(fastcgi_server_wait(server, clock_monotonic_ms() + STOP_MS), 0);
    fastcgi_server_free(server);
}

/* As a process that died leaves it. */
static void socket_without_a_listener_is_replaced(void **state)
{
    struct place *place = *state;
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    CLEANUP(heard_done) struct heard heard = {.n_bytes = 0};
    const struct fastcgi_listener listener = {
        .path = place->path, .n_threads = 1, .serve = serve_body, .context = &heard};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct fastcgi_server *server = NULL;

    heard_init(&heard);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", place->path);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        fail_msg("%m");
    fd_close(&fd);
    server = start(&listener, 1);
    ask(place->path, &answer);
    assert_non_null(memmem(answer.text, answer.len, "hello", 5));
    stop(server);
}

static void assert_refused(const struct fastcgi_listener *listeners, size_t n, enum error_code code,
                           const char *message)
{
    struct fastcgi_server *server = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(fastcgi_server_start(listeners, n, NULL, &server, &err), -1);
    assert_null(server);
    assert_int_equal(err.code, code);
    if (strncmp(err.message, message, strlen(message)) != 0)
        fail_msg("%s", err.message);
}

static void socket_that_cannot_be_made_is_named(void **state)
{
    struct place *place = *state;
    char path[108 + 1] = "";
    struct fastcgi_listener listeners[] = {
        {.path = place->path, .n_threads = 1, .serve = serve_body},
        {.path = path, .n_threads = 1, .serve = serve_body},
    };

    memset(path, 'x', sizeof(path) - 1);
    assert_refused(listeners, 2, ERROR_INVALID, "the socket's path is longer than 107 bytes");
    /* The longest path is only missing its folder. */
    path[sizeof(path) - 2] = '\0';
    memcpy(path, "/nonexistent/", strlen("/nonexistent/"));
    assert_refused(listeners, 2, ERROR_UNAVAILABLE, "bind /nonexistent/xx");
    /* A folder stands where the socket should be. */
    listeners[0].path = place->folder;
    assert_refused(listeners, 1, ERROR_UNAVAILABLE, "remove /tmp/fastcgi_test.");
    fastcgi_server_free(NULL);
}

/* For tests of crashes: the process ends at the named point, after the reply was sent. */
static void process_ends_after_the_reply_that_it_is_told(void **state)
{
    struct place *place = *state;
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf second = STRBUF_INIT;
    CLEANUP(heard_done) struct heard heard = {.n_bytes = 0};
    const struct fastcgi_listener listener = {
        .path = place->path, .n_threads = 1, .mode = 0600, .serve = serve_body, .context = &heard};
    int ready[2] = {-1, -1};
    char byte = 0;
    pid_t child = 0;
    int status = 0;

    heard_init(&heard);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        struct crash_points crash;
        struct fastcgi_server *server = NULL;
        struct error err = ERROR_INIT;

        if (crash_points_init(&crash, "reply_sent:2", &err) < 0 ||
            fastcgi_server_start(&listener, 1, &crash, &server, &err) < 0 ||
            write(ready[1], "", 1) != 1)
            _exit(1);
        _exit((int)fastcgi_server_wait(server, clock_monotonic_ms() + 3 * (int64_t)STOP_MS));
    }
    fd_close(&ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    fd_close(&ready[0]);
    ask(place->path, &first);
    ask(place->path, &second);
    assert_non_null(memmem(first.text, first.len, "hello", 5));
    assert_non_null(memmem(second.text, second.len, "hello", 5));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 137);
}

/* In a process of its own: libfcgi accepts nothing more once a server of the process was closed. */
static int run_alone(const struct CMUnitTest *test)
{
    const struct CMUnitTest tests[] = {*test};
    pid_t child = fork();
    int status = 0;

    if (child == 0)
        exit(cmocka_run_group_tests_name("fastcgi_server", tests, NULL, NULL));
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(server_answers_and_stops, set_up, tear_down),
        cmocka_unit_test_setup_teardown(body_is_read_as_it_comes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(body_that_ends_early_is_broken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writing_ends_when_the_other_side_has_gone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_socket_has_threads_of_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(requests_run_on_as_many_threads_as_there_are, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(socket_without_a_listener_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_ends_after_the_reply_that_it_is_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(socket_that_cannot_be_made_is_named, set_up, tear_down),
    };
    int n_failed = 0;

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
        n_failed += run_alone(&tests[i]);
    return n_failed;
}
