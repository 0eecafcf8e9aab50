/*
 * The conversation with an MCP server: greeting, list, call, and the word that nobody waits.
 */
#include "client/mcp_session.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "client/mcp_fixture.h"
#include "model/tools/mcp.h"

enum { PAGES_MAX = 20 };

#define RESULT(json) {.bytes = JSON_HEAD "{\"id\":1,\"result\":" json "}", .ending = TEST_CLOSE}
#define FAULT(text)                                                                                \
    {.bytes = JSON_HEAD "{\"id\":1,\"error\":{\"code\":-1,\"message\":\"" text "\"}}",             \
     .ending = TEST_CLOSE}

static void greeting_precedes_the_word_that_it_is_over(void **state)
{
    static const struct test_reply replies[] = {RESULT("{\"protocolVersion\":\"2024-11-05\"}"),
                                                {.bytes = ACCEPTED}};
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    struct mcp_fixture fixture;
    const char *greeting = NULL;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    session = mcp_session_new(&fixture.options);
    assert_int_equal(mcp_session_begin(session, &fixture.err), 0);
    assert_int_equal(test_server_n_requests(fixture.server), 2);
    greeting = mcp_fixture_body(&fixture, 0);
    assert_json_at(greeting, "method", "\"initialize\"");
    assert_json_at(greeting, "id", "1");
    assert_json_at(greeting, "params.protocolVersion", "\"" MCP_VERSION "\"");
    assert_json_at(mcp_fixture_body(&fixture, 1), "",
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    assert_null(strcasestr(test_server_request(fixture.server, 0), "MCP-Protocol-Version"));
    assert_true(mcp_fixture_has_header(&fixture, 1, "MCP-Protocol-Version", "2024-11-05"));
    mcp_session_freep(&session);
    assert_null(session);
    mcp_session_free(NULL);
    mcp_fixture_stop(&fixture);
}

static enum error_code begin_with(const struct test_reply *replies, size_t n, bool uses_sse,
                                  size_t *n_requests_out)
{
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    struct mcp_fixture fixture;
    int rc = 0;

    mcp_fixture_start(&fixture, replies, n, uses_sse);
    session = mcp_session_new(&fixture.options);
    rc = mcp_session_begin(session, &fixture.err);
    assert_int_equal(rc, fixture.err.code == ERROR_NONE ? 0 : -1);
    *n_requests_out = test_server_n_requests(fixture.server);
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
    return fixture.err.code;
}

/* The version goes into a header. */
static void malformed_version_is_refused(void **state)
{
    static const struct test_reply wrong[] = {
        RESULT("{\"protocolVersion\":\"2025-06\\r\\nA\"}"),
        RESULT("{\"protocolVersion\":\"2025-06-1\\n\"}"),
        RESULT("{\"protocolVersion\":\"2025-06-1x\"}"),
        RESULT("{\"protocolVersion\":\" 025-06-18\"}"),
        RESULT("{\"protocolVersion\":\"2025-06-1\"}"),
        RESULT("{\"protocolVersion\":\"2025-06-188\"}"),
        RESULT("{\"protocolVersion\":\"\"}"),
    };
    size_t n_requests = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        if (begin_with(&wrong[i], 1, false, &n_requests) != ERROR_INVALID || n_requests != 1)
            fail_msg("%s", wrong[i].bytes);
    }
}

static void missing_version_is_the_newest(void **state)
{
    static const struct test_reply replies[] = {RESULT("{}"), {.bytes = ACCEPTED}};
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    session = mcp_session_new(&fixture.options);
    assert_int_equal(mcp_session_begin(session, &fixture.err), 0);
    assert_true(mcp_fixture_has_header(&fixture, 1, "MCP-Protocol-Version", MCP_VERSION));
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
}

static void greeting_ends_at_the_first_failure(void **state)
{
    static const struct test_reply fault[] = {FAULT("no"), {.bytes = ACCEPTED}};
    static const struct test_reply refused[] = {
        RESULT("{}"), {.bytes = HEAD("500 Oops", "text/plain"), .ending = TEST_CLOSE}};
    static const struct test_reply lost[] = {
        {.bytes = HEAD("404 No", "text/event-stream"), .ending = TEST_CLOSE}};
    size_t n_requests = 0;

    (void)state;
    assert_int_equal(begin_with(fault, ARRAY_SIZE(fault), false, &n_requests), ERROR_INVALID);
    assert_int_equal(n_requests, 1);
    assert_int_equal(begin_with(refused, ARRAY_SIZE(refused), false, &n_requests), ERROR_INVALID);
    assert_int_equal(n_requests, 2);
    assert_int_equal(begin_with(lost, ARRAY_SIZE(lost), true, &n_requests), ERROR_INVALID);
    assert_int_equal(n_requests, 1);
}

