/*
 * Waiting for the first of several calls to end.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "client/http_fixture.h"

#define LONG_MS 60000
#define WAITS_MAX 3

/* A server that takes the request and does not answer, and one that does. */
struct servers {
    struct test_server *silent;
    struct test_server *prompt;
    struct http_call *calls[2]; /* to each of them */
};

/* A wake-up that is left of an earlier wait ends one without a call, too. */
static size_t first_over(struct direct_connections *direct, struct http_call *const *calls,
                         size_t n)
{
    size_t found = n;

    for (int i = 0; i < WAITS_MAX && found == n; i++)
        found = http_wait_any(direct, calls, n, LONG_MS);
    return found;
}

static void begin(struct servers *servers, const struct fixture *fixture, const char *unix_path)
{
    struct http_request request = {.method = NULL};
    struct error err = ERROR_INIT;

    servers->silent = test_server_start(silent_reply, 1, NULL);
    servers->prompt = test_server_start(plain_reply, 1, unix_path);
    request = fixture_get(test_server_url(servers->silent, "/"));
    assert_int_equal(fixture_start(fixture, &request, &servers->calls[0], &err), 0);
    request = fixture_get(unix_path == NULL ? test_server_url(servers->prompt, "/")
                                            : "http://localhost/");
    request.unix_socket = unix_path;
    assert_int_equal(fixture_start(fixture, &request, &servers->calls[1], &err), 0);
}

static void end(struct servers *servers)
{
    http_call_free(servers->calls[0]);
    http_call_free(servers->calls[1]);
    test_server_stop(servers->silent);
    test_server_stop(servers->prompt);
}

static void first_call_to_end_is_found(void **state)
{
    const struct fixture *fixture = *state;
    struct servers servers;
    struct error err = ERROR_INIT;

    begin(&servers, fixture, NULL);
    assert_int_equal(first_over(fixture->direct, servers.calls, 2), 1);
    assert_int_equal(http_wait(servers.calls[1], &err), 0);
    assert_int_equal(http_status(servers.calls[1]), 200);
    assert_int_equal(http_wait_any(fixture->direct, servers.calls, 1, 1), 1);
    end(&servers);
}

/* One is driven by the waiting thread, the other by the transport's. */
static void calls_of_both_kinds_are_waited_for_together(void **state)
{
    struct servers servers;
    char path[64] = "";

    (void)snprintf(path, sizeof(path), "/tmp/http_wait_test.%ld", (long)getpid());
    begin(&servers, *state, path);
    assert_int_equal(first_over(((struct fixture *)*state)->direct, servers.calls, 2), 1);
    end(&servers);
    (void)unlink(path);
}

static void *cancel(void *call)
{
    http_cancel(call);
    return NULL;
}

static void cancel_ends_the_wait(void **state)
{
    struct servers servers;
    struct error err = ERROR_INIT;
    pthread_t thread = 0;

    begin(&servers, *state, NULL);
    assert_int_equal(pthread_create(&thread, NULL, cancel, servers.calls[0]), 0);
    assert_int_equal(first_over(((struct fixture *)*state)->direct, servers.calls, 1), 0);
    assert_int_equal(http_wait(servers.calls[0], &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end(&servers);
}

/* The others still run. */
static void late_call_ends_by_itself(void **state)
{
    const struct fixture *fixture = *state;
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct http_call *calls[2] = {NULL};
    struct error err = ERROR_INIT;

    assert_int_equal(fixture_start(fixture, &request, &calls[0], &err), 0);
    request.timeout_ms = 50;
    assert_int_equal(fixture_start(fixture, &request, &calls[1], &err), 0);
    assert_int_equal(first_over(fixture->direct, calls, 2), 1);
    assert_int_equal(http_wait(calls[1], &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    http_call_free(calls[0]);
    http_call_free(calls[1]);
    test_server_stop(server);
}

#define LONG_BODY_BYTES 30000

/* The waiting thread was elsewhere when the reply came, and its limit passed meanwhile. */
static void reply_that_came_in_time_is_read_after_the_limit(void **state)
{
    const struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct test_server *server = NULL;
    struct http_request request = {.method = NULL};
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;
    int64_t late_ms = 0;

    strbuf_appendf(&bytes, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%0*d", LONG_BODY_BYTES,
                   LONG_BODY_BYTES, 0);
    reply.bytes = bytes.text;
    server = test_server_start(&reply, 1, NULL);
    request = fixture_get(test_server_url(server, "/"));
    request.timeout_ms = 500;
    late_ms = clock_monotonic_ms() + request.timeout_ms;
    assert_int_equal(fixture_start(fixture, &request, &call, &err), 0);
    /* Drives the call, without waiting for it. */
    while (test_server_n_requests(server) == 0)
        assert_int_equal(http_wait_any(fixture->direct, &call, 1, 0), 1);
    while (test_server_n_sent(server) == 0 || clock_monotonic_ms() <= late_ms)
        (void)sched_yield();
    if (http_wait(call, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(http_status(call), 200);
    http_call_free(call);
    test_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_call_to_end_is_found),
        cmocka_unit_test(calls_of_both_kinds_are_waited_for_together),
        cmocka_unit_test(cancel_ends_the_wait),
        cmocka_unit_test(late_call_ends_by_itself),
        cmocka_unit_test(reply_that_came_in_time_is_read_after_the_limit),
    };

    return cmocka_run_group_tests_name("http_wait", tests, fixture_set_up_direct,
                                       fixture_tear_down);
}
