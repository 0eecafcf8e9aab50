/*
 * Model Context Protocol: the version, a lost session, what the server asks in between, and calls
 * that another thread ends.
 */
#include "client/mcp.h"

#include <string.h>

#include "client/mcp_fixture.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"

enum { QUESTIONS_MAX = 1000 };

#define RIGHT "{\"id\":7,\"result\":\"right\"}"
#define PING "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n"
#define CHANGED "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
#define ENDPOINT "event: endpoint\ndata: /m\n\n"

static enum error_code ask(struct mcp_fixture *fixture, struct mcp *mcp)
{
    json_auto_t *request = json_object();
    json_auto_t *reply = NULL;

    json_put(request, "id", json_integer(7));
    json_put_text(request, "method", "tools/list");
    fixture->err = (struct error)ERROR_INIT;
    if (mcp_ask(mcp, request, &reply, &fixture->err) < 0) {
        assert_null(reply);
        return fixture->err.code;
    }
    assert_string_equal(json_text_or(reply, "result", ""), "right");
    return ERROR_NONE;
}

static void version_is_named_once_it_is_known(void **state)
{
    static const struct test_reply reply = {.bytes = JSON_HEAD RIGHT, .ending = TEST_CLOSE};
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, &reply, 1, false);
    mcp = mcp_new(&fixture.options);
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    mcp_set_version(mcp, "2024-11-05");
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    mcp_set_version(mcp, "2025-03-26");
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    assert_null(strcasestr(test_server_request(fixture.server, 0), "MCP-Protocol-Version"));
    assert_true(mcp_fixture_has_header(&fixture, 1, "MCP-Protocol-Version", "2024-11-05"));
    assert_true(mcp_fixture_has_header(&fixture, 2, "MCP-Protocol-Version", "2025-03-26"));
    mcp_freep(&mcp);
    mcp_fixture_stop(&fixture);
}

/* With a session, as many headers as the caller may name still fit. */
static void version_fits_next_to_all_headers(void **state)
{
    static const struct test_reply reply = {
        .bytes = "HTTP/1.1 200 OK\r\nMcp-Session-Id: one\r\nConnection: close\r\n\r\n" RIGHT,
        .ending = TEST_CLOSE};
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct http_header headers[MCP_MAX_HEADERS + 1] = {{NULL, NULL}};
    struct mcp_fixture fixture;

    (void)state;
    for (size_t i = 0; i < MCP_MAX_HEADERS; i++)
        headers[i] = (struct http_header){i + 1 < MCP_MAX_HEADERS ? "X-Some" : "X-Last", "1"};
    mcp_fixture_start(&fixture, &reply, 1, false);
    fixture.options.headers = headers;
    mcp = mcp_new(&fixture.options);
    mcp_set_version(mcp, "2025-06-18");
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    assert_true(mcp_fixture_has_header(&fixture, 1, "Mcp-Session-Id", "one"));
    assert_true(mcp_fixture_has_header(&fixture, 1, "MCP-Protocol-Version", "2025-06-18"));
    assert_true(mcp_fixture_has_header(&fixture, 1, "X-Last", "1"));
    mcp_freep(&mcp);
    mcp_fixture_stop(&fixture);
}

static void session_that_is_not_found_is_stale(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = HEAD("404 No", "application/json"), .ending = TEST_CLOSE},
        {.bytes = "HTTP/1.1 200 OK\r\nMcp-Session-Id: one\r\nConnection: close\r\n\r\n" RIGHT,
         .ending = TEST_CLOSE},
        {.bytes = HEAD("400 Bad", "application/json"), .ending = TEST_CLOSE},
        {.bytes = HEAD("404 No", "application/json"), .ending = TEST_CLOSE},
    };
    static const enum error_code expected[] = {ERROR_INVALID, ERROR_NONE, ERROR_INVALID,
                                               ERROR_STALE};
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    mcp = mcp_new(&fixture.options);
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_int_equal(ask(&fixture, mcp), expected[i]);
    mcp_freep(&mcp);
    mcp_fixture_stop(&fixture);
}

static void servers_questions_are_answered(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes =
             EVENTS_HEAD PING "data: {\"id\":7,\"method\":\"roots/list\"}\n\ndata: " RIGHT "\n\n",
         .ending = TEST_CLOSE},
        {.bytes = ACCEPTED},
    };
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct mcp_fixture fixture;
    const char *refusal = NULL;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    mcp = mcp_new(&fixture.options);
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    assert_int_equal(test_server_n_requests(fixture.server), 3);
    assert_json_at(mcp_fixture_body(&fixture, 1), "",
                   "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}");
    refusal = mcp_fixture_body(&fixture, 2);
    assert_json_at(refusal, "jsonrpc", "\"2.0\"");
    assert_json_at(refusal, "id", "7");
    assert_json_at(refusal, "error.code", "-32601");
    assert_json_at(refusal, "result", NULL);
    assert_json_at(refusal, "method", NULL);
    assert_false(mcp_take_tools_changed(mcp));
    mcp_freep(&mcp);
    mcp_fixture_stop(&fixture);
}