static void list_has_the_tools_of_all_pages(void **state)
{
    static const struct test_reply replies[] = {
        RESULT("{\"tools\":[{\"name\":\"a\",\"description\":\"A\"}],\"nextCursor\":\"two\"}"),
        RESULT("{\"tools\":[{\"name\":\"b\"}],\"nextCursor\":\"three\"}"),
        RESULT("{\"tools\":[{\"name\":\"c\"}]}"),
    };
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *tools = json_array();
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    session = mcp_session_new(&fixture.options);
    assert_int_equal(mcp_session_list(session, tools, &fixture.err), 0);
    json_append_text(&text, tools);
    assert_json_at(text.text, "",
                   "[{\"name\":\"a\",\"description\":\"A\"},{\"name\":\"b\"},{\"name\":\"c\"}]");
    assert_int_equal(test_server_n_requests(fixture.server), 3);
    assert_json_at(mcp_fixture_body(&fixture, 0), "",
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}");
    assert_json_at(mcp_fixture_body(&fixture, 1), "params", "{\"cursor\":\"two\"}");
    assert_json_at(mcp_fixture_body(&fixture, 1), "id", "2");
    assert_json_at(mcp_fixture_body(&fixture, 2), "params", "{\"cursor\":\"three\"}");
    assert_json_at(mcp_fixture_body(&fixture, 2), "id", "3");
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
}

static void list_ends_after_twenty_pages(void **state)
{
    static const struct test_reply reply =
        RESULT("{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"on\"}");
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    json_auto_t *tools = json_array();
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, &reply, 1, false);
    session = mcp_session_new(&fixture.options);
    assert_int_equal(mcp_session_list(session, tools, &fixture.err), 0);
    assert_int_equal(test_server_n_requests(fixture.server), PAGES_MAX);
    assert_int_equal(json_array_size(tools), PAGES_MAX);
    assert_json_at(mcp_fixture_body(&fixture, PAGES_MAX - 1), "id", "20");
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
}

/* Pages of three million bytes each. */
static void list_ends_after_four_mebibytes(void **state)
{
    enum { LONG = 3000000 };
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    CLEANUP(strbuf_done) struct strbuf page = STRBUF_INIT;
    json_auto_t *tools = json_array();
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct mcp_fixture fixture;

    (void)state;
    strbuf_append(&page,
                  JSON_HEAD "{\"id\":1,\"result\":{\"nextCursor\":\"on\",\"tools\":[{\"name\":\"");
    for (size_t i = 0; i < LONG; i++)
        strbuf_append_char(&page, 'x');
    strbuf_append(&page, "\"}]}}");
    reply.bytes = page.text;
    mcp_fixture_start(&fixture, &reply, 1, false);
    session = mcp_session_new(&fixture.options);
    assert_int_equal(mcp_session_list(session, tools, &fixture.err), 0);
    assert_int_equal(test_server_n_requests(fixture.server), 2);
    assert_int_equal(json_array_size(tools), 2);
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
}

static void failing_page_fails_the_list(void **state)
{
    static const struct test_reply replies[] = {
        RESULT("{\"tools\":[],\"nextCursor\":\"two\"}"),
        FAULT("no second page"),
    };
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    json_auto_t *tools = json_array();
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    session = mcp_session_new(&fixture.options);
    assert_int_equal(mcp_session_list(session, tools, &fixture.err), -1);
    assert_int_equal(fixture.err.code, ERROR_INVALID);
    assert_non_null(strstr(fixture.err.message, "no second page"));
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
}

static void call_gives_the_result_or_the_servers_words(void **state)
{
    static const struct test_reply replies[] = {
        RESULT("{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"isError\":true}"),
        FAULT("no such tool"),
    };
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *arguments = json_object();
    json_auto_t *result = NULL;
    json_auto_t *none = NULL;
    struct mcp_fixture fixture;

    (void)state;
    json_put(arguments, "n", json_integer(3));
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    session = mcp_session_new(&fixture.options);
    assert_int_equal(mcp_session_call(session, "count", arguments, NULL, &result, &fixture.err), 0);
    json_append_text(&text, result);
    assert_json_at(text.text, "",
                   "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"isError\":true}");
    assert_int_equal(mcp_session_call(session, "other", NULL, NULL, &none, &fixture.err), -1);
    assert_null(none);
    assert_int_equal(fixture.err.code, ERROR_INVALID);
    assert_string_equal(fixture.err.message, "The server says: no such tool");
    assert_json_at(mcp_fixture_body(&fixture, 0), "",
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                   "\"params\":{\"name\":\"count\",\"_meta\":{\"progressToken\":1},"
                   "\"arguments\":{\"n\":3}}}");
    assert_json_at(mcp_fixture_body(&fixture, 1), "id", "2");
    assert_json_at(mcp_fixture_body(&fixture, 1), "params",
                   "{\"name\":\"other\",\"_meta\":{\"progressToken\":2},\"arguments\":{}}");
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
}

