/*
 * Calls: what is sent, whom they reach, what is an answer, and when one is given up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/http_fixture.h"

static void answer_is_read_whole(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 404 Not Found\r\nX-One: 1\r\nx-two:  two words \r\nX-One: 2\r\n"
                  "Content-Length: 5\r\n\r\nhello",
         .piece = 1}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/a?b=c"));
    size_t len = 0;

    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    assert_int_equal(http_status(call), 404);
    assert_memory_equal(http_body(call, &len), "hello", 5);
    assert_int_equal(len, 5);
    assert_string_equal(http_reply_header(call, "x-one"), "1");
    assert_null(http_reply_header(call, "x-three"));
    assert_non_null(strstr(test_server_request(server, 0), "GET /a?b=c HTTP/1.1\r\n"));
    test_server_stop(server);
}

static void body_and_headers_are_sent(void **state)
{
    static const struct http_header headers[] = {
        {"Authorization", "Bearer abc"}, {"X-Empty", ""}, {NULL, NULL}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    const char *sent = NULL;

    request.method = "PUT";
    request.headers = headers;
    request.body = "{}";
    request.body_len = 2;
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    sent = test_server_request(server, 0);
    assert_non_null(strstr(sent, "PUT / HTTP/1.1\r\n"));
    assert_non_null(strstr(sent, "\r\nAuthorization: Bearer abc\r\n"));
    assert_non_null(strstr(sent, "\r\nX-Empty:"));
    assert_non_null(strstr(sent, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(sent, "\r\nContent-Length: 2\r\n"));
    assert_null(strstr(sent, "Accept-Encoding"));
    assert_non_null(strstr(sent, "\r\n\r\n{}"));
    test_server_stop(server);
}

static void headers_cannot_be_smuggled_in(void **state)
{
    static const struct http_header evil[][2] = {
        {{"X-A", "1\r\nX-B: 2"}, {NULL, NULL}},
        {{"X-A: 1\nX-B", "2"}, {NULL, NULL}},
        {{"", "x"}, {NULL, NULL}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(evil); i++) {
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct http_request request = fixture_get("http://127.0.0.1:1/");

        request.headers = evil[i];
        assert_int_equal(fixture_run(*state, &request, &call), ERROR_INVALID);
    }
}

static void connection_is_used_again(void **state)
{
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    const char *url = test_server_url(server, "/");

    for (int i = 0; i < 5; i++)
        assert_int_equal(fixture_run_get(*state, url), ERROR_NONE);
    assert_int_equal(test_server_n_requests(server), 5);
    assert_int_equal(test_server_n_connections(server), 1);
    test_server_stop(server);
}

static void private_address_is_refused(void **state)
{
    static const char *const forms[] = {
        "http://127.0.0.1:%s/",
        "http://localhost:%s/",
        "http://2130706433:%s/",
        "http://0177.0.0.1:%s/",
        "http://0x7f.1:%s/",
        "http://0.0.0.0:%s/",
        "http://[::1]:%s/",
        "http://127.1:%s/",
        "http://[::ffff:127.0.0.1]:%s/",
        "http://[::ffff:7f00:0001]:%s/",
        "http://[::]:%s/",
        "http://LOCALHOST:%s/#@8.8.8.8",
    };
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    const char *port = strrchr(test_server_url(server, ""), ':') + 1;

    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct http_request request = {
            .method = "GET", .timeout_ms = 60000, .address_of = ADDRESS_OF_USER};
        char url[128];
        enum error_code code = ERROR_NONE;

        /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the forms are above */
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")
            assert_true(snprintf(url, sizeof(url), forms[i], port) > 0);
        _Pragma("GCC diagnostic pop") request.url = url;
        code = fixture_run(*state, &request, &call);
        if (code != ERROR_FORBIDDEN && code != ERROR_UNAVAILABLE)
            fail_msg("%s: %s", url, error_code_to_string(code));
    }
    assert_int_equal(test_server_n_connections(server), 0);
    test_server_stop(server);
}

static void kept_private_connection_is_no_way_in(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));

    assert_int_equal(fixture_run_get(*state, request.url), ERROR_NONE);
    request.address_of = ADDRESS_OF_USER;
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_FORBIDDEN);
    assert_int_equal(test_server_n_requests(server), 1);
    test_server_stop(server);
}

