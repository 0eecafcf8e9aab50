/*
 * Calls over the older HTTP+SSE transport: one stream has those of a run.
 */
#include "worker/agent/mcp/server_call.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "client/mcp.h"
#include "client/mcp_session.h"
#include "model/tools/mcp_listing.h"
#include "support/json_path.h"
#include "worker/agent/calls/call_plan.h"
#include "worker/agent/calls/pending_call.h"
#include "worker/agent/core/agent_row.h"
#include "worker/agent/core/history.h"
#include "worker/agent/mcp/server_connections.h"
#include "worker/agent/mcp/server_listing.h"
#include "worker/mcp/called.h"
#include "worker/mcp/mcp_test.h"

#define ACCEPTED                                                                                   \
    {.bytes = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",           \
     .ending = TEST_CLOSE}
#define STREAM_OF(events, end)                                                                     \
    {.bytes = STREAM "event: endpoint\n" EVENT("/messages") EVENT("{\"id\":1,\"result\":{}}")      \
         events "",                                                                                \
     .ending = (end)}
#define STREAMED(id, text)                                                                         \
    EVENT("{\"id\":" id ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}")

static void begin_over_stream(struct called *called, void **state, const struct test_reply *replies,
                              size_t n)
{
    CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;

    called_begin(called, state, replies, n);
    strbuf_appendf(&config, "{\"one\": {\"url\": \"%s\"}}",
                   test_server_url(called->server, "/sse"));
    called_configure(called, config.text);
    called->tool.annotations.is_idempotent = true;
}

/* Waits until the server's end of the stream has arrived. */
static void wait_for_the_end_of_the_stream(struct called *called)
{
    struct server_connection *connection =
        server_connections_find(server_connections_of(&called->claimed.agent), "one");

    while (connection->session != NULL &&
           mcp_is_connected(mcp_session_connection(connection->session)))
        ;
}

static void calls_over_the_older_transport_have_one_stream(void **state)
{
    static const struct test_reply replies[] = {
        STREAM_OF(STREAMED("2", "first") STREAMED("3", "second"), TEST_HOLD), ACCEPTED, ACCEPTED,
        ACCEPTED, ACCEPTED};
    struct called called;

    begin_over_stream(&called, state, replies, ARRAY_SIZE(replies));
    called_run(&called);
    called_assert_text(&called, "first");
    called_run(&called);
    called_assert_text(&called, "second");
    assert_int_equal(test_server_n_requests(called.server), 5);
    assert_non_null(strstr(test_server_request(called.server, 0), "GET /sse"));
    assert_non_null(strstr(test_server_request(called.server, 4), "POST /messages"));
    called_end(&called);
}

static void a_stream_that_has_ended_is_opened_again_before_the_call(void **state)
{
    static const struct test_reply replies[] = {
        STREAM_OF(STREAMED("2", "first"), TEST_CLOSE), ACCEPTED, ACCEPTED, ACCEPTED,
        STREAM_OF(STREAMED("2", "again"), TEST_HOLD),  ACCEPTED, ACCEPTED, ACCEPTED};
    struct called called;

    begin_over_stream(&called, state, replies, ARRAY_SIZE(replies));
    called_run(&called);
    called_assert_text(&called, "first");
    wait_for_the_end_of_the_stream(&called);
    called_run(&called);
    called_assert_text(&called, "again");
    assert_int_equal(test_server_n_requests(called.server), 8);
    called_end(&called);
}

static void a_stream_that_has_ended_is_opened_again_before_the_listing(void **state)
{
    static const struct test_reply replies[] = {
        STREAM_OF(STREAMED("2", "first"), TEST_CLOSE),
        ACCEPTED,
        ACCEPTED,
        ACCEPTED,
        STREAM_OF(EVENT("{\"id\":2,\"result\":{\"tools\":[{\"name\":\"find\"}]}}"), TEST_HOLD),
        ACCEPTED,
        ACCEPTED,
        ACCEPTED};
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
    struct called called;
    struct agent *agent = &called.claimed.agent;

    begin_over_stream(&called, state, replies, ARRAY_SIZE(replies));
    called_run(&called);
    called_assert_text(&called, "first");
    wait_for_the_end_of_the_stream(&called);
    assert_int_equal(server_listing_settle(agent, &called.err), 0);
    json_append_text(&spec, agent->conversation.spec);
    assert_json_at(spec.text, MCP_LISTING ".tools[0].tool.name", "\"find\"");
    assert_int_equal(test_server_n_requests(called.server), 8);
    called_end(&called);
}

static void a_stream_that_the_server_does_not_know_is_opened_again_once(void **state)
{
    static const struct test_reply replies[] = {
        STREAM_OF(STREAMED("2", "first"), TEST_HOLD), ACCEPTED, ACCEPTED, ACCEPTED, REFUSAL("404"),
        STREAM_OF(STREAMED("2", "again"), TEST_HOLD), ACCEPTED, ACCEPTED, ACCEPTED};
    struct called called;

    begin_over_stream(&called, state, replies, ARRAY_SIZE(replies));
    called_run(&called);
    called_assert_text(&called, "first");
    called_run(&called);
    called_assert_text(&called, "again");
    assert_int_equal(test_server_n_requests(called.server), 9);
    called_end(&called);
}

/* Also two tools that only read: the stream has one reader. */
static void calls_over_the_older_transport_do_not_run_at_once(void **state)
{
    static const char *const urls[] = {"http://127.0.0.1:1/sse", "http://127.0.0.1:1/mcp"};

    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;
        struct planned_call planned = {.company = COMPANY_OF_CALLS};
        struct called called;
        struct agent *agent = &called.claimed.agent;

        called_begin(&called, state, NULL, 0);
        strbuf_appendf(&config, "{\"one\": {\"url\": \"%s\"}}", urls[i]);
        called_configure(&called, config.text);
        json_put(agent->conversation.spec, MCP_LISTING,
                 json_loads("{\"tools\": [{\"server\": \"one\", \"name\": \"do\", \"tool\":"
                            " {\"name\": \"do\", \"annotations\": {\"readOnlyHint\": true}}}]}",
                            0, NULL));
        agent_renew_tools(agent);
        json_put_text(stored_event_json(&agent->history.items[called.action]), "tool_name", "do");
        pending_call_plan(agent, called.action, &planned);
        assert_int_equal(planned.keys.n, i == 0);
        if (i == 0)
            assert_string_equal(planned.keys.items[0], "server:one");
        resource_keys_done(&planned.keys);
        called_end(&called);
    }
}

int stream_call_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_over_the_older_transport_have_one_stream),
        cmocka_unit_test(a_stream_that_has_ended_is_opened_again_before_the_call),
        cmocka_unit_test(a_stream_that_has_ended_is_opened_again_before_the_listing),
        cmocka_unit_test(a_stream_that_the_server_does_not_know_is_opened_again_once),
        cmocka_unit_test(calls_over_the_older_transport_do_not_run_at_once),
    };

    return cmocka_run_group_tests_name("worker/stream_call", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
