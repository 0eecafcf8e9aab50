/*
 * Direct connections: reading answers, keeping connections.
 */
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/http_fixture.h"

/* The server reads one chunk of it: the rest fills the buffers of both sockets. */
#define MORE_THAN_SOCKETS_HOLD (32 * 1024 * KIB)

static void answers_of_all_forms_end(void **state)
{
    static const struct {
        struct test_reply reply;
        const char *body;
    } forms[] = {
        {{.bytes = OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n"
                           "X-Trailer: 1\r\n\r\n",
          .piece = 1},
         "abcde"},
        {{.bytes = OK_HEAD "\r\nuntil the end", .ending = TEST_CLOSE}, "until the end"},
        {{.bytes = "HTTP/1.0 200 OK\r\n\r\nold", .ending = TEST_CLOSE}, "old"},
        {{.bytes = "HTTP/1.1 204 No Content\r\n\r\n"}, ""},
        {{.bytes = "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n" OK_HEAD
                   "Content-Length: 2\r\n\r\nok"},
         "ok"},
        {{.bytes = OK_HEAD "Content-Length: 2\r\nConnection: close\r\n\r\nok",
          .ending = TEST_CLOSE},
         "ok"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct test_server *server = test_server_start(&forms[i].reply, 1, NULL);
        struct http_request request = fixture_get(test_server_url(server, "/"));
        size_t len = 0;

        assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
        assert_string_equal(http_body(call, &len), forms[i].body);
        assert_null(http_reply_header(call, "X-Early"));
        assert_int_equal(fixture_run_get(*state, request.url), ERROR_NONE);
        test_server_stop(server);
    }
}

/* The answer says nothing of it: the server goes, as one does that is started anew. */
static void dead_kept_connection_is_replaced(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = OK_HEAD "Content-Length: 2\r\n\r\nok", .ending = TEST_CLOSE}};
    struct test_server *server = test_server_start(replies, 1, NULL);
    const char *url = test_server_url(server, "/");

    for (int i = 0; i < 5; i++)
        assert_int_equal(fixture_run_get(*state, url), ERROR_NONE);
    assert_int_equal(test_server_n_requests(server), 5);
    test_server_stop(server);
}

static void connection_with_more_than_an_answer_is_left(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = OK_HEAD "Content-Length: 2\r\n\r\nokHTTP/1.1 500 Bad\r\n\r\n"}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));

    assert_int_equal(fixture_run_get(*state, request.url), ERROR_NONE);
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    assert_int_equal(http_status(call), 200);
    assert_int_equal(test_server_n_connections(server), 2);
    test_server_stop(server);
}

static void answer_of_ambiguous_length_is_refused(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = OK_HEAD "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
         .ending = TEST_CLOSE},
        {.bytes =
             OK_HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         .ending = TEST_CLOSE}};

    for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
        struct test_server *server = test_server_start(&replies[i], 1, NULL);

        assert_int_not_equal(fixture_run_get(*state, test_server_url(server, "/")), ERROR_NONE);
        test_server_stop(server);
    }
}

static void long_body_is_sent_whole(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    const char *sent = NULL;

    while (body.len < 8192 * KIB)
        strbuf_append(&body, "0123456789abcdef");
    request.method = "POST";
    request.body = body.text;
    request.body_len = body.len;
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    sent = strstr(test_server_request(server, 0), "\r\n\r\n");
    assert_non_null(sent);
    assert_string_equal(sent + 4, body.text);
    test_server_stop(server);
}

/* The rest of the first request would be taken for the start of the second. */
static void connection_is_left_after_half_a_request(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = NULL, .ending = TEST_HOLD, .is_early = true}, {.bytes = NULL}};
    CLEANUP(mem_freep) char *body = mem_alloc(MORE_THAN_SOCKETS_HOLD);
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(replies, 2, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));

    memset(body, 'x', MORE_THAN_SOCKETS_HOLD);
    request.method = "POST";
    request.body = body;
    request.body_len = MORE_THAN_SOCKETS_HOLD;
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    assert_int_equal(http_status(call), 200);
    assert_int_equal(fixture_run_get(*state, test_server_url(server, "/")), ERROR_NONE);
    assert_int_equal(test_server_n_connections(server), 2);
    test_server_stop(server);
}

