#include "client/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/test_server.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\n"
#define KIB ((size_t)1024)

static const struct test_reply plain[] = {{.bytes = NULL}};
static const struct test_reply silence[] = {{.bytes = "", .ending = TEST_HOLD}};

/* Everything is tested twice: on the transport's thread, and in a lane. */
struct fixture {
    struct http *http;
    struct http_lane *lane; /* NULL: none */
};

static int set_up(void **state)
{
    struct fixture *fixture = NEW(struct fixture);
    struct error err = ERROR_INIT;

    *state = fixture;
    return http_open(&fixture->http, &err);
}

static int set_up_lane(void **state)
{
    struct fixture *fixture = NULL;

    if (set_up(state) < 0)
        return -1;
    fixture = *state;
    fixture->lane = http_lane_new();
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    http_lane_free(fixture->lane);
    http_free(fixture->http);
    mem_free(fixture);
    return 0;
}

/* http_start() with the fixture's lane, if it has one. */
static int start(const struct fixture *fixture, const struct http_request *request,
                 struct http_call **call_out, struct error *err)
{
    struct http_request with_lane = *request;

    with_lane.lane = fixture->lane;
    return http_start(fixture->http, &with_lane, call_out, err);
}

static struct http_request get(const char *url)
{
    return (struct http_request){
        .method = "GET", .url = url, .allow_private = true, .timeout_ms = 10000};
}

/* Runs a call to its end; 0 or the code of its error. */
static enum error_code run(const struct fixture *fixture, const struct http_request *request,
                           struct http_call **call_out)
{
    struct error err = ERROR_INIT;

    if (start(fixture, request, call_out, &err) < 0)
        return err.code;
    return http_wait(*call_out, &err) < 0 ? err.code : ERROR_NONE;
}

static enum error_code run_get(const struct fixture *fixture, const char *url)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct http_request request = get(url);

    return run(fixture, &request, &call);
}

static void answer_is_read_whole(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 404 Not Found\r\nX-One: 1\r\nx-two:  two words \r\nX-One: 2\r\n"
                  "Content-Length: 5\r\n\r\nhello",
         .piece = 1}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct http_request request = get(test_server_url(server, "/a?b=c"));
    size_t len = 0;

    assert_int_equal(run(*state, &request, &call), ERROR_NONE);
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
    struct test_server *server = test_server_start(plain, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));
    const char *sent = NULL;

    request.method = "PUT";
    request.headers = headers;
    request.body = "{}";
    request.body_len = 2;
    assert_int_equal(run(*state, &request, &call), ERROR_NONE);
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
        struct http_request request = get("http://127.0.0.1:1/");

        request.headers = evil[i];
        assert_int_equal(run(*state, &request, &call), ERROR_INVALID);
    }
}

static void connection_is_used_again(void **state)
{
    struct test_server *server = test_server_start(plain, 1, NULL);
    const char *url = test_server_url(server, "/");

    for (int i = 0; i < 5; i++)
        assert_int_equal(run_get(*state, url), ERROR_NONE);
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
    struct test_server *server = test_server_start(plain, 1, NULL);
    const char *port = strrchr(test_server_url(server, ""), ':') + 1;

    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct http_request request = {.method = "GET", .timeout_ms = 5000};
        char url[128];
        enum error_code code = ERROR_NONE;

        /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the forms are above */
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")
            assert_true(snprintf(url, sizeof(url), forms[i], port) > 0);
        _Pragma("GCC diagnostic pop") request.url = url;
        code = run(*state, &request, &call);
        if (code != ERROR_FORBIDDEN && code != ERROR_UNAVAILABLE)
            fail_msg("%s: %s", url, error_code_to_string(code));
    }
    assert_int_equal(test_server_n_connections(server), 0);
    test_server_stop(server);
}

static void kept_private_connection_is_no_way_in(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));

    assert_int_equal(run_get(*state, request.url), ERROR_NONE);
    request.allow_private = false;
    assert_int_equal(run(*state, &request, &call), ERROR_FORBIDDEN);
    assert_int_equal(test_server_n_requests(server), 1);
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
        if (run_get(*state, urls[i]) != ERROR_INVALID)
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
    struct http_request request = get(test_server_url(server, "/"));

    assert_int_equal(run(*state, &request, &call), ERROR_NONE);
    assert_int_equal(http_status(call), 302);
    test_server_stop(server);
}

static void unix_socket_is_reached(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    char path[64];
    struct test_server *server = NULL;
    struct http_request request = get("http://localhost/info");

    assert_true(snprintf(path, sizeof(path), "/tmp/deft-http-test-%d.sock", (int)getpid()) > 0);
    server = test_server_start(plain, 1, path);
    request.unix_socket = path;
    request.allow_private = false;
    assert_int_equal(run(*state, &request, &call), ERROR_NONE);
    assert_non_null(strstr(test_server_request(server, 0), "GET /info "));
    test_server_stop(server);
    (void)unlink(path);
}