static enum error_code run_as(void *state, const char *url, enum address_owner owner)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct http_request request = fixture_get(url);

    request.address_of = owner;
    return fixture_run(state, &request, &call);
}

static void trusted_users_reach_private_addresses_and_sandboxes_never_do(void **state)
{
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    const char *url = test_server_url(server, "/");
    struct error err = ERROR_INIT;
    struct http *trusting = NULL;

    assert_int_equal(http_open(&trusting, &err), 0);
    http_trust_users(trusting);
    assert_int_equal(run_as(*state, url, ADDRESS_OF_DEFT), ERROR_NONE);
    assert_int_equal(run_as(*state, url, ADDRESS_OF_ADMINISTRATOR), ERROR_NONE);
    assert_int_equal(run_as(*state, url, ADDRESS_OF_USER), ERROR_FORBIDDEN);
    assert_int_equal(run_as(*state, url, ADDRESS_OF_SANDBOX), ERROR_FORBIDDEN);
    assert_true(http_reaches_private(trusting, ADDRESS_OF_USER));
    assert_false(http_reaches_private(trusting, ADDRESS_OF_SANDBOX));
    http_free(trusting);
    test_server_stop(server);
}

static void a_call_says_whose_address_it_goes_to(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct error err = ERROR_INIT;

    request.address_of = ADDRESS_UNSTATED;
    assert_int_equal(http_start(*state, &request, &call, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_int_equal(test_server_n_connections(server), 0);
    test_server_stop(server);
}

static void odd_urls_are_refused(void **state)
{
    static const char *const urls[] = {
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "ftp://127.0.0.1/",
        "http://user:pw@127.0.0.1/",
        "http://127.0.0.1/\r\nX: y",
        "http://127.0.0.1/a b",
        "",
        "http://",
        "dict://127.0.0.1:11/",
    };

    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        if (fixture_run_get(*state, urls[i]) != ERROR_INVALID)
            fail_msg("%s was not invalid", urls[i]);
    }
}

static void redirect_is_an_answer(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes =
             "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));

    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    assert_int_equal(http_status(call), 302);
    test_server_stop(server);
}

static void unix_socket_is_reached(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    char path[64];
    struct test_server *server = NULL;
    struct http_request request = fixture_get("http://localhost/info");

    assert_true(snprintf(path, sizeof(path), "/tmp/deft-http-test-%d.sock", (int)getpid()) > 0);
    server = test_server_start(plain_reply, 1, path);
    request.unix_socket = path;
    request.address_of = ADDRESS_OF_USER;
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    assert_non_null(strstr(test_server_request(server, 0), "GET /info "));
    test_server_stop(server);
    (void)unlink(path);
}

static void unreachable_server_is_unavailable(void **state)
{
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    CLEANUP(mem_freep) char *url = mem_dup_text(test_server_url(server, "/"));

    test_server_stop(server);
    assert_int_equal(fixture_run_get(*state, url), ERROR_UNAVAILABLE);
    assert_int_equal(fixture_run_get(*state, "http://no-such-host.invalid/"), ERROR_UNAVAILABLE);
}

static void cut_off_answers_are_unavailable(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = OK_HEAD "Content-Length: 10\r\n\r\nhalf", .ending = TEST_CLOSE},
        {.bytes = OK_HEAD "Content-Length: 10\r\n\r\nhalf", .ending = TEST_RESET},
        {.bytes = OK_HEAD "Transfer-Encoding: chunked\r\n\r\n9\r\nhalf", .ending = TEST_CLOSE},
        {.bytes = OK_HEAD "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nxyz\r\n",
         .ending = TEST_CLOSE},
        {.bytes = "HTTP/1.1 20", .ending = TEST_CLOSE},
        {.bytes = "nonsense\r\n\r\n", .ending = TEST_CLOSE},
        {.bytes = "", .ending = TEST_CLOSE},
        {.bytes = "", .ending = TEST_RESET},
    };

    for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
        struct test_server *server = test_server_start(&replies[i], 1, NULL);

        assert_int_equal(fixture_run_get(*state, test_server_url(server, "/")), ERROR_UNAVAILABLE);
        test_server_stop(server);
    }
}