/* As many questions, and as many notifications, come before the reply. */
static char *stream_with_questions(size_t n)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_append(&text, EVENTS_HEAD);
    for (size_t i = 0; i < n; i++)
        strbuf_append(&text, PING CHANGED);
    strbuf_append(&text, "data: " RIGHT "\n\n");
    return strbuf_take(&text);
}

static void each_call_answers_a_thousand_questions(void **state)
{
    enum { CALL_REQUESTS = 1 + QUESTIONS_MAX };
    struct test_reply replies[3 * CALL_REQUESTS];
    CLEANUP(mem_freep) char *most = stream_with_questions(QUESTIONS_MAX);
    CLEANUP(mem_freep) char *too_many = stream_with_questions(QUESTIONS_MAX + 1);
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct mcp_fixture fixture;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(replies); i++)
        replies[i] = (struct test_reply){.bytes = ACCEPTED};
    replies[0] = (struct test_reply){.bytes = most, .ending = TEST_CLOSE};
    replies[CALL_REQUESTS] = replies[0];
    replies[2 * CALL_REQUESTS] = (struct test_reply){.bytes = too_many, .ending = TEST_CLOSE};
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    mcp = mcp_new(&fixture.options);
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    assert_int_equal(test_server_n_requests(fixture.server), 2 * CALL_REQUESTS);
    assert_int_equal(ask(&fixture, mcp), ERROR_INVALID);
    assert_string_equal(fixture.err.message, "The server asks the client too much");
    assert_int_equal(test_server_n_requests(fixture.server), 3 * CALL_REQUESTS);
    mcp_freep(&mcp);
    mcp_fixture_stop(&fixture);
}

static void changed_list_is_told_once(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = EVENTS_HEAD "data: {\"method\":\"notifications/message\"}\n\n"
                              "data: " RIGHT "\n\n",
         .ending = TEST_CLOSE},
        {.bytes = EVENTS_HEAD CHANGED "data: " RIGHT "\n\n", .ending = TEST_CLOSE},
    };
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    mcp = mcp_new(&fixture.options);
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    assert_false(mcp_take_tools_changed(mcp));
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    assert_true(mcp_take_tools_changed(mcp));
    assert_false(mcp_take_tools_changed(mcp));
    assert_int_equal(test_server_n_requests(fixture.server), 2);
    mcp_freep(&mcp);
    mcp_fixture_stop(&fixture);
}

/* How far the call is when it is cancelled. */
static const struct {
    struct test_reply replies[3];
    size_t n_requests;
    size_t n_ended;
    bool uses_sse;
} cancelled[] = {
    /* no reply yet */
    {{{.bytes = "", .ending = TEST_HOLD}}, 1, 0, false},
    /* in the reply's stream, after an answer to the server */
    {{{.bytes = EVENTS_HEAD PING, .ending = TEST_HOLD},
      {.bytes = ACCEPTED_WITHOUT_END, .ending = TEST_HOLD}},
     2,
     1,
     false},
    /* in an answer to the server */
    {{{.bytes = EVENTS_HEAD PING, .ending = TEST_HOLD}, {.bytes = "", .ending = TEST_HOLD}},
     2,
     0,
     false},
    /* HTTP+SSE: in the message, in the stream, and there after an answer */
    {{{.bytes = EVENTS_HEAD ENDPOINT, .ending = TEST_HOLD}, {.bytes = "", .ending = TEST_HOLD}},
     2,
     0,
     true},
    {{{.bytes = EVENTS_HEAD ENDPOINT, .ending = TEST_HOLD},
      {.bytes = ACCEPTED_WITHOUT_END, .ending = TEST_HOLD}},
     2,
     1,
     true},
    {{{.bytes = EVENTS_HEAD ENDPOINT PING, .ending = TEST_HOLD},
      {.bytes = ACCEPTED_WITHOUT_END, .ending = TEST_HOLD},
      {.bytes = ACCEPTED_WITHOUT_END, .ending = TEST_HOLD}},
     3,
     2,
     true},
};

static void running_call_is_cancelled(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cancelled); i++) {
        CLEANUP(mcp_freep) struct mcp *mcp = NULL;
        struct mcp_canceller canceller = {.n_requests = cancelled[i].n_requests,
                                          .n_ended = cancelled[i].n_ended};
        struct mcp_fixture fixture;

        mcp_fixture_start(&fixture, cancelled[i].replies, ARRAY_SIZE(cancelled[i].replies),
                          cancelled[i].uses_sse);
        mcp = mcp_new(&fixture.options);
        assert_int_equal(mcp_connect(mcp, &fixture.err), 0);
        canceller.server = fixture.server;
        canceller.mcp = mcp;
        mcp_canceller_start(&canceller);
        if (ask(&fixture, mcp) != ERROR_CANCELLED)
            fail_msg("%zu: %s", i, fixture.err.message);
        mcp_canceller_join(&canceller);
        mcp_freep(&mcp);
        mcp_fixture_stop(&fixture);
    }
}

