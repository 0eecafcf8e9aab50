/*
 * Calls: where their limits lie, what their errors say, and what becomes of their connections.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "client/http_fixture.h"

enum { REPLY_DEFAULT_BYTES = 8 * 1024 * 1024, INTERIM_MAX = 16, IDLE_CONNECTIONS_MAX = 4 };

/* Runs a call to the server that gives these bytes; its error and status. */
static void run(const struct fixture *fixture, const struct test_reply *reply,
                const struct http_request *like, struct error *err, long *status_out)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(reply, 1, NULL);
    struct http_request request = *like;

    request.url = test_server_url(server, "/");
    *err = (struct error)ERROR_INIT;
    assert_int_equal(fixture_start(fixture, &request, &call, err), 0);
    (void)!http_wait(call, err);
    *status_out = http_status(call);
    test_server_stop(server);
}

#define GET(member) {.method = "GET", .address_of = ADDRESS_OF_ADMINISTRATOR, member}

static const struct {
    struct test_reply reply;
    struct http_request request;
    enum error_code code;
    const char *message;
    long status;
} failures[] = {
    {{.bytes = NULL},
     {.method = "GET", .address_of = ADDRESS_OF_USER, .timeout_ms = 60000},
     ERROR_FORBIDDEN,
     "the host's address is private or link-local, which is not allowed",
     0},
    {{.bytes = OK_HEAD "Content-Length: 3\r\n\r\nabc"},
     GET(.max_reply_bytes = 2),
     ERROR_TOO_LARGE,
     "the response is longer than 2 bytes",
     200},
    {{.bytes = "", .ending = TEST_HOLD},
     GET(.timeout_ms = 50),
     ERROR_TIMEOUT,
     "no response in time",
     0},
    {{.bytes = "", .ending = TEST_HOLD},
     GET(.idle_timeout_ms = 50),
     ERROR_TIMEOUT,
     "no response in time",
     0},
};

static void errors_say_what_happened(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        struct error err = ERROR_INIT;
        long status = -1;

        run(*state, &failures[i].reply, &failures[i].request, &err, &status);
        assert_int_equal(err.code, failures[i].code);
        assert_string_equal(err.message, failures[i].message);
        assert_int_equal(status, failures[i].status);
    }
}

/* A reply of exactly so many bytes, without a limit in the request. */
static enum error_code run_long(const struct fixture *fixture, size_t n_bytes)
{
    static const char kilobyte[1024] = "";
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    const struct http_request request = GET(.timeout_ms = 60000);
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct error err = ERROR_INIT;
    long status = 0;
    size_t head = 0;

    strbuf_appendf(&bytes, OK_HEAD "Content-Length: %zu\r\n\r\n", n_bytes);
    head = bytes.len;
    while (bytes.len - head + sizeof(kilobyte) <= n_bytes)
        strbuf_append_bytes(&bytes, kilobyte, sizeof(kilobyte));
    strbuf_append_bytes(&bytes, kilobyte, n_bytes - (bytes.len - head));
    reply.bytes = bytes.text;
    reply.len = bytes.len;
    run(fixture, &reply, &request, &err, &status);
    return err.code;
}

static void longest_reply_has_eight_mebibytes(void **state)
{
    assert_int_equal(run_long(*state, REPLY_DEFAULT_BYTES), ERROR_NONE);
    assert_int_equal(run_long(*state, REPLY_DEFAULT_BYTES + 1), ERROR_TOO_LARGE);
}

static enum error_code run_after_interim(const struct fixture *fixture, size_t n, long *status_out)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    const struct http_request request = GET(.timeout_ms = 60000);
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < n; i++)
        strbuf_append(&bytes, "HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n");
    strbuf_append(&bytes, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    reply.bytes = bytes.text;
    run(fixture, &reply, &request, &err, status_out);
    return err.code;
}

static void interim_replies_are_sixteen_at_most(void **state)
{
    long status = 0;

    assert_int_equal(run_after_interim(*state, INTERIM_MAX, &status), ERROR_NONE);
    assert_int_equal(status, 201);
    assert_int_equal(run_after_interim(*state, INTERIM_MAX + 1, &status), ERROR_UNAVAILABLE);
}