static void unreachable_server_is_unavailable(void **state)
{
    struct test_server *server = test_server_start(plain, 1, NULL);
    CLEANUP(mem_freep) char *url = mem_dup_text(test_server_url(server, "/"));

    test_server_stop(server);
    assert_int_equal(run_get(*state, url), ERROR_UNAVAILABLE);
    assert_int_equal(run_get(*state, "http://no-such-host.invalid/"), ERROR_UNAVAILABLE);
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

        assert_int_equal(run_get(*state, test_server_url(server, "/")), ERROR_UNAVAILABLE);
        test_server_stop(server);
    }
}

static void deadline_ends_a_call(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(silence, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));
    int64_t began_ms = clock_monotonic_ms();

    request.timeout_ms = 50;
    assert_int_equal(run(*state, &request, &call), ERROR_TIMEOUT);
    assert_in_range(clock_monotonic_ms() - began_ms, 50, 2000);
    test_server_stop(server);
}

static void silence_ends_a_call(void **state)
{
    static const struct test_reply drip[] = {
        {.bytes = OK_HEAD "Content-Length: 4\r\n\r\nab", .ending = TEST_HOLD}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(drip, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));

    request.idle_timeout_ms = 60;
    assert_int_equal(run(*state, &request, &call), ERROR_TIMEOUT);
    test_server_stop(server);
}

static void long_answer_is_refused(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = OK_HEAD "Content-Length: 11\r\n\r\n12345678901"},
        {.bytes = OK_HEAD "Content-Length: 10\r\n\r\n1234567890"}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(http_call_freep) struct http_call *fits = NULL;
    struct test_server *server = test_server_start(replies, 2, NULL);
    struct http_request request = get(test_server_url(server, "/"));

    request.max_reply_bytes = 10;
    assert_int_equal(run(*state, &request, &call), ERROR_TOO_LARGE);
    assert_int_equal(run(*state, &request, &fits), ERROR_NONE);
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
    assert_int_equal(run_get(*state, test_server_url(server, "/")), ERROR_TOO_LARGE);
    test_server_stop(server);
}

struct cancelling {
    struct http_call *call;
    struct test_server *server;
};

static void *cancel_after_request(void *context)
{
    struct cancelling *cancelling = context;

    (void)test_server_wait(cancelling->server, 1);
    http_cancel(cancelling->call);
    return NULL;
}

