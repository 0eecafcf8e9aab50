/*
 * Model Context Protocol over streamable HTTP: the stream of a reply that ends before the reply has
 * come is resumed, and nothing else is.
 */
#include "client/mcp.h"

#include <string.h>

#include "client/mcp_fixture.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"

#define RIGHT "{\"id\":7,\"result\":\"right\"}"
#define REPLY "data: " RIGHT "\n\n"
/* An event that only gives an id, and a time to wait. */
#define PRIMING(id, ms) "id: " id "\nretry: " ms "\ndata: \n\n"
#define SESSION_HEAD                                                                               \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: one\r\n"                \
    "Connection: close\r\n\r\n"

/* A body that ends before its end. */
#define CUT_HEAD                                                                                   \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 10000\r\n\r\n"

static enum error_code ask_with(struct mcp_fixture *fixture, struct mcp *mcp)
{
    json_auto_t *request = json_object();
    json_auto_t *reply = NULL;

    json_put(request, "id", json_integer(7));
    json_put_text(request, "method", "tools/call");
    fixture->err = (struct error)ERROR_INIT;
    if (mcp_ask(mcp, request, &reply, &fixture->err) < 0)
        return fixture->err.code;
    assert_string_equal(json_text_or(reply, "result", ""), "right");
    return ERROR_NONE;
}

static enum error_code ask(struct mcp_fixture *fixture, const struct test_reply *replies, size_t n)
{
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    enum error_code code = ERROR_NONE;

    mcp_fixture_start(fixture, replies, n, false);
    mcp = mcp_new(&fixture->options);
    mcp_set_version(mcp, "2025-11-25");
    code = ask_with(fixture, mcp);
    return code;
}

static void stream_that_ends_is_resumed_after_its_last_event(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = SESSION_HEAD PRIMING("a", "0"), .ending = TEST_CLOSE},
        {.bytes = CUT_HEAD "id: b\ndata: {\"method\":\"notifications/progress\"}\n\ndata: {\n",
         .ending = TEST_CLOSE},
        {.bytes = EVENTS_HEAD REPLY, .ending = TEST_CLOSE},
    };
    struct mcp_fixture fixture;

    (void)state;
    assert_int_equal(ask(&fixture, replies, ARRAY_SIZE(replies)), ERROR_NONE);
    assert_int_equal(test_server_n_requests(fixture.server), 3);
    assert_non_null(strstr(test_server_request(fixture.server, 0), "POST /mcp "));
    assert_null(strcasestr(test_server_request(fixture.server, 0), "Last-Event-ID"));
    for (size_t i = 1; i < 3; i++) {
        assert_non_null(strstr(test_server_request(fixture.server, i), "GET /mcp "));
        assert_true(mcp_fixture_has_header(&fixture, i, "Accept", "text/event-stream"));
        assert_true(mcp_fixture_has_header(&fixture, i, "Mcp-Session-Id", "one"));
        assert_true(mcp_fixture_has_header(&fixture, i, "MCP-Protocol-Version", "2025-11-25"));
        assert_true(mcp_fixture_has_header(&fixture, i, "Last-Event-ID", i == 1 ? "a" : "b"));
    }
    mcp_fixture_stop(&fixture);
}

/* An event without an id does not take back the one before it. */
static void events_without_data_are_no_messages(void **state)
{
    static const struct test_reply reply = {.bytes = EVENTS_HEAD PRIMING("a", "5") REPLY,
                                            .ending = TEST_CLOSE};
    struct mcp_fixture fixture;

    (void)state;
    assert_int_equal(ask(&fixture, &reply, 1), ERROR_NONE);
    assert_int_equal(test_server_n_requests(fixture.server), 1);
    mcp_fixture_stop(&fixture);
}