/* What is still to come of the request would be taken for the next one. */
static void drained_connection_is_left_after_half_a_request(void **state)
{
    static const struct test_reply replies[] = {{.bytes = OK_HEAD "Content-Length: 6\r\n\r\nabcdef",
                                                 .piece = 1,
                                                 .ending = TEST_HOLD,
                                                 .is_early = true},
                                                {.bytes = NULL}};
    CLEANUP(mem_freep) char *body = mem_alloc(MORE_THAN_SOCKETS_HOLD);
    struct http_call *call = NULL;
    struct test_server *server = test_server_start(replies, 2, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    const char *bytes = NULL;
    struct error err = ERROR_INIT;
    size_t len = 0;

    memset(body, 'x', MORE_THAN_SOCKETS_HOLD);
    request.method = "POST";
    request.body = body;
    request.body_len = MORE_THAN_SOCKETS_HOLD;
    request.stream = true;
    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
    assert_int_equal(http_call_read(call, &bytes, &len, &err), 0);
    http_call_drain(call);
    assert_int_equal(fixture_run_get(*state, test_server_url(server, "/")), ERROR_NONE);
    assert_int_equal(test_server_n_connections(server), 2);
    test_server_stop(server);
}

/* It would be taken for the answer to the next request. */
static void drained_connection_with_more_than_an_answer_is_left(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = OK_HEAD "Content-Length: 6\r\n\r\nabcdefHTTP/1.1 500 Bad\r\n\r\n", .piece = 1},
        {.bytes = NULL}};
    CLEANUP(http_call_freep) struct http_call *second = NULL;
    struct http_call *first = NULL;
    struct test_server *server = test_server_start(replies, 2, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    int64_t deadline_ms = clock_monotonic_ms() + 60000;
    const char *bytes = NULL;
    struct error err = ERROR_INIT;
    size_t len = 0;

    request.stream = true;
    assert_int_equal(fixture_start(*state, &request, &first, &err), 0);
    assert_int_equal(http_call_read(first, &bytes, &len, &err), 0);
    http_call_drain(first);
    while (test_server_n_sent(server) < 1 && clock_monotonic_ms() < deadline_ms)
        sched_yield();
    request.stream = false;
    assert_int_equal(fixture_run(*state, &request, &second), ERROR_NONE);
    assert_int_equal(http_status(second), 200);
    assert_int_equal(test_server_n_connections(server), 2);
    test_server_stop(server);
}

static void connection_is_used_again_for_its_own_port_only(void **state)
{
    static const struct test_reply replies[] = {{.bytes = NULL}};
    struct test_server *first = test_server_start(replies, 1, NULL);
    struct test_server *second = test_server_start(replies, 1, NULL);

    for (int i = 0; i < 2; i++) {
        assert_int_equal(fixture_run_get(*state, test_server_url(first, "/")), ERROR_NONE);
        assert_int_equal(fixture_run_get(*state, test_server_url(second, "/")), ERROR_NONE);
    }
    assert_int_equal(test_server_n_requests(first), 2);
    assert_int_equal(test_server_n_requests(second), 2);
    assert_int_equal(test_server_n_connections(first), 1);
    test_server_stop(first);
    test_server_stop(second);
}

/* A server that never ends its line must not fill the memory until the call's time is over. */
static void line_without_an_end_is_refused(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 200 OK and so on", .n_times = 8192, .ending = TEST_HOLD}};
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    CLEANUP(http_call_freep) struct http_call *call = NULL;

    request.timeout_ms = 5000;
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_TOO_LARGE);
    test_server_stop(server);
}

