/*
 * Calls of MCP servers' tools: each with its session, and none twice that may have had an effect.
 */
#include "worker/agent/mcp/server_call.h"

#include <pthread.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "model/tools/mcp_listing.h"
#include "model/tools/mcp_tools.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/agent/calls/pending_call.h"
#include "worker/agent/core/agent_row.h"
#include "worker/agent/core/call_action.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/mcp/server_connections.h"
#include "worker/agent/mcp/server_listing.h"
#include "worker/agent/mcp/server_talk.h"
#include "worker/mcp/called.h"
#include "worker/mcp/mcp_test.h"

enum { N_LOOKS = 50 };

static const char *id_of(struct called *called)
{
    return called->claimed.agent.history.items[called->action].id.text;
}

static void a_call_is_noted_before_its_result(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    called_run(&called);
    called_assert_text(&called, "done");
    assert_null(called.claimed.control.cancel);
    assert_non_null(strstr(test_server_request(called.server, 2), "\"name\":\"do\""));
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND"
                   " agent_state::jsonb -> 'server_call' = '[\"%s\"]'",
                   called.claimed.agent.lease.conversation_id.text, id_of(&called));
    assert_int_equal(test_sql_count(sql.text), 1);
    called_end(&called);
}

static void a_session_is_used_for_all_calls(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT, SECOND};
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    called.tool.annotations.is_idempotent = true;
    called_run(&called);
    called_run(&called);
    called_assert_text(&called, "more");
    assert_int_equal(test_server_n_requests(called.server), 4);
    assert_non_null(strstr(test_server_request(called.server, 3), "of-the-test"));
    called_end(&called);
}

static void begin_another_run(struct called *called)
{
    server_connections_free(called->claimed.agent.servers);
    called->claimed.agent.servers = NULL;
}

static void a_session_outlives_its_run_until_the_configuration_changes(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT, SECOND, GREETING, RESULT};
    CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    called.tool.annotations.is_idempotent = true;
    called_run(&called);
    assert_true(server_connections_keep_sessions(&called.claimed.agent));
    assert_false(server_connections_keep_sessions(&called.claimed.agent));
    begin_another_run(&called);
    called_run(&called);
    called_assert_text(&called, "more");
    assert_int_equal(mcp_n_requests(called.server, "initialize"), 1);
    assert_non_null(strstr(test_server_request(called.server, 3), "of-the-test"));
    assert_non_null(strstr(test_server_request(called.server, 3), "2025-03-26"));
    assert_null(strstr(test_server_request(called.server, 3), "\"id\":3"));
    begin_another_run(&called);
    strbuf_appendf(&config, "{\"one\": {\"url\": \"%s\", \"headers\": {\"X-New\": \"1\"}}}",
                   test_server_url(called.server, "/mcp"));
    called_configure(&called, config.text);
    called_run(&called);
    called_assert_text(&called, "done");
    assert_int_equal(mcp_n_requests(called.server, "initialize"), 2);
    called_end(&called);
}

static void a_call_in_doubt_is_repeated_only_if_that_is_harmless(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT, SECOND};
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    json_put_text(called.claimed.agent.conversation.agent_state, AGENT_STATE_SERVER_CALLS,
                  id_of(&called));
    called_run(&called);
    assert_int_equal(called.rc, 0);
    assert_null(called.observation);
    assert_non_null(strstr(called.problem.text, "was not sent again"));
    assert_int_equal(test_server_n_requests(called.server), 0);
    called.tool.annotations.is_idempotent = true;
    called_run(&called);
    called_assert_text(&called, "done");
    called.tool.annotations.is_idempotent = false;
    called.tool.annotations.is_read_only = true;
    called_run(&called);
    called_assert_text(&called, "more");
    called_end(&called);
}