/* Statuses at the ends of their range. */
static void statuses_from_200_to_599_are_replies(void **state)
{
    static const struct {
        const char *line;
        long status; /* 0: refused */
    } cases[] = {{"200 First", 200}, {"599 Last", 599}, {"600 High", 0}, {"101 Switching", 0}};
    const struct http_request request = GET(.timeout_ms = 60000);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char bytes[128];
        const struct test_reply reply = {.bytes = bytes, .ending = TEST_CLOSE};
        struct error err = ERROR_INIT;
        long status = 0;

        (void)snprintf(bytes, sizeof(bytes), "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n",
                       cases[i].line);
        run(*state, &reply, &request, &err, &status);
        assert_int_equal(err.code, cases[i].status > 0 ? ERROR_NONE : ERROR_UNAVAILABLE);
        if (cases[i].status > 0)
            assert_int_equal(status, cases[i].status);
        else
            assert_non_null(strstr(err.message, ", which cannot be forwarded"));
    }
}

/* The value of a header of the final reply alone. */
static void headers_are_those_of_the_final_reply(void **state)
{
    static const struct test_reply reply = {
        .bytes = "HTTP/1.1 103 Hints\r\nX-Early: 1\r\n\r\n" OK_HEAD
                 "X-One:one \r\nX-OneTwo: 2\r\nx-one: again\r\nX-Tab:\t3\r\nX-None:\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Late: 1\r\n\r\n"};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(&reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    size_t len = 0;

    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    assert_string_equal(http_body(call, &len), "ok");
    assert_null(http_reply_header(call, "X-Early"));
    assert_null(http_reply_header(call, "X-Late"));
    assert_null(http_reply_header(call, "X-On"));
    assert_string_equal(http_reply_header(call, "X-ONE"), "one");
    assert_string_equal(http_reply_header(call, "X-OneTwo"), "2");
    assert_string_equal(http_reply_header(call, "X-Tab"), "3");
    assert_string_equal(http_reply_header(call, "X-None"), "");
    test_server_stop(server);
}

/* --- requests --- */

static bool sends(const struct fixture *fixture, const struct http_request *like, const char *line)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = *like;
    bool has_line = false;

    request.url = test_server_url(server, "/");
    assert_int_equal(fixture_run(fixture, &request, &call), ERROR_NONE);
    has_line = strstr(test_server_request(server, 0), line) != NULL;
    test_server_stop(server);
    return has_line;
}

static void request_has_the_headers_of_its_body(void **state)
{
    const struct http_request plain = GET(.timeout_ms = 60000);
    struct http_request request = plain;

    assert_false(sends(*state, &plain, "Content-Type"));
    assert_false(sends(*state, &plain, "Content-Length"));
    assert_false(sends(*state, &plain, "Expect"));
    assert_true(sends(*state, &plain, "\r\nUser-Agent: deft\r\n"));
    request.content_type = "a/b";
    assert_true(sends(*state, &request, "\r\nContent-Type: a/b\r\n"));
    request.method = "POST";
    request.content_type = NULL;
    assert_true(sends(*state, &request, "\r\nContent-Length: 0\r\n"));
    assert_true(sends(*state, &request, "POST / HTTP/1.1\r\n"));
    request.body = "ab";
    request.body_len = 1;
    assert_true(sends(*state, &request, "\r\nContent-Type: application/json\r\n"));
    assert_true(sends(*state, &request, "\r\nContent-Length: 1\r\n"));
    assert_false(sends(*state, &request, "\r\n\r\nab"));
    request.method = "DELETE";
    assert_true(sends(*state, &request, "DELETE / HTTP/1.1\r\n"));
}

/* The reply to HEAD has a length and no body. */
static void head_has_no_body(void **state)
{
    static const struct test_reply reply = {.bytes = OK_HEAD "Content-Length: 5\r\n\r\n"};
    const struct http_request request = {
        .method = "HEAD", .address_of = ADDRESS_OF_ADMINISTRATOR, .timeout_ms = 60000};
    struct error err = ERROR_INIT;
    long status = 0;

    run(*state, &reply, &request, &err, &status);
    assert_int_equal(err.code, ERROR_NONE);
    assert_int_equal(status, 200);
    assert_true(sends(*state, &request, "HEAD / HTTP/1.1\r\n"));
}

/* --- connections --- */