/* The server may want less than the least, which is there so that it cannot occupy the client. */
static void server_chooses_the_time_before_a_resumption(void **state)
{
    static const struct {
        const char *stream;
        int64_t at_least_ms;
    } cases[] = {
        {EVENTS_HEAD PRIMING("a", "300"), 300},
        {EVENTS_HEAD PRIMING("a", "0"), 100},
        {EVENTS_HEAD "id: a\n\n", 1000},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct test_reply replies[] = {
            {.bytes = cases[i].stream, .ending = TEST_CLOSE},
            {.bytes = EVENTS_HEAD REPLY, .ending = TEST_CLOSE},
        };
        int64_t from_ms = clock_monotonic_ms();
        struct mcp_fixture fixture;

        assert_int_equal(ask(&fixture, replies, ARRAY_SIZE(replies)), ERROR_NONE);
        assert_true(clock_monotonic_ms() - from_ms >= cases[i].at_least_ms);
        mcp_fixture_stop(&fixture);
    }
}

static void stream_without_ids_is_not_resumed(void **state)
{
    static const char *const streams[] = {
        EVENTS_HEAD "retry: 0\ndata: {\"method\":\"notifications/message\"}\n\n",
        EVENTS_HEAD "id: a\ndata: {",
        EVENTS_HEAD "id: a\n\nid\n\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
        const struct test_reply reply = {.bytes = streams[i], .ending = TEST_CLOSE};
        struct mcp_fixture fixture;

        assert_int_equal(ask(&fixture, &reply, 1), ERROR_UNAVAILABLE);
        assert_int_equal(test_server_n_requests(fixture.server), 1);
        mcp_fixture_stop(&fixture);
    }
}

/*
 * The server has the request, so no error may say that it was ignored: the call would be made
 * again.
 */
static void refused_resumption_is_an_error_of_the_call(void **state)
{
    static const struct {
        const char *reply;
        const char *message;
    } cases[] = {
        {HEAD("405 No", "text/plain"), "The server refused the request with HTTP status 405"},
        {HEAD("404 No", "text/plain"), "The server does not know the session any more"},
        {HEAD("401 No", "text/plain"), "The server refused the request with HTTP status 401"},
        {JSON_HEAD RIGHT, "The server did not resume the stream of its reply"},
        {EVENTS_HEAD "data: x\n\n", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct test_reply replies[] = {
            {.bytes = SESSION_HEAD PRIMING("a", "0"), .ending = TEST_CLOSE},
            {.bytes = cases[i].reply, .ending = TEST_CLOSE},
        };
        struct mcp_fixture fixture;

        assert_int_equal(ask(&fixture, replies, ARRAY_SIZE(replies)), ERROR_INVALID);
        if (cases[i].message != NULL)
            assert_string_equal(fixture.err.message, cases[i].message);
        assert_int_equal(test_server_n_requests(fixture.server), 2);
        mcp_fixture_stop(&fixture);
    }
}

static void answer_that_is_refused_does_not_mean_that_the_request_was_ignored(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = SESSION_HEAD "data: {\"id\":1,\"method\":\"ping\"}\n\n" REPLY,
         .ending = TEST_CLOSE},
        {.bytes = HEAD("404 No", "text/plain"), .ending = TEST_CLOSE},
    };
    struct mcp_fixture fixture;

    (void)state;
    assert_int_equal(ask(&fixture, replies, ARRAY_SIZE(replies)), ERROR_INVALID);
    mcp_fixture_stop(&fixture);
}

/* Five in a row without a new event; one with a new event begins another row. */
static void resumptions_in_vain_come_to_an_end(void **state)
{
    static const struct test_reply empty = {.bytes = EVENTS_HEAD, .ending = TEST_CLOSE};
    static const struct test_reply news = {.bytes = EVENTS_HEAD "id: b\n\n", .ending = TEST_CLOSE};
    const struct test_reply replies[] = {
        {.bytes = EVENTS_HEAD PRIMING("a", "0"), .ending = TEST_CLOSE}, empty, empty, news, empty,
    };
    struct mcp_fixture fixture;

    (void)state;
    assert_int_equal(ask(&fixture, replies, ARRAY_SIZE(replies)), ERROR_UNAVAILABLE);
    assert_string_equal(fixture.err.message, "The server ended the stream without a reply");
    assert_int_equal(test_server_n_requests(fixture.server), 4 + 5);
    mcp_fixture_stop(&fixture);
}