static void server_hears_which_request_was_cancelled(void **state)
{
    static const struct test_reply replies[] = {
        RESULT("{}"), {.bytes = "", .ending = TEST_HOLD}, {.bytes = ACCEPTED}, RESULT("{}")};
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    json_auto_t *first = NULL;
    json_auto_t *none = NULL;
    json_auto_t *last = NULL;
    struct mcp_canceller canceller = {.n_requests = 2};
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    session = mcp_session_new(&fixture.options);
    assert_int_equal(mcp_session_call(session, "a", NULL, NULL, &first, &fixture.err), 0);
    canceller.server = fixture.server;
    canceller.mcp = mcp_session_connection(session);
    mcp_canceller_start(&canceller);
    assert_int_equal(mcp_session_call(session, "b", NULL, NULL, &none, &fixture.err), -1);
    assert_int_equal(fixture.err.code, ERROR_CANCELLED);
    mcp_canceller_join(&canceller);
    mcp_session_tell_cancelled(session);
    assert_int_equal(test_server_n_requests(fixture.server), 3);
    assert_json_at(mcp_fixture_body(&fixture, 2), "method", "\"notifications/cancelled\"");
    assert_json_at(mcp_fixture_body(&fixture, 2), "params.requestId", "2");
    assert_json_at(mcp_fixture_body(&fixture, 2), "id", NULL);
    mcp_set_timeout(mcp_session_connection(session), PATIENCE_MS);
    fixture.err = (struct error)ERROR_INIT;
    assert_int_equal(mcp_session_call(session, "c", NULL, NULL, &last, &fixture.err), 0);
    assert_json_at(mcp_fixture_body(&fixture, 3), "id", "3");
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
}

/* The server's silence does not keep the caller for longer than a second. */
static void silent_server_is_not_waited_for(void **state)
{
    static const struct test_reply replies[] = {RESULT("{}"), {.bytes = "", .ending = TEST_HOLD}};
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    json_auto_t *result = NULL;
    struct mcp_fixture fixture;
    int64_t end_ms = clock_monotonic_ms() + PATIENCE_MS / 2;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    session = mcp_session_new(&fixture.options);
    assert_int_equal(mcp_session_call(session, "a", NULL, NULL, &result, &fixture.err), 0);
    mcp_session_tell_cancelled(session);
    assert_int_equal(test_server_n_requests(fixture.server), 2);
    assert_true(clock_monotonic_ms() < end_ms);
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
}

/* Before its first request a session has nothing to tell. */
static void nothing_is_told_of_no_request(void **state)
{
    static const struct test_reply reply = RESULT("{}");
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, &reply, 1, false);
    session = mcp_session_new(&fixture.options);
    mcp_session_tell_cancelled(session);
    assert_int_equal(test_server_n_requests(fixture.server), 0);
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
}

static json_int_t id_of_request(const struct mcp_fixture *fixture, size_t i)
{
    const char *body = mcp_fixture_body(fixture, i);
    struct error err = ERROR_INIT;
    json_auto_t *json = NULL;

    assert_int_equal(json_parse(body, strlen(body), &json, &err), 0);
    return json_int_or(json, "id", -1);
}

/* Both speak for the session, and the server can tell their requests apart. */
static void connections_of_a_session_share_its_name_but_no_id(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: one\r\n"
                  "Connection: close\r\n\r\n"
                  "{\"id\":1,\"result\":{\"protocolVersion\":\"2024-11-05\"}}",
         .ending = TEST_CLOSE},
        {.bytes = ACCEPTED},
        {.bytes = JSON_HEAD "{\"id\":2,\"result\":{}}", .ending = TEST_CLOSE},
        RESULT("{}")};
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    CLEANUP(mcp_session_freep) struct mcp_session *second = NULL;
    json_auto_t *result = NULL;
    json_auto_t *other = NULL;
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    session = mcp_session_new(&fixture.options);
    assert_int_equal(mcp_session_begin(session, &fixture.err), 0);
    second = mcp_session_share(session, &fixture.options);
    assert_true(mcp_session_is_intact(second));
    assert_int_equal(mcp_session_call(second, "a", NULL, NULL, &result, &fixture.err), 0);
    assert_true(mcp_fixture_has_header(&fixture, 2, "Mcp-Session-Id", "one"));
    assert_true(mcp_fixture_has_header(&fixture, 2, "MCP-Protocol-Version", "2024-11-05"));
    assert_int_equal(mcp_session_call(session, "b", NULL, NULL, &other, &fixture.err), 0);
    assert_int_not_equal(id_of_request(&fixture, 3), id_of_request(&fixture, 2));
    mcp_session_freep(&second);
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
}