static void own_connection_is_shared_with_no_call(void **state)
{
    const struct fixture *fixture = *state;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));

    if (fixture->direct == NULL) {
        assert_int_equal(fixture_run_get(fixture, request.url), ERROR_NONE);
        request.own_connection = true;
        for (size_t i = 0; i < 2; i++) {
            CLEANUP(http_call_freep) struct http_call *call = NULL;

            assert_int_equal(fixture_run(fixture, &request, &call), ERROR_NONE);
        }
        assert_int_equal(test_server_n_connections(server), 3);
        assert_int_equal(fixture_run_get(fixture, request.url), ERROR_NONE);
        assert_int_equal(test_server_n_connections(server), 3);
    }
    test_server_stop(server);
}

/* However many calls are in progress. */
static void connections_are_used_again_by_many_calls(void **state)
{
    enum { N_HELD = 300, N_NEXT = 50 };
    struct test_reply replies[N_HELD + 1] = {{NULL}};
    const struct fixture *fixture = *state;
    struct test_server *server = test_server_start(replies, N_HELD + 1, NULL);
    const char *url = test_server_url(server, "/");
    const struct http_request request = fixture_get(url);
    struct http_call *held[N_HELD] = {NULL};
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < N_HELD; i++)
        replies[i].n_requests = N_HELD + N_NEXT;
    for (size_t i = 0; fixture->direct == NULL && i < N_HELD; i++)
        assert_int_equal(fixture_start(fixture, &request, &held[i], &err), 0);
    if (fixture->direct == NULL) {
        assert_true(test_server_wait(server, N_HELD));
        for (size_t i = 0; i < N_NEXT; i++)
            assert_int_equal(fixture_run_get(fixture, url), ERROR_NONE);
        assert_int_equal(test_server_n_connections(server), N_HELD + 1);
    }
    for (size_t i = 0; i < N_HELD; i++)
        http_call_free(held[i]);
    test_server_stop(server);
}

/* The oldest are ended; each call ends one, even if the calls before ended all together. */
static void few_idle_connections_stay_after_many_calls(void **state)
{
    enum { N_HELD = 340, N_STAY = 256 + 1, N_NEXT = N_HELD - N_STAY };
    const struct test_reply reply = {.n_requests = N_HELD};
    const struct fixture *fixture = *state;
    struct test_server *server = test_server_start(&reply, 1, NULL);
    const char *url = test_server_url(server, "/");
    const struct http_request request = fixture_get(url);
    struct http_call *held[N_HELD] = {NULL};
    struct error err = ERROR_INIT;

    for (size_t i = 0; fixture->direct == NULL && i < N_HELD; i++)
        assert_int_equal(fixture_start(fixture, &request, &held[i], &err), 0);
    for (size_t i = 0; fixture->direct == NULL && i < N_HELD; i++)
        assert_int_equal(http_wait(held[i], &err), 0);
    for (size_t i = 0; fixture->direct == NULL && i < N_NEXT; i++)
        assert_int_equal(fixture_run_get(fixture, url), ERROR_NONE);
    if (fixture->direct == NULL) {
        assert_true(test_server_wait_ended(server, N_HELD - N_STAY));
        assert_int_equal(test_server_n_connections(server), N_HELD);
    }
    for (size_t i = 0; i < N_HELD; i++)
        http_call_free(held[i]);
    test_server_stop(server);
}

static void freed_call_leaves_its_connection(void **state)
{
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;

    request.timeout_ms = 0;
    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
    assert_true(test_server_wait(server, 1));
    http_call_free(call);
    assert_true(test_server_wait_ended(server, 1));
    test_server_stop(server);
}