/* How often a request is sent, if the server ends the connection on which it comes. */
static void request_on_a_kept_connection_is_sent_again(void **state)
{
    static const struct {
        struct test_reply first;
        struct test_reply second;
        enum error_code code; /* of the second call */
        size_t n_requests;
    } cases[] = {
        /* It was closed before the request arrived. */
        {{.bytes = NULL}, {.bytes = "", .ending = TEST_CLOSE}, ERROR_NONE, 3},
        {{.bytes = NULL}, {.bytes = "", .ending = TEST_RESET}, ERROR_NONE, 3},
        /* The request had an effect, perhaps. */
        {{.bytes = NULL}, {.bytes = "H", .ending = TEST_CLOSE}, ERROR_UNAVAILABLE, 2},
        {{.bytes = NULL}, {.bytes = OK_HEAD, .ending = TEST_CLOSE}, ERROR_UNAVAILABLE, 2},
        {{.bytes = NULL},
         {.bytes = "HTTP/1.1 100 Continue\r\n\r\n", .ending = TEST_CLOSE},
         ERROR_UNAVAILABLE,
         2},
        /* A new connection leads to the same server. */
        {{.bytes = OK_HEAD "Connection: close\r\nContent-Length: 0\r\n\r\n"},
         {.bytes = "", .ending = TEST_CLOSE},
         ERROR_UNAVAILABLE,
         2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct test_reply replies[] = {cases[i].first, cases[i].second, {.bytes = NULL}};
        struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct http_request request = fixture_get(test_server_url(server, "/"));

        assert_int_equal(fixture_run_get(*state, request.url), ERROR_NONE);
        assert_int_equal(fixture_run(*state, &request, &call), cases[i].code);
        if (cases[i].code == ERROR_NONE)
            assert_int_equal(http_status(call), 200);
        assert_int_equal(test_server_n_requests(server), cases[i].n_requests);
        test_server_stop(server);
    }
}

/* What is wrong with a reply is said in words. */
static void reply_that_is_none_is_refused_in_words(void **state)
{
    static const struct {
        const char *bytes;
        const char *message;
    } cases[] = {
        {"SSH-2.0-OpenSSH_9.2\r\n", "the response is not HTTP/1"},
        {OK_HEAD "Content-Length: x\r\n", "the response's Content-Length is not valid"},
        {OK_HEAD "Content-Length: 5\r\n\r\nab",
         "the response was cut off: Connection reset by peer"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct test_reply reply = {.bytes = cases[i].bytes, .ending = TEST_CLOSE};
        struct test_server *server = test_server_start(&reply, 1, NULL);
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct http_request request = fixture_get(test_server_url(server, "/"));
        struct error err = ERROR_INIT;

        assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
        assert_int_equal(http_wait(call, &err), -1);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.code, ERROR_UNAVAILABLE);
        test_server_stop(server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_all_forms_end),
        cmocka_unit_test(dead_kept_connection_is_replaced),
        cmocka_unit_test(connection_with_more_than_an_answer_is_left),
        cmocka_unit_test(long_body_is_sent_whole),
        cmocka_unit_test(connection_is_left_after_half_a_request),
        cmocka_unit_test(answer_of_ambiguous_length_is_refused),
        cmocka_unit_test(drained_connection_is_left_after_half_a_request),
        cmocka_unit_test(drained_connection_with_more_than_an_answer_is_left),
        cmocka_unit_test(connection_is_used_again_for_its_own_port_only),
        cmocka_unit_test(line_without_an_end_is_refused),
        cmocka_unit_test(request_on_a_kept_connection_is_sent_again),
        cmocka_unit_test(reply_that_is_none_is_refused_in_words),
    };

    return cmocka_run_group_tests_name("direct only", tests, fixture_set_up_direct,
                                       fixture_tear_down);
}