static void deadline_ends_a_call(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    int64_t began_ms = clock_monotonic_ms();

    request.timeout_ms = 50;
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_TIMEOUT);
    assert_true(clock_monotonic_ms() - began_ms >= 50);
    test_server_stop(server);
}

static void silence_ends_a_call(void **state)
{
    static const struct test_reply drip[] = {
        {.bytes = OK_HEAD "Content-Length: 4\r\n\r\nab", .ending = TEST_HOLD}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(drip, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));

    request.idle_timeout_ms = 60;
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_TIMEOUT);
    test_server_stop(server);
}

static void what_reached_nobody_is_told_from_what_broke(void **state)
{
    static const struct test_reply reset = {.ending = TEST_RESET, .bytes = "HTTP/1.1 ", .len = 9};
    struct test_server *server = test_server_start(&reset, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    CLEANUP(http_call_freep) struct http_call *broken = NULL;
    CLEANUP(http_call_freep) struct http_call *unreached = NULL;
    CLEANUP(mem_freep) char *url = mem_dup_text(request.url);

    assert_int_equal(fixture_run(*state, &request, &broken), ERROR_UNAVAILABLE);
    assert_false(http_is_unreached(broken));
    test_server_stop(server);
    request.url = url;
    assert_int_equal(fixture_run(*state, &request, &unreached), ERROR_UNAVAILABLE);
    assert_true(http_is_unreached(unreached));
}

static void long_answer_is_refused(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = OK_HEAD "Content-Length: 11\r\n\r\n12345678901"},
        {.bytes = OK_HEAD "Content-Length: 10\r\n\r\n1234567890"}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(http_call_freep) struct http_call *fits = NULL;
    struct test_server *server = test_server_start(replies, 2, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));

    request.max_reply_bytes = 10;
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_TOO_LARGE);
    assert_int_equal(fixture_run(*state, &request, &fits), ERROR_NONE);
    test_server_stop(server);
}

static void statuses_that_no_answer_has_are_refused(void **state)
{
    static const char *const lines[] = {"101 Switching Protocols", "000 Zero", "099 Low",
                                        "600 High", "999 Higher"};

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        char bytes[160];
        struct test_reply reply = {.bytes = bytes, .ending = TEST_CLOSE};
        struct test_server *server = NULL;

        (void)snprintf(bytes, sizeof(bytes),
                       "HTTP/1.1 %s\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
                       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
                       lines[i]);
        server = test_server_start(&reply, 1, NULL);
        assert_int_equal(fixture_run_get(*state, test_server_url(server, "/")), ERROR_UNAVAILABLE);
        test_server_stop(server);
    }
}

static void interim_answers_are_skipped_until_there_are_too_many(void **state)
{
    static const char interim[] = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    static const char final[] = "HTTP/1.1 204 No Content\r\nX-One: 1\r\n\r\n";
    CLEANUP(strbuf_done) struct strbuf few = STRBUF_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    const struct test_reply endless = {.bytes = interim, .n_times = 1000, .ending = TEST_HOLD};
    struct test_reply reply = {.bytes = NULL};
    struct test_server *server = NULL;
    struct http_request request;

    for (int i = 0; i < 3; i++)
        strbuf_append(&few, interim);
    strbuf_append(&few, final);
    reply.bytes = few.text;
    server = test_server_start(&reply, 1, NULL);
    request = fixture_get(test_server_url(server, "/"));
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    assert_int_equal(http_status(call), 204);
    assert_null(http_reply_header(call, "Link"));
    assert_string_equal(http_reply_header(call, "X-One"), "1");
    test_server_stop(server);
    server = test_server_start(&endless, 1, NULL);
    assert_int_equal(fixture_run_get(*state, test_server_url(server, "/")), ERROR_UNAVAILABLE);
    test_server_stop(server);
}