/* What a call with that reply, and one that is cut off by its time, leave. */
static bool is_intact_after(const struct test_reply *reply, int64_t timeout_ms)
{
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    struct mcp_fixture fixture;
    json_auto_t *result = NULL;
    bool is_intact = false;

    mcp_fixture_start(&fixture, reply, 1, false);
    fixture.options.timeout_ms = timeout_ms;
    session = mcp_session_new(&fixture.options);
    error_ignore(mcp_session_call(session, "t", NULL, NULL, &result, &fixture.err), "it may fail");
    is_intact = mcp_session_is_intact(session);
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
    return is_intact;
}

static void session_is_intact_unless_the_server_broke_it(void **state)
{
    static const struct test_reply result = RESULT("{}");
    static const struct test_reply fault = FAULT("no");
    static const struct test_reply refused = {.bytes = HEAD("400 No", "text/plain"),
                                              .ending = TEST_CLOSE};
    static const struct test_reply unauthenticated = {.bytes = HEAD("401 No", "text/plain"),
                                                      .ending = TEST_CLOSE};
    static const struct test_reply closed = {.bytes = "", .ending = TEST_CLOSE};
    static const struct test_reply silent = {.bytes = "", .ending = TEST_HOLD};

    (void)state;
    assert_true(is_intact_after(&result, PATIENCE_MS));
    assert_true(is_intact_after(&fault, PATIENCE_MS));
    assert_true(is_intact_after(&silent, 300));
    assert_true(is_intact_after(&unauthenticated, PATIENCE_MS));
    assert_false(is_intact_after(&refused, PATIENCE_MS));
    assert_false(is_intact_after(&closed, PATIENCE_MS));
}

static void end_of_a_session_is_told(void **state)
{
    static const struct {
        const char *reply;
        enum error_code code;
    } cases[] = {
        {HEAD("204 No Content", "text/plain"), ERROR_NONE},
        {HEAD("405 No", "text/plain"), ERROR_INVALID},
        {HEAD("404 No", "text/plain"), ERROR_STALE},
    };
    json_auto_t *kept = json_loads("{\"session\":\"one\",\"version\":\"2025-03-26\"}", 0, NULL);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct test_reply reply = {.bytes = cases[i].reply, .ending = TEST_CLOSE};
        CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
        struct mcp_fixture fixture;

        mcp_fixture_start(&fixture, &reply, 1, false);
        session = mcp_session_resume(&fixture.options, kept);
        mcp_set_timeout(mcp_session_connection(session), PATIENCE_MS);
        assert_int_equal(mcp_end(mcp_session_connection(session), &fixture.err),
                         cases[i].code == ERROR_NONE ? 0 : -1);
        assert_int_equal(fixture.err.code, cases[i].code);
        assert_int_equal(strncmp(test_server_request(fixture.server, 0), "DELETE ", 7), 0);
        assert_true(mcp_fixture_has_header(&fixture, 0, "Mcp-Session-Id", "one"));
        assert_true(mcp_fixture_has_header(&fixture, 0, "MCP-Protocol-Version", "2025-03-26"));
        mcp_session_freep(&session);
        mcp_fixture_stop(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session_is_intact_unless_the_server_broke_it),
        cmocka_unit_test(end_of_a_session_is_told),
        cmocka_unit_test(greeting_precedes_the_word_that_it_is_over),
        cmocka_unit_test(malformed_version_is_refused),
        cmocka_unit_test(missing_version_is_the_newest),
        cmocka_unit_test(greeting_ends_at_the_first_failure),
        cmocka_unit_test(list_has_the_tools_of_all_pages),
        cmocka_unit_test(list_ends_after_twenty_pages),
        cmocka_unit_test(list_ends_after_four_mebibytes),
        cmocka_unit_test(failing_page_fails_the_list),
        cmocka_unit_test(call_gives_the_result_or_the_servers_words),
        cmocka_unit_test(server_hears_which_request_was_cancelled),
        cmocka_unit_test(silent_server_is_not_waited_for),
        cmocka_unit_test(nothing_is_told_of_no_request),
        cmocka_unit_test(connections_of_a_session_share_its_name_but_no_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