static void cancelled_call_leaves_its_connection(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct error err = ERROR_INIT;

    request.timeout_ms = 0;
    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
    assert_true(test_server_wait(server, 1));
    http_cancel(call);
    assert_int_equal(http_wait(call, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    http_call_freep(&call);
    assert_true(test_server_wait_ended(server, 1));
    test_server_stop(server);
}

/* The rest of a stream that nobody reads is waited for half a second. */
static void drained_call_leaves_its_connection_in_time(void **state)
{
    static const struct test_reply half = {.bytes = OK_HEAD "Content-Length: 9\r\n\r\nabc",
                                           .ending = TEST_HOLD};
    const struct fixture *fixture = *state;
    struct test_server *server = test_server_start(&half, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;
    const char *bytes = NULL;
    size_t len = 0;

    request.stream = true;
    request.timeout_ms = 0;
    assert_int_equal(fixture_start(fixture, &request, &call, &err), 0);
    assert_int_equal(http_call_read(call, &bytes, &len, &err), 0);
    http_call_drain(call);
    /* A direct connection waits for its next use. */
    if (fixture->direct == NULL)
        assert_true(test_server_wait_ended(server, 1));
    test_server_stop(server);
}

static void status_is_known_once_it_came(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct error err = ERROR_INIT;

    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
    assert_false(http_is_over_within(call, 0));
    assert_int_equal(http_status(call), 0);
    assert_null(http_reply_header(call, "X-Any"));
    assert_int_equal(http_retry_after_ms(call), -1);
    assert_false(http_is_unreached(call));
    assert_false(http_is_unproven(call));
    http_call_freep(&call);
    assert_null(call);
    http_call_free(NULL);
    test_server_stop(server);
}

static void finished_call_cannot_be_cancelled(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct error err = ERROR_INIT;

    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    http_cancel(call);
    assert_int_equal(http_wait(call, &err), 0);
    assert_int_equal(http_status(call), 200);
    test_server_stop(server);
}

/* The newest ones; each server is asked once, then the first and the last of them again. */
static void four_idle_connections_are_kept(void **state)
{
    enum { N = IDLE_CONNECTIONS_MAX + 1 };
    const struct fixture *fixture = *state;
    struct test_server *servers[N] = {NULL};

    for (size_t i = 0; i < N; i++) {
        servers[i] = test_server_start(plain_reply, 1, NULL);
        assert_int_equal(fixture_run_get(fixture, test_server_url(servers[i], "/")), ERROR_NONE);
    }
    if (fixture->direct != NULL) {
        for (size_t i = N - 1; i > 0; i--)
            assert_int_equal(fixture_run_get(fixture, test_server_url(servers[i], "/")),
                             ERROR_NONE);
        assert_true(test_server_wait_ended(servers[0], 1));
        assert_int_equal(fixture_run_get(fixture, test_server_url(servers[0], "/")), ERROR_NONE);
        assert_int_equal(test_server_n_connections(servers[0]), 2);
        for (size_t i = 1; i < N; i++)
            assert_int_equal(test_server_n_connections(servers[i]), 1);
    }
    for (size_t i = 0; i < N; i++)
        test_server_stop(servers[i]);
}

/* --- the server's wish to wait --- */

static int64_t retry_after_of(const struct fixture *fixture, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct test_server *server = NULL;
    struct http_request request;
    int64_t wait_ms = 0;

    strbuf_appendf(&bytes, "HTTP/1.1 503 Busy\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n",
                   value);
    reply.bytes = bytes.text;
    server = test_server_start(&reply, 1, NULL);
    request = fixture_get(test_server_url(server, "/"));
    assert_int_equal(fixture_run(fixture, &request, &call), ERROR_NONE);
    wait_ms = http_retry_after_ms(call);
    test_server_stop(server);
    return wait_ms;
}

static void longest_wait_has_thirty_days(void **state)
{
    assert_int_equal(retry_after_of(*state, "2592000"), 2592000000);
    assert_int_equal(retry_after_of(*state, "2592001"), -1);
    assert_int_equal(retry_after_of(*state, "-1"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_what_happened),
        cmocka_unit_test(longest_reply_has_eight_mebibytes),
        cmocka_unit_test(interim_replies_are_sixteen_at_most),
        cmocka_unit_test(statuses_from_200_to_599_are_replies),
        cmocka_unit_test(headers_are_those_of_the_final_reply),
        cmocka_unit_test(request_has_the_headers_of_its_body),
        cmocka_unit_test(head_has_no_body),
        cmocka_unit_test(own_connection_is_shared_with_no_call),
        cmocka_unit_test(connections_are_used_again_by_many_calls),
        cmocka_unit_test(few_idle_connections_stay_after_many_calls),
        cmocka_unit_test(freed_call_leaves_its_connection),
        cmocka_unit_test(cancelled_call_leaves_its_connection),
        cmocka_unit_test(drained_call_leaves_its_connection_in_time),
        cmocka_unit_test(status_is_known_once_it_came),
        cmocka_unit_test(finished_call_cannot_be_cancelled),
        cmocka_unit_test(four_idle_connections_are_kept),
        cmocka_unit_test(longest_wait_has_thirty_days),
    };
    int n_failed =
        cmocka_run_group_tests_name("transport", tests, fixture_set_up, fixture_tear_down);

    n_failed +=
        cmocka_run_group_tests_name("direct", tests, fixture_set_up_direct, fixture_tear_down);
    return n_failed;
}