static void cancel_wakes_a_waiting_thread(void **state)
{
    struct test_server *server = test_server_start(silence, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));
    struct cancelling cancelling = {.server = server};
    struct error err = ERROR_INIT;
    int64_t began_ms = clock_monotonic_ms();
    pthread_t thread = 0;

    assert_int_equal(start(*state, &request, &cancelling.call, &err), 0);
    assert_int_equal(pthread_create(&thread, NULL, cancel_after_request, &cancelling), 0);
    assert_int_equal(http_wait(cancelling.call, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_true(clock_monotonic_ms() - began_ms < 2000);
    (void)pthread_join(thread, NULL);
    http_call_free(cancelling.call);
    test_server_stop(server);
}

static void end_of_a_call_may_be_waited_for_a_while(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(silence, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));
    struct error err = ERROR_INIT;

    assert_int_equal(start(*state, &request, &call, &err), 0);
    assert_false(http_is_over_within(call, 20));
    http_cancel(call);
    assert_true(http_is_over_within(call, 0));
    assert_int_equal(http_wait(call, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    http_call_freep(&call);
    test_server_stop(server);
}

static void cancel_during_name_look_up_is_quick(void **state)
{
    struct http_request request = get("http://slow-name.invalid/");
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(start(*state, &request, &call, &err), 0);
    http_cancel(call);
    assert_int_equal(http_wait(call, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    http_call_free(call);
}

static void call_may_be_freed_at_any_time(void **state)
{
    struct test_server *server = test_server_start(silence, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < 50; i++) {
        struct http_call *call = NULL;

        assert_int_equal(start(*state, &request, &call, &err), 0);
        if (i % 2 == 1)
            assert_true(test_server_wait(server, test_server_n_requests(server)));
        http_call_free(call);
    }
    test_server_stop(server);
}

static void stream_comes_in_pieces(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = OK_HEAD "Content-Type: text/event-stream\r\n\r\nabc", .ending = TEST_HOLD}};
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;
    CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
    const char *bytes = NULL;
    size_t len = 0;

    request.stream = true;
    assert_int_equal(start(*state, &request, &call, &err), 0);
    while (got.len < 3) {
        assert_int_equal(http_call_read(call, &bytes, &len, &err), 0);
        assert_true(len > 0);
        strbuf_append_bytes(&got, bytes, len);
    }
    assert_string_equal(got.text, "abc");
    assert_int_equal(http_status(call), 200);
    assert_string_equal(http_reply_header(call, "content-type"), "text/event-stream");
    http_cancel(call);
    assert_int_equal(http_call_read(call, &bytes, &len, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    http_call_free(call);
    test_server_stop(server);
}

static size_t read_all(struct http_call *call, struct error *err)
{
    const char *bytes = NULL;
    size_t len = 0;
    size_t total = 0;

    do {
        if (http_call_read(call, &bytes, &len, err) < 0)
            return total;
        total += len;
    } while (len > 0);
    return total;
}

static void slow_reader_stops_the_sender(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct test_reply replies[] = {
        {.bytes = OK_HEAD "Content-Length: 67108864\r\n\r\n", .ending = TEST_KEEP}};
    struct test_server *server = NULL;
    struct http_request request = {0};
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;

    strbuf_append(&text, replies[0].bytes);
    strbuf_reserve(&text, 65536 * KIB);
    for (size_t i = 0; i < 65536; i++) {
        strbuf_reserve(&text, KIB);
        memset(text.text + text.len, 'x', KIB);
        text.len += KIB;
        text.text[text.len] = '\0';
    }
    replies[0].bytes = text.text;
    server = test_server_start(replies, 1, NULL);
    request = get(test_server_url(server, "/"));
    request.stream = true;
    request.max_reply_bytes = 65536 * KIB;
    request.idle_timeout_ms = 500;
    assert_int_equal(start(*state, &request, &call, &err), 0);
    assert_true(test_server_wait(server, 1));
    assert_int_equal(read_all(call, &err), 65536 * KIB);
    assert_int_equal(err.code, ERROR_NONE);
    http_call_free(call);
    test_server_stop(server);
}

static void drained_connection_is_used_again(void **state)
{
    enum { N = 40 };
    static const struct test_reply replies[] = {
        {.bytes = OK_HEAD "Content-Length: 6\r\n\r\nabcdef", .piece = 1}};
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));

    request.stream = true;
    for (int i = 0; i < N; i++) {
        struct http_call *call = NULL;
        struct error err = ERROR_INIT;
        const char *bytes = NULL;
        size_t len = 0;

        assert_int_equal(start(*state, &request, &call, &err), 0);
        assert_int_equal(http_call_read(call, &bytes, &len, &err), 0);
        http_call_drain(call);
    }
    /* One may still be draining when the next call begins; but not each needs its own. */
    assert_true(test_server_n_connections(server) < N / 2);
    test_server_stop(server);
}

static void body_can_be_sent_as_a_stream(void **state)
{
    static const char piece[8192] = {'p'};
    struct test_server *server = test_server_start(plain, 1, NULL);
    struct http_request request = get(test_server_url(server, "/up"));
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;

    request.method = "POST";
    request.send_stream = true;
    request.content_type = "application/octet-stream";
    request.body_len = sizeof(piece) * 100;
    assert_int_equal(start(*state, &request, &call, &err), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(http_call_write(call, piece, sizeof(piece), &err), 0);
    assert_int_equal(http_call_write(call, "", 0, &err), 0);
    assert_int_equal(http_wait(call, &err), 0);
    assert_int_equal(http_status(call), 200);
    assert_non_null(strstr(test_server_request(server, 0), "Content-Length: 819200\r\n"));
    http_call_free(call);
    test_server_stop(server);
}

static void body_of_unknown_length_is_sent_in_chunks(void **state)
{
    struct test_server *server = test_server_start(plain, 1, NULL);
    struct http_request request = get(test_server_url(server, "/up"));
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;

    request.method = "PUT";
    request.send_stream = true;
    assert_int_equal(start(*state, &request, &call, &err), 0);
    assert_int_equal(http_call_write(call, "hello ", 6, &err), 0);
    assert_int_equal(http_call_write(call, "world", 5, &err), 0);
    assert_int_equal(http_call_write(call, NULL, 0, &err), 0);
    assert_int_equal(http_wait(call, &err), 0);
    assert_non_null(strstr(test_server_request(server, 0), "hello "));
    http_call_free(call);
    test_server_stop(server);
}

static void many_calls_run_side_by_side(void **state)
{
    enum { N = 200 };
    static const struct test_reply replies[] = {{.delay_ms = 100}};
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));
    struct http_call *calls[N] = {NULL};
    struct error err = ERROR_INIT;
    int64_t began_ms = clock_monotonic_ms();

    for (size_t i = 0; i < N; i++)
        assert_int_equal(start(*state, &request, &calls[i], &err), 0);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(http_wait(calls[i], &err), 0);
        http_call_free(calls[i]);
    }
    assert_true(clock_monotonic_ms() - began_ms < 5000);
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
    request = get(test_server_url(server, "/"));
    assert_int_equal(run(fixture, &request, &call), ERROR_NONE);
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
    assert_true(retry_after_of(*state, "Retry-After: Fri, 31 Dec 2099 23:59:59 GMT\r\n") > 1000000);
}

