/*
 * Progress of calls at servers over HTTP, as subscribers hear of it.
 */
#include "worker/agent/mcp/server_call.h"

#include <string.h>

#include "client/http.h"
#include "model/event/progress.h"
#include "store/db/hints.h"
#include "support/json_path.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/mcp/progress_notice.h"
#include "worker/mcp/called.h"
#include "worker/mcp/mcp_test.h"
#include "worker/subscriber.h"

#define ACCEPTED "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define PROGRESS(n, message)                                                                       \
    EVENT("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"                 \
          "{\"progressToken\":2,\"progress\":" n ",\"total\":4,\"message\":\"" message "\"}}")
#define PING EVENT("{\"id\":\"p\",\"method\":\"ping\"}")
#define DONE EVENT("{\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}")
#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

enum { ASKED = 4, RELEASED = 5 }; /* requests until then */

/* The answer to the server's question is held until it has another request. */
static void let_go_on(struct called *called)
{
    struct agent *agent = &called->claimed.agent;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    const struct http_request request = {.method = "GET",
                                         .url = test_server_url(called->server, "/go"),
                                         .timeout_ms = 60000,
                                         .address_of = ADDRESS_OF_ADMINISTRATOR};
    struct error err = ERROR_INIT;

    assert_int_equal(http_start(agent->context->http, &request, &call, &err), 0);
    assert_int_equal(http_wait(call, &err), 0);
}

/* With the first report, and all reports before the question, nothing but the report has the
 * tokens. */
static void on_settled(struct called *called)
{
    if (++called->n_settled != 2)
        return;
    assert_true(test_server_wait(called->server, ASKED));
    secret_list_done(&called->claimed.agent.secrets);
    let_go_on(called);
}

/* Of a server whose call has that stream. */
#define REPLIES(stream)                                                                            \
    {                                                                                              \
        GREETING, {.bytes = STREAM stream, .ending = TEST_CLOSE},                                  \
            {.bytes = ACCEPTED, .n_requests = RELEASED, .ending = TEST_CLOSE},                     \
        {                                                                                          \
            .bytes = ACCEPTED, .ending = TEST_CLOSE                                                \
        }                                                                                          \
    }

static void begin_with(struct called *called, void **state, struct subscriber *subscriber,
                       const struct test_reply *replies, size_t n)
{
    CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;

    called_begin(called, state, replies, n);
    strbuf_appendf(&config,
                   "{\"one\": {\"url\": \"%s\", \"auth\": {\"strategy\": \"bearer\", \"value\":"
                   " \"of-the-sign-in\"}}}",
                   test_server_url(called->server, "/mcp"));
    called_configure(called, config.text);
    called->settled = on_settled;
    subscriber_begin(subscriber, *state);
}

/* Hears all lines so far; the last one is only their end. */
static void hear(struct called *called, struct subscriber *subscriber)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    const struct progress end = {.conversation_id = called->claimed.agent.lease.conversation_id,
                                 .item_id = uuid_random(),
                                 .kind = PROGRESS_ABORTED,
                                 .text = "end"};

    progress_append_line(&end, &line);
    hints_send_line(called->claimed.agent.context->hints, line.text);
    subscriber_hear(subscriber);
    subscriber->n--;
}

static void newest_report_is_told_without_secrets(void **state)
{
    static const struct test_reply replies[] = REPLIES(PROGRESS("1", "one") PROGRESS(
        "2", "two") PROGRESS("3", "key of-the-sign-in " HUNDRED HUNDRED) PING DONE);
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    struct subscriber subscriber;
    struct called called;

    begin_with(&called, state, &subscriber, replies, ARRAY_SIZE(replies));
    called_run(&called);
    called_assert_text(&called, "done");
    hear(&called, &subscriber);
    assert_int_equal(subscriber.n, 1);
    strbuf_appendf(&id, "\"%s\"", called.claimed.agent.history.items[called.action].id.text);
    assert_json_at(subscriber.lines[0], "kind", "\"tool_progress\"");
    assert_json_at(subscriber.lines[0], "item", id.text);
    assert_json_at(subscriber.lines[0], "progress", "3.0");
    assert_json_at(subscriber.lines[0], "total", "4.0");
    /* 200 characters. */
    assert_json_at(subscriber.lines[0], "text",
                   "\"key <secret-hidden> " HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN "\"");
    assert_true(called.again_ms > 0 && called.again_ms <= PROGRESS_NOTICE_MS);
    /* It waits between its turns. */
    assert_true(called.n_settled < 100);
    subscriber_end(&subscriber);
    called_end(&called);
}

static void report_is_anchored_at_its_call(void **state)
{
    static const struct test_reply replies[] = REPLIES(PROGRESS("1", "") PING DONE);
    CLEANUP(strbuf_done) struct strbuf seq = STRBUF_INIT;
    struct subscriber subscriber;
    struct called called;

    begin_with(&called, state, &subscriber, replies, ARRAY_SIZE(replies));
    called_run(&called);
    called_assert_text(&called, "done");
    hear(&called, &subscriber);
    assert_int_equal(subscriber.n, 1);
    strbuf_appendf(&seq, "%lld", (long long)called.claimed.agent.history.items[called.action].seq);
    assert_json_at(subscriber.lines[0], "anchor", seq.text);
    assert_json_at(subscriber.lines[0], "text", "\"\"");
    subscriber_end(&subscriber);
    called_end(&called);
}

static void server_is_told_of_the_end_of_a_calls_time(void **state)
{
    static const struct test_reply replies[] = {
        GREETING, {.bytes = "", .ending = TEST_HOLD}, {.bytes = ACCEPTED, .ending = TEST_CLOSE}};
    CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    strbuf_appendf(&config, "{\"one\": {\"url\": \"%s\", \"timeout\": 1}}",
                   test_server_url(called.server, "/mcp"));
    called_configure(&called, config.text);
    called_run(&called);
    assert_int_equal(called.rc, 0);
    assert_string_equal(called.problem.text,
                        "The MCP server 'one' failed: The server took too long");
    assert_int_equal(mcp_n_requests(called.server, "notifications/cancelled"), 1);
    called_end(&called);
}

int server_progress_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_report_is_told_without_secrets),
        cmocka_unit_test(report_is_anchored_at_its_call),
        cmocka_unit_test(server_is_told_of_the_end_of_a_calls_time),
    };

    return cmocka_run_group_tests_name("worker/server_progress", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