static void connecting_is_cancelled(void **state)
{
    static const struct test_reply silent = {.bytes = "", .ending = TEST_HOLD};
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct mcp_canceller canceller = {.n_requests = 1};
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, &silent, 1, true);
    mcp = mcp_new(&fixture.options);
    canceller.server = fixture.server;
    canceller.mcp = mcp;
    mcp_canceller_start(&canceller);
    assert_int_equal(mcp_connect(mcp, &fixture.err), -1);
    assert_int_equal(fixture.err.code, ERROR_CANCELLED);
    mcp_canceller_join(&canceller);
    mcp_freep(&mcp);
    mcp_fixture_stop(&fixture);
}

static void nothing_is_sent_until_calls_resume(void **state)
{
    static const struct test_reply reply = {.bytes = JSON_HEAD RIGHT, .ending = TEST_CLOSE};
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    json_auto_t *message = json_object();
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, &reply, 1, false);
    mcp = mcp_new(&fixture.options);
    mcp_cancel(mcp);
    assert_int_equal(ask(&fixture, mcp), ERROR_CANCELLED);
    assert_int_equal(ask(&fixture, mcp), ERROR_CANCELLED);
    fixture.err = (struct error)ERROR_INIT;
    assert_int_equal(mcp_tell(mcp, message, &fixture.err), -1);
    assert_int_equal(fixture.err.code, ERROR_CANCELLED);
    mcp_resume(mcp, PATIENCE_MS);
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    assert_int_equal(test_server_n_connections(fixture.server), 1);
    mcp_freep(&mcp);
    mcp_fixture_stop(&fixture);
}

static void cancelled_client_does_not_connect(void **state)
{
    static const struct test_reply reply = {.bytes = EVENTS_HEAD ENDPOINT, .ending = TEST_HOLD};
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, &reply, 1, true);
    mcp = mcp_new(&fixture.options);
    mcp_cancel(mcp);
    assert_int_equal(mcp_connect(mcp, &fixture.err), -1);
    assert_int_equal(fixture.err.code, ERROR_CANCELLED);
    fixture.err = (struct error)ERROR_INIT;
    mcp_resume(mcp, PATIENCE_MS);
    assert_int_equal(mcp_connect(mcp, &fixture.err), 0);
    assert_int_equal(test_server_n_connections(fixture.server), 1);
    mcp_freep(&mcp);
    mcp_fixture_stop(&fixture);
}

/* Messages can still be sent. */
static void stream_that_was_cancelled_has_ended(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = EVENTS_HEAD ENDPOINT, .ending = TEST_HOLD},
        {.bytes = ACCEPTED_WITHOUT_END, .ending = TEST_HOLD},
    };
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    json_auto_t *message = json_object();
    struct mcp_canceller canceller = {.n_requests = 2, .n_ended = 1};
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), true);
    mcp = mcp_new(&fixture.options);
    assert_int_equal(mcp_connect(mcp, &fixture.err), 0);
    canceller.server = fixture.server;
    canceller.mcp = mcp;
    mcp_canceller_start(&canceller);
    assert_int_equal(ask(&fixture, mcp), ERROR_CANCELLED);
    mcp_canceller_join(&canceller);
    mcp_resume(mcp, PATIENCE_MS);
    assert_int_equal(ask(&fixture, mcp), ERROR_CANCELLED);
    fixture.err = (struct error)ERROR_INIT;
    assert_int_equal(mcp_tell(mcp, message, &fixture.err), 0);
    mcp_freep(&mcp);
    mcp_fixture_stop(&fixture);
}

static void time_starts_again_when_it_is_set(void **state)
{
    static const struct test_reply reply = {.bytes = JSON_HEAD RIGHT, .ending = TEST_CLOSE};
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, &reply, 1, false);
    mcp = mcp_new(&fixture.options);
    mcp_set_timeout(mcp, 0);
    assert_int_equal(ask(&fixture, mcp), ERROR_TIMEOUT);
    mcp_set_timeout(mcp, PATIENCE_MS);
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    mcp_resume(mcp, 0);
    assert_int_equal(ask(&fixture, mcp), ERROR_TIMEOUT);
    mcp_resume(mcp, PATIENCE_MS);
    assert_int_equal(ask(&fixture, mcp), ERROR_NONE);
    mcp_freep(&mcp);
    mcp_fixture_stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_is_named_once_it_is_known),
        cmocka_unit_test(version_fits_next_to_all_headers),
        cmocka_unit_test(session_that_is_not_found_is_stale),
        cmocka_unit_test(servers_questions_are_answered),
        cmocka_unit_test(each_call_answers_a_thousand_questions),
        cmocka_unit_test(changed_list_is_told_once),
        cmocka_unit_test(running_call_is_cancelled),
        cmocka_unit_test(connecting_is_cancelled),
        cmocka_unit_test(nothing_is_sent_until_calls_resume),
        cmocka_unit_test(cancelled_client_does_not_connect),
        cmocka_unit_test(stream_that_was_cancelled_has_ended),
        cmocka_unit_test(time_starts_again_when_it_is_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
