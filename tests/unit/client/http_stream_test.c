/*
 * Calls on their way: cancelled, streamed, drained, many at a time.
 */
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "client/http_fixture.h"

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
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct cancelling cancelling = {.server = server};
    struct error err = ERROR_INIT;
    int64_t began_ms = clock_monotonic_ms();
    pthread_t thread = 0;

    assert_int_equal(fixture_start(*state, &request, &cancelling.call, &err), 0);
    assert_int_equal(pthread_create(&thread, NULL, cancel_after_request, &cancelling), 0);
    assert_int_equal(http_wait(cancelling.call, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_true(clock_monotonic_ms() - began_ms < request.timeout_ms);
    (void)pthread_join(thread, NULL);
    http_call_free(cancelling.call);
    test_server_stop(server);
}

static void end_of_a_call_may_be_waited_for_a_while(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct error err = ERROR_INIT;

    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
    assert_false(http_is_over_within(call, 20));
    http_cancel(call);
    assert_true(http_is_over_within(call, 0));
    assert_int_equal(http_wait(call, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    http_call_freep(&call);
    test_server_stop(server);
}

static void bytes_of_a_stream_may_be_waited_for_a_while(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct error err = ERROR_INIT;
    const char *bytes = NULL;
    size_t len = 0;

    request.stream = true;
    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
    assert_int_equal(http_call_read_until(call, clock_monotonic_ms() + 20, &bytes, &len, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    /* The call goes on. */
    assert_false(http_is_over_within(call, 0));
    http_cancel(call);
    assert_int_equal(http_call_read_until(call, INT64_MAX / 2, &bytes, &len, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    http_call_freep(&call);
    test_server_stop(server);
}

/* With a transport of its own: there is no way back. */
static void all_calls_end_when_all_are_cancelled(void **state)
{
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct http *http = NULL;
    struct http_call *call = NULL;
    struct http_call *late = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(http_open(&http, &err), 0);
    assert_int_equal(http_start(http, &request, &call, &err), 0);
    assert_true(test_server_wait(server, 1));
    http_cancel_all(http);
    assert_int_equal(http_wait(call, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_int_equal(http_start(http, &request, &late, &err), 0);
    assert_int_equal(http_wait(late, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    http_call_free(call);
    http_call_free(late);
    http_free(http);
    test_server_stop(server);
}

static void cancel_during_name_look_up_is_quick(void **state)
{
    struct http_request request = fixture_get("http://slow-name.invalid/");
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
    http_cancel(call);
    assert_int_equal(http_wait(call, &err), -1);
    /* A resolver that is quicker than we are has said by now that there is no such name. */
    assert_true(err.code == ERROR_CANCELLED || err.code == ERROR_UNAVAILABLE);
    http_call_free(call);
}

static void call_may_be_freed_at_any_time(void **state)
{
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < 50; i++) {
        struct http_call *call = NULL;

        assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
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
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;
    CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
    const char *bytes = NULL;
    size_t len = 0;

    request.stream = true;
    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
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
    request = fixture_get(test_server_url(server, "/"));
    request.stream = true;
    request.max_reply_bytes = 65536 * KIB;
    request.idle_timeout_ms = 20000;
    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
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
    struct http_request request = fixture_get(test_server_url(server, "/"));

    request.stream = true;
    for (int i = 0; i < N; i++) {
        struct http_call *call = NULL;
        struct error err = ERROR_INIT;
        const char *bytes = NULL;
        size_t len = 0;

        assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
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
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/up"));
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;

    request.method = "POST";
    request.send_stream = true;
    request.content_type = "application/octet-stream";
    request.body_len = sizeof(piece) * 100;
    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(http_call_write(call, piece, sizeof(piece), &err), 0);
    assert_int_equal(http_call_write(call, "", 0, &err), 0);
    assert_int_equal(http_wait(call, &err), 0);
    assert_int_equal(http_status(call), 200);
    assert_non_null(strstr(test_server_request(server, 0), "Content-Length: 819200\r\n"));
    http_call_free(call);
    test_server_stop(server);
}

/* A server that reads nothing: no more is taken than the window and the sockets hold. */
static void writer_waits_for_a_server_that_does_not_read(void **state)
{
    enum { PIECE_BYTES = 1024 * 1024, PIECES = 64 };
    static const struct test_reply replies[] = {
        {.bytes = OK_HEAD, .ending = TEST_HOLD, .is_early = true}};
    static const char piece[PIECE_BYTES] = {'p'};
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/up"));
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;
    int n = 0;

    request.method = "POST";
    request.send_stream = true;
    request.stream = true;
    request.timeout_ms = 3000;
    request.body_len = (size_t)PIECE_BYTES * PIECES;
    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
    while (n < PIECES && http_call_write(call, piece, sizeof(piece), &err) == 0)
        n++;
    assert_true(n < PIECES);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    http_call_free(call);
    test_server_stop(server);
}

static void body_of_unknown_length_is_sent_in_chunks(void **state)
{
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/up"));
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;

    request.method = "PUT";
    request.send_stream = true;
    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
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
    enum { N = 200, DELAY_MS = 200 };
    static const struct test_reply replies[] = {{.delay_ms = DELAY_MS}};
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
    struct http_call *calls[N] = {NULL};
    struct error err = ERROR_INIT;
    int64_t began_ms = clock_monotonic_ms();

    for (size_t i = 0; i < N; i++)
        assert_int_equal(fixture_start(*state, &request, &calls[i], &err), 0);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(http_wait(calls[i], &err), 0);
        http_call_free(calls[i]);
    }
    assert_true(clock_monotonic_ms() - began_ms < (int64_t)N * DELAY_MS);
    test_server_stop(server);
}

static void open_calls_end_with_the_transport(void **state)
{
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = fixture_get(test_server_url(server, "/"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancel_wakes_a_waiting_thread),
        cmocka_unit_test(end_of_a_call_may_be_waited_for_a_while),
        cmocka_unit_test(bytes_of_a_stream_may_be_waited_for_a_while),
        cmocka_unit_test(cancel_during_name_look_up_is_quick),
        cmocka_unit_test(call_may_be_freed_at_any_time),
        cmocka_unit_test(stream_comes_in_pieces),
        cmocka_unit_test(slow_reader_stops_the_sender),
        cmocka_unit_test(drained_connection_is_used_again),
        cmocka_unit_test(body_can_be_sent_as_a_stream),
        cmocka_unit_test(writer_waits_for_a_server_that_does_not_read),
        cmocka_unit_test(body_of_unknown_length_is_sent_in_chunks),
        cmocka_unit_test(many_calls_run_side_by_side),
        cmocka_unit_test(all_calls_end_when_all_are_cancelled),
        cmocka_unit_test(open_calls_end_with_the_transport),
    };
    int n_failed =
        cmocka_run_group_tests_name("transport", tests, fixture_set_up, fixture_tear_down);

    n_failed +=
        cmocka_run_group_tests_name("direct", tests, fixture_set_up_direct, fixture_tear_down);
    return n_failed;
}