/* After the time that the server chose, and as often as one that sends nothing new. */
static void server_out_of_order_is_asked_again(void **state)
{
    static const struct test_reply first = {.bytes = SESSION_HEAD PRIMING("a", "150"),
                                            .ending = TEST_CLOSE};
    static const struct test_reply busy = {.bytes = HEAD("503 Busy", "text/plain"),
                                           .ending = TEST_CLOSE};
    static const struct test_reply reply = {.bytes = EVENTS_HEAD REPLY, .ending = TEST_CLOSE};
    static const struct test_reply broken = {.bytes = HEAD("500 Oops", "text/html"),
                                             .ending = TEST_CLOSE};
    const struct test_reply comes_back[] = {first, busy, broken, reply};
    const struct test_reply stays_out[] = {first, busy};
    int64_t from_ms = clock_monotonic_ms();
    struct mcp_fixture fixture;

    (void)state;
    assert_int_equal(ask(&fixture, comes_back, ARRAY_SIZE(comes_back)), ERROR_NONE);
    assert_true(clock_monotonic_ms() - from_ms >= 3 * 150);
    assert_int_equal(test_server_n_requests(fixture.server), 4);
    for (size_t i = 1; i < 4; i++)
        assert_true(mcp_fixture_has_header(&fixture, i, "Last-Event-ID", "a"));
    mcp_fixture_stop(&fixture);
    assert_int_equal(ask(&fixture, stays_out, ARRAY_SIZE(stays_out)), ERROR_UNAVAILABLE);
    assert_string_equal(fixture.err.message, "The server refused the request with HTTP status 503");
    assert_int_equal(test_server_n_requests(fixture.server), 1 + 5);
    mcp_fixture_stop(&fixture);
}

static void time_of_the_call_includes_the_waits(void **state)
{
    static const struct test_reply reply = {.bytes = EVENTS_HEAD PRIMING("a", "999999999"),
                                            .ending = TEST_CLOSE};
    struct mcp_fixture fixture;

    (void)state;
    assert_int_equal(ask(&fixture, &reply, 1), ERROR_TIMEOUT);
    assert_int_equal(test_server_n_requests(fixture.server), 1);
    mcp_fixture_stop(&fixture);
}

/* In the wait, and in the stream that was resumed. */
static void resumption_is_cancelled(void **state)
{
    static const struct {
        struct test_reply replies[2];
        size_t n_requests;
    } cases[] = {
        {{{.bytes = EVENTS_HEAD PRIMING("a", "50000"), .ending = TEST_CLOSE}}, 1},
        {{{.bytes = EVENTS_HEAD PRIMING("a", "0"), .ending = TEST_CLOSE},
          {.bytes = EVENTS_HEAD, .ending = TEST_HOLD}},
         2},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(mcp_freep) struct mcp *mcp = NULL;
        struct mcp_canceller canceller = {.n_requests = cases[i].n_requests, .n_ended = i == 0};
        struct mcp_fixture fixture;

        mcp_fixture_start(&fixture, cases[i].replies, ARRAY_SIZE(cases[i].replies), false);
        mcp = mcp_new(&fixture.options);
        canceller.server = fixture.server;
        canceller.mcp = mcp;
        mcp_canceller_start(&canceller);
        assert_int_equal(ask_with(&fixture, mcp), ERROR_CANCELLED);
        mcp_canceller_join(&canceller);
        mcp_freep(&mcp);
        mcp_fixture_stop(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_that_ends_is_resumed_after_its_last_event),
        cmocka_unit_test(events_without_data_are_no_messages),
        cmocka_unit_test(server_chooses_the_time_before_a_resumption),
        cmocka_unit_test(stream_without_ids_is_not_resumed),
        cmocka_unit_test(refused_resumption_is_an_error_of_the_call),
        cmocka_unit_test(answer_that_is_refused_does_not_mean_that_the_request_was_ignored),
        cmocka_unit_test(resumptions_in_vain_come_to_an_end),
        cmocka_unit_test(server_out_of_order_is_asked_again),
        cmocka_unit_test(time_of_the_call_includes_the_waits),
        cmocka_unit_test(resumption_is_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