static void the_note_of_another_call_does_not_matter(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT};
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    json_put_text(called.claimed.agent.conversation.agent_state, AGENT_STATE_SERVER_CALLS,
                  called.claimed.agent.lease.conversation_id.text);
    called_run(&called);
    called_assert_text(&called, "done");
    called_end(&called);
}

static void a_session_that_is_forgotten_is_made_again_once(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT, REFUSAL("404"), GREETING, RESULT};
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    called.tool.annotations.is_idempotent = true;
    called_run(&called);
    called_assert_text(&called, "done");
    called_run(&called);
    called_assert_text(&called, "done");
    assert_int_equal(mcp_n_requests(called.server, "initialize"), 2);
    called_end(&called);
}

static void a_server_that_forgets_every_session_is_an_error(void **state)
{
    static const struct test_reply replies[] = {GREETING, REFUSAL("404"), GREETING, REFUSAL("404")};
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    called_run(&called);
    assert_int_equal(called.rc, 0);
    assert_null(called.observation);
    assert_string_equal(
        called.problem.text,
        "The MCP server 'one' failed: The server does not know the session any more");
    assert_int_equal(test_server_n_requests(called.server), 6);
    called_end(&called);
}

static void a_failure_ends_the_session(void **state)
{
    static const struct test_reply replies[] = {GREETING, REFUSAL("500"), GREETING, RESULT};
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    called.tool.annotations.is_idempotent = true;
    called_run(&called);
    assert_string_equal(
        called.problem.text,
        "The MCP server 'one' failed: The server refused the request with HTTP status 500");
    called_run(&called);
    called_assert_text(&called, "done");
    called_end(&called);
}

static void a_server_that_is_gone_from_the_configuration_is_an_error(void **state)
{
    static const struct test_reply replies[] = {GREETING};
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    json_put_text(called.listed, "server", "two");
    called_run(&called);
    assert_int_equal(called.rc, 0);
    assert_non_null(strstr(called.problem.text, "'two'"));
    assert_int_equal(test_server_n_requests(called.server), 0);
    called_end(&called);
}

/* Its arguments were stored masked, and only the run that received them has the value. */
static void a_call_that_lost_a_secret_is_not_sent(void **state)
{
    static const struct test_reply replies[] = {GREETING};
    struct called called;
    json_t *data = json_object();

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    json_put_text(data, "token", "<secret-hidden>");
    json_put(json_object_get(stored_event_json(&called.claimed.agent.history.items[called.action]),
                             "action"),
             "data", data);
    called.claimed.agent.claimed_seq = called.claimed.agent.history.last_seq;
    called_run(&called);
    assert_int_equal(called.rc, 0);
    assert_string_equal(called.problem.text, CALL_WITHHELD_TEXT);
    assert_int_equal(test_server_n_requests(called.server), 0);
    called_end(&called);
}

static void the_arguments_are_those_that_the_model_wrote(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT};
    struct called called;
    struct agent *agent = &called.claimed.agent;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    agent->withheld = json_object();
    json_put(agent->withheld, id_of(&called),
             json_loads("{\"data\": {\"token\": \"the value\"}}", 0, NULL));
    called_run(&called);
    called_assert_text(&called, "done");
    assert_non_null(
        strstr(test_server_request(called.server, 2), "\"arguments\":{\"token\":\"the value\"}"));
    called_end(&called);
}

static void *run_in_thread(void *called)
{
    called_run(called);
    return NULL;
}

/* Another worker may have the conversation by then, and send the call, too. */
static void a_call_waits_for_the_lease(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT};
    struct called called;
    pthread_t thread = 0;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    run_control_renew(&called.claimed.control, clock_monotonic_ms() - 1);
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &called), 0);
    for (int n_noted = 0; n_noted < N_LOOKS && test_server_n_requests(called.server) == 0;)
        n_noted +=
            test_sql_count("SELECT count(*) FROM conversations WHERE"
                           " agent_state::json ->> '" AGENT_STATE_SERVER_CALLS "' IS NOT NULL") > 0;
    assert_int_equal(test_server_n_requests(called.server), 0);
    run_control_renew(&called.claimed.control, INT64_MAX / 2);
    assert_int_equal(pthread_join(thread, NULL), 0);
    called_assert_text(&called, "done");
    called_end(&called);
}