static void endless_headers_are_refused(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 200 OK\r\n", .ending = TEST_HOLD}};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct test_reply reply = replies[0];
    struct test_server *server = NULL;

    strbuf_append(&text, reply.bytes);
    for (int i = 0; i < 20000; i++)
        strbuf_append(&text, "X-Long: value\r\n");
    reply.bytes = text.text;
    server = test_server_start(&reply, 1, NULL);
    assert_int_equal(fixture_run_get(*state, test_server_url(server, "/")), ERROR_TOO_LARGE);
    test_server_stop(server);
}

static int64_t retry_after_of(const struct fixture *fixture, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_reply reply = {.bytes = NULL};
    struct test_server *server = NULL;
    struct http_request request = {0};
    int64_t wait_ms = 0;

    strbuf_appendf(&text, "HTTP/1.1 429 Slow\r\n%sContent-Length: 0\r\n\r\n", value);
    reply.bytes = text.text;
    server = test_server_start(&reply, 1, NULL);
    request = fixture_get(test_server_url(server, "/"));
    assert_int_equal(fixture_run(fixture, &request, &call), ERROR_NONE);
    wait_ms = http_retry_after_ms(call);
    test_server_stop(server);
    return wait_ms;
}

static void retry_after_is_understood(void **state)
{
    assert_int_equal(retry_after_of(*state, ""), -1);
    assert_int_equal(retry_after_of(*state, "Retry-After: 7\r\n"), 7000);
    assert_int_equal(retry_after_of(*state, "Retry-After: 0\r\n"), 0);
    assert_int_equal(retry_after_of(*state, "Retry-After: soon\r\n"), -1);
    assert_int_equal(retry_after_of(*state, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"), 0);
    assert_int_equal(retry_after_of(*state, "Retry-After: 7\r\nretry-after-ms: 6500\r\n"), 6500);
    assert_int_equal(retry_after_of(*state, "Retry-After-Ms: 0\r\n"), 0);
    assert_int_equal(retry_after_of(*state, "retry-after-ms: 1s\r\nRetry-After: 7\r\n"), 7000);
    assert_int_equal(retry_after_of(*state, "retry-after-ms: 2592000001\r\n"), -1);
    assert_true(retry_after_of(*state, "Retry-After: Fri, 31 Dec 2099 23:59:59 GMT\r\n") > 1000000);
}

int main(void)
{
    /* A proxy of the environment is not used: it would be looked at in place of the address. */
    static const char *const proxies[] = {"http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_is_read_whole),
        cmocka_unit_test(body_and_headers_are_sent),
        cmocka_unit_test(headers_cannot_be_smuggled_in),
        cmocka_unit_test(connection_is_used_again),
        cmocka_unit_test(private_address_is_refused),
        cmocka_unit_test(kept_private_connection_is_no_way_in),
        cmocka_unit_test(trusted_users_reach_private_addresses_and_sandboxes_never_do),
        cmocka_unit_test(a_call_says_whose_address_it_goes_to),
        cmocka_unit_test(odd_urls_are_refused),
        cmocka_unit_test(redirect_is_an_answer),
        cmocka_unit_test(unix_socket_is_reached),
        cmocka_unit_test(unreachable_server_is_unavailable),
        cmocka_unit_test(cut_off_answers_are_unavailable),
        cmocka_unit_test(deadline_ends_a_call),
        cmocka_unit_test(silence_ends_a_call),
        cmocka_unit_test(what_reached_nobody_is_told_from_what_broke),
        cmocka_unit_test(long_answer_is_refused),
        cmocka_unit_test(statuses_that_no_answer_has_are_refused),
        cmocka_unit_test(interim_answers_are_skipped_until_there_are_too_many),
        cmocka_unit_test(endless_headers_are_refused),
        cmocka_unit_test(retry_after_is_understood),
    };
    int n_failed = 0;

    for (size_t i = 0; i < ARRAY_SIZE(proxies); i++) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): there are no other threads yet */
        if (setenv(proxies[i], "http://127.0.0.1:1", 1) < 0)
            return 1;
    }
    n_failed = cmocka_run_group_tests_name("transport", tests, fixture_set_up, fixture_tear_down);
    n_failed +=
        cmocka_run_group_tests_name("direct", tests, fixture_set_up_direct, fixture_tear_down);
    return n_failed;
}