static void open_calls_end_with_the_transport(void **state)
{
    struct test_server *server = test_server_start(silence, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));
    struct http *http = NULL;
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(http_open(&http, &err), 0);
    assert_int_equal(http_start(http, &request, &call, &err), 0);
    assert_true(test_server_wait(server, 1));
    http_call_free(call);
    http_free(http);
    test_server_stop(server);
}

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
        struct http_request request = get(test_server_url(server, "/"));
        size_t len = 0;

        assert_int_equal(run(*state, &request, &call), ERROR_NONE);
        assert_string_equal(http_body(call, &len), forms[i].body);
        assert_null(http_reply_header(call, "X-Early"));
        assert_int_equal(run_get(*state, request.url), ERROR_NONE);
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
        assert_int_equal(run_get(*state, url), ERROR_NONE);
    assert_int_equal(test_server_n_requests(server), 5);
    test_server_stop(server);
}

static void connection_with_more_than_an_answer_is_left(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = OK_HEAD "Content-Length: 2\r\n\r\nokHTTP/1.1 500 Bad\r\n\r\n"}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));

    assert_int_equal(run_get(*state, request.url), ERROR_NONE);
    assert_int_equal(run(*state, &request, &call), ERROR_NONE);
    assert_int_equal(http_status(call), 200);
    assert_int_equal(test_server_n_connections(server), 2);
    test_server_stop(server);
}

static void long_body_is_sent_whole(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain, 1, NULL);
    struct http_request request = get(test_server_url(server, "/"));
    const char *sent = NULL;

    while (body.len < 8192 * KIB)
        strbuf_append(&body, "0123456789abcdef");
    request.method = "POST";
    request.body = body.text;
    request.body_len = body.len;
    assert_int_equal(run(*state, &request, &call), ERROR_NONE);
    sent = strstr(test_server_request(server, 0), "\r\n\r\n");
    assert_non_null(sent);
    assert_string_equal(sent + 4, body.text);
    test_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_is_read_whole),
        cmocka_unit_test(body_and_headers_are_sent),
        cmocka_unit_test(headers_cannot_be_smuggled_in),
        cmocka_unit_test(connection_is_used_again),
        cmocka_unit_test(private_address_is_refused),
        cmocka_unit_test(kept_private_connection_is_no_way_in),
        cmocka_unit_test(odd_urls_are_refused),
        cmocka_unit_test(redirect_is_an_answer),
        cmocka_unit_test(unix_socket_is_reached),
        cmocka_unit_test(unreachable_server_is_unavailable),
        cmocka_unit_test(cut_off_answers_are_unavailable),
        cmocka_unit_test(deadline_ends_a_call),
        cmocka_unit_test(silence_ends_a_call),
        cmocka_unit_test(long_answer_is_refused),
        cmocka_unit_test(endless_headers_are_refused),
        cmocka_unit_test(cancel_wakes_a_waiting_thread),
        cmocka_unit_test(end_of_a_call_may_be_waited_for_a_while),
        cmocka_unit_test(cancel_during_name_look_up_is_quick),
        cmocka_unit_test(call_may_be_freed_at_any_time),
        cmocka_unit_test(stream_comes_in_pieces),
        cmocka_unit_test(slow_reader_stops_the_sender),
        cmocka_unit_test(drained_connection_is_used_again),
        cmocka_unit_test(body_can_be_sent_as_a_stream),
        cmocka_unit_test(body_of_unknown_length_is_sent_in_chunks),
        cmocka_unit_test(many_calls_run_side_by_side),
        cmocka_unit_test(retry_after_is_understood),
        cmocka_unit_test(open_calls_end_with_the_transport),
    };

    const struct CMUnitTest lane_tests[] = {
        cmocka_unit_test(answers_of_all_forms_end),
        cmocka_unit_test(dead_kept_connection_is_replaced),
        cmocka_unit_test(connection_with_more_than_an_answer_is_left),
        cmocka_unit_test(long_body_is_sent_whole),
    };
    int n_failed = cmocka_run_group_tests_name("transport", tests, set_up, tear_down);

    n_failed += cmocka_run_group_tests_name("lane", tests, set_up_lane, tear_down);
    n_failed += cmocka_run_group_tests_name("lane only", lane_tests, set_up_lane, tear_down);
    return n_failed;
}