static void a_stop_is_not_the_servers_error(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT};
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    run_control_request(&called.claimed.control, STOP_INTERRUPT);
    called_run(&called);
    assert_int_equal(called.rc, -1);
    assert_int_equal(called.err.code, ERROR_CANCELLED);
    assert_string_equal(called.problem.text, "");
    assert_int_equal(mcp_n_requests(called.server, "tools/call"), 0);
    called_end(&called);
}

/* A call that the server has, and does not answer. */
static void stop_during_a_call(struct called *called, void **state, enum stop_kind stop)
{
    static const struct test_reply replies[] = {
        GREETING,
        {.bytes = "", .ending = TEST_HOLD},
        {.bytes = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
         .ending = TEST_CLOSE}};
    pthread_t thread = 0;

    called_begin(called, state, replies, ARRAY_SIZE(replies));
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, called), 0);
    assert_true(test_server_wait(called->server, 3));
    run_control_request(&called->claimed.control, stop);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(called->rc, -1);
    assert_int_equal(called->err.code, ERROR_CANCELLED);
    assert_string_equal(called->problem.text, "");
}

static void the_server_is_told_of_an_interrupt(void **state)
{
    struct called called;

    stop_during_a_call(&called, state, STOP_INTERRUPT);
    assert_int_equal(test_server_n_requests(called.server), 4);
    assert_non_null(
        strstr(test_server_request(called.server, 3), "\"method\":\"notifications/cancelled\""));
    assert_non_null(strstr(test_server_request(called.server, 3), "\"requestId\":2"));
    called_end(&called);
}

/* Another worker takes the run over: it may still want the result. */
static void the_server_is_not_told_of_a_lost_lease(void **state)
{
    struct called called;

    stop_during_a_call(&called, state, STOP_LOST);
    assert_int_equal(test_server_n_requests(called.server), 3);
    called_end(&called);
}

static void a_changed_list_is_heard_of_during_a_call(void **state)
{
    static const struct test_reply replies[] = {
        GREETING,
        {.bytes = STREAM EVENT("{\"method\":\"notifications/tools/list_changed\"}")
             EVENT("{\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}"),
         .ending = TEST_CLOSE}};
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    called_run(&called);
    called_assert_text(&called, "done");
    assert_true(server_connections_take_changed(called.claimed.agent.servers));
    assert_false(server_connections_take_changed(called.claimed.agent.servers));
    called_end(&called);
}

/* A list that is known is not asked for, until the server says that it has changed. */
static void a_changed_list_is_asked_for_again(void **state)
{
    static const struct test_reply replies[] = {
        GREETING,
        {.bytes = STREAM EVENT("{\"method\":\"notifications/tools/list_changed\"}")
             EVENT("{\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}"),
         .ending = TEST_CLOSE},
        ANSWER("{\"id\":3,\"result\":{\"tools\":[{\"name\":\"later\"}]}}")};
    struct called called;
    struct agent *agent = &called.claimed.agent;
    json_auto_t *tools = NULL;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    json_put(agent->conversation.spec, MCP_LISTING, mcp_listing_new());
    assert_int_equal(server_listing_settle(agent, &called.err), 0);
    assert_int_equal(test_server_n_requests(called.server), 0);
    called_run(&called);
    called_assert_text(&called, "done");
    assert_int_equal(server_listing_settle(agent, &called.err), 0);
    assert_int_equal(test_server_n_requests(called.server), 4);
    tools = mcp_listing_tools_of(json_object_get(agent->conversation.spec, MCP_LISTING), "one");
    assert_int_equal(json_array_size(tools), 1);
    assert_string_equal(json_text_or(json_array_get(tools, 0), "name", ""), "later");
    assert_int_equal(server_listing_settle(agent, &called.err), 0);
    assert_int_equal(test_server_n_requests(called.server), 4);
    called_end(&called);
}

/* Another writer may come in between: a client, for instance, with a message. */
static void a_list_is_stored_though_another_write_came_first(void **state)
{
    static const struct test_reply replies[] = {
        GREETING, ANSWER("{\"id\":2,\"result\":{\"tools\":[{\"name\":\"find\"}]}}")};
    struct called called;
    struct agent *agent = &called.claimed.agent;
    json_auto_t *tools = NULL;
    CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    test_sql("UPDATE conversations SET spec = (spec::jsonb || '{\"later\": 1}')::text");
    test_sql("CREATE SEQUENCE test_writes; CREATE FUNCTION test_conflict() RETURNS trigger"
             " LANGUAGE plpgsql AS 'BEGIN IF nextval(''test_writes'') < 3 THEN"
             " RAISE ''as the test wants it'' USING ERRCODE = ''40001''; END IF;"
             " RETURN NEW; END';"
             "CREATE TRIGGER test_conflict BEFORE INSERT ON events FOR EACH ROW"
             " EXECUTE FUNCTION test_conflict()");
    called.rc = server_listing_settle(agent, &called.err);
    test_sql("DROP FUNCTION test_conflict CASCADE");
    assert_int_equal(called.rc, 0);
    assert_int_equal(test_sql_count("SELECT last_value FROM test_writes"), 3);
    test_sql("DROP SEQUENCE test_writes");
    tools = mcp_listing_tools_of(json_object_get(agent->conversation.spec, MCP_LISTING), "one");
    assert_int_equal(json_array_size(tools), 1);
    assert_int_equal(test_server_n_requests(called.server), 3);
    strbuf_appendf(&kept,
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND spec::json ->> 'later' ="
                   " '1' AND spec::json -> '" MCP_LISTING "' IS NOT NULL",
                   agent->lease.conversation_id.text);
    assert_int_equal(test_sql_count(kept.text), 1);
    called_end(&called);
}

/* A server's own error does not cost the state of the session. */
static void a_call_that_the_server_refuses_leaves_the_session(void **state)
{
    static const struct test_reply replies[] = {
        GREETING, ANSWER("{\"id\":2,\"error\":{\"code\":-32602,\"message\":\"no\"}}"), SECOND};
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    called.tool.annotations.is_idempotent = true;
    called_run(&called);
    assert_string_equal(called.problem.text, "The MCP server 'one' failed: The server says: no");
    called_run(&called);
    called_assert_text(&called, "more");
    assert_int_equal(test_server_n_requests(called.server), 4);
    called_end(&called);
}

/* Credentials of a server that it repeats. */
static void credentials_are_hidden(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT};
    static const char *const configs[] = {
        "{\"strategy\": \"bearer\", \"value\": \"of-the-server\"}",
        "{\"strategy\": \"basic\", \"username\": \"u\", \"password\": \"of-the-server\"}",
        "{\"strategy\": \"header\", \"headers\": {\"X-Own\": \"of-the-server\"}}",
        "{\"strategy\": \"oauth2\", \"state\": {\"tokens\": {\"access_token\": "
        "\"of-the-server\"}}}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
        CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;
        struct called called;
        json_t *server = NULL;

        called_begin(&called, state, replies, ARRAY_SIZE(replies));
        server = json_object_get(
            json_object_get(json_object_get(called.claimed.agent.conversation.spec, "agent"),
                            "mcp_config"),
            "one");
        json_put(server, "auth", json_loads(configs[i], 0, NULL));
        called_run(&called);
        called_assert_text(&called, "done");
        secret_list_mask_text(&called.claimed.agent.secrets, "it is of-the-server", &masked);
        assert_string_equal(masked.text, "it is <secret-hidden>");
        called_end(&called);
    }
}

static void a_program_needs_a_sandbox(void **state)
{
    struct called called;

    called_begin(&called, state, NULL, 0);
    called_configure(&called, "{\"one\": {\"command\": \"c\"}}");
    called_run(&called);
    assert_int_equal(called.rc, 0);
    assert_string_equal(called.problem.text,
                        "The agent has no sandbox to run the server 'one' in.");
    called_end(&called);
}

/* The stop is no result: another run makes the call again, or tells that it may have run. */
static void a_cancelled_call_has_no_result(void **state)
{
    static const struct test_reply held[] = {{.bytes = "", .ending = TEST_HOLD}};
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct begun_call begun = BEGUN_CALL_INIT;
    struct server_talks talks;
    struct called called;
    struct agent *agent = &called.claimed.agent;

    called_begin(&called, state, held, ARRAY_SIZE(held));
    json_put(agent->conversation.spec, MCP_LISTING,
             json_loads("{\"tools\": [{\"server\": \"one\", \"name\": \"do\", \"tool\":"
                        " {\"name\": \"do\"}}]}",
                        0, NULL));
    agent_renew_tools(agent);
    json_put_text(stored_event_json(&agent->history.items[called.action]), "tool_name", "do");
    history_find_pending(&agent->history, &pending);
    server_talks_init(&talks, -1);
    assert_int_equal(pending_call_begin(agent, &pending, 0, &talks, &begun, &called.err), 0);
    assert_non_null(begun.at_server);
    assert_true(test_server_wait(called.server, 1));
    server_talks_cancel(&talks);
    assert_int_equal(pending_call_end(agent, &begun, &called.err), -1);
    assert_int_equal(called.err.code, ERROR_CANCELLED);
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM events WHERE conversation_id = '%s' AND kind IN"
                   " ('ObservationEvent', 'AgentErrorEvent')",
                   agent->lease.conversation_id.text);
    assert_int_equal(test_sql_count(sql.text), 0);
    begun_call_done(&begun);
    server_talks_done(&talks);
    called_end(&called);
}

int server_call_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_noted_before_its_result),
        cmocka_unit_test(a_session_is_used_for_all_calls),
        cmocka_unit_test(a_session_outlives_its_run_until_the_configuration_changes),
        cmocka_unit_test(a_call_in_doubt_is_repeated_only_if_that_is_harmless),
        cmocka_unit_test(the_note_of_another_call_does_not_matter),
        cmocka_unit_test(a_session_that_is_forgotten_is_made_again_once),
        cmocka_unit_test(a_server_that_forgets_every_session_is_an_error),
        cmocka_unit_test(a_failure_ends_the_session),
        cmocka_unit_test(a_server_that_is_gone_from_the_configuration_is_an_error),
        cmocka_unit_test(a_call_that_lost_a_secret_is_not_sent),
        cmocka_unit_test(the_arguments_are_those_that_the_model_wrote),
        cmocka_unit_test(a_call_waits_for_the_lease),
        cmocka_unit_test(a_stop_is_not_the_servers_error),
        cmocka_unit_test(the_server_is_told_of_an_interrupt),
        cmocka_unit_test(the_server_is_not_told_of_a_lost_lease),
        cmocka_unit_test(a_changed_list_is_heard_of_during_a_call),
        cmocka_unit_test(a_changed_list_is_asked_for_again),
        cmocka_unit_test(a_list_is_stored_though_another_write_came_first),
        cmocka_unit_test(a_call_that_the_server_refuses_leaves_the_session),
        cmocka_unit_test(credentials_are_hidden),
        cmocka_unit_test(a_program_needs_a_sandbox),
        cmocka_unit_test(a_cancelled_call_has_no_result),
    };

    return cmocka_run_group_tests_name("worker/server_call", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
