/*
 * Sessions that are not continued: a job tells their servers.
 */
#include "worker/agent/mcp/ended_sessions.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "model/tools/project_servers.h"
#include "store/conversation/job_store.h"
#include "support/sql.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/mcp/server_connections.h"
#include "worker/jobs/job.h"
#include "worker/mcp/called.h"
#include "worker/mcp/mcp_test.h"

#define SQL_JOBS "SELECT count(*) FROM jobs WHERE kind = 'sessions'"

/* Two calls: the note of the second one stores the session. */
static void begin_with_session(struct called *called, void **state,
                               const struct test_reply *replies, size_t n)
{
    called_begin(called, state, replies, n);
    called->tool.annotations.is_idempotent = true;
    called_run(called);
    called_assert_text(called, "done");
    called_run(called);
    called_assert_text(called, "more");
    assert_int_equal(test_sql_count(SQL_JOBS), 0);
}

static void run_job(struct run_fixture *fixture)
{
    struct run_control control;
    struct job job = {.id = 0};
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    run_control_init(&control, 0);
    assert_int_equal(
        job_store_claim(fixture->context.db, &fixture->context.owner, &is_claimed, &job, &err), 0);
    assert_true(is_claimed);
    job_run(&fixture->context, &control, &job);
    job_done(&job);
    run_control_done(&control);
    assert_int_equal(test_sql_count(SQL_JOBS), 0);
}

static void assert_ended(struct called *called, size_t request)
{
    const char *text = NULL;

    assert_int_equal(test_server_n_requests(called->server), request + 1);
    text = test_server_request(called->server, request);
    assert_non_null(strstr(text, "DELETE /mcp HTTP/1.1\r\n"));
    assert_non_null(strcasestr(text, "\r\nMcp-Session-Id: of-the-test\r\n"));
    assert_non_null(strcasestr(text, "\r\nMCP-Protocol-Version: 2025-03-26\r\n"));
}

static void sessions_end_with_their_conversation(void **state)
{
    /* A server may refuse it. */
    static const struct test_reply replies[] = {GREETING, RESULT, SECOND, REFUSAL("405")};
    struct run_fixture *fixture = *state;
    struct called called;
    struct test_server *server = NULL;

    begin_with_session(&called, state, replies, ARRAY_SIZE(replies));
    server = TAKE_PTR(called.server);
    called_end(&called);
    called.server = server;
    assert_int_equal(test_sql_count(SQL_JOBS), 1);
    assert_int_equal(test_server_n_requests(server), 4);
    run_job(fixture);
    assert_ended(&called, 4);
    test_server_stop(server);
}

/* As another run: what the row has. */
static void forget_connections(struct called *called)
{
    server_connections_free(called->claimed.agent.servers);
    called->claimed.agent.servers = NULL;
}

static void session_of_another_configuration_ends(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT, SECOND, REFUSAL("204")};
    CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct called called;
    struct agent *agent = NULL;

    begin_with_session(&called, state, replies, ARRAY_SIZE(replies));
    agent = &called.claimed.agent;
    forget_connections(&called);
    assert_int_equal(ended_sessions_settle(agent, &called.err), 0);
    assert_int_equal(test_sql_count(SQL_JOBS), 0);

    forget_connections(&called);
    agent->has_ended_sessions = false;
    strbuf_appendf(&config, "{\"one\": {\"url\": \"%s\", \"headers\": {\"X-New\": \"1\"}}}",
                   test_server_url(called.server, "/mcp"));
    called_configure(&called, config.text);
    assert_int_equal(ended_sessions_settle(agent, &called.err), 0);
    assert_int_equal(test_sql_count(SQL_JOBS), 1);
    strbuf_appendf(&kept,
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND"
                   " agent_state::jsonb -> 'server_sessions' = '{}'",
                   agent->lease.conversation_id.text);
    assert_int_equal(test_sql_count(kept.text), 1);
    run_job(fixture);
    assert_ended(&called, 4);
    called_end(&called);
    assert_int_equal(test_sql_count(SQL_JOBS), 0);
}

/* The job has nothing but what was sealed with the session. */
static void session_ends_with_the_credentials_of_its_server(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT, SECOND, REFUSAL("204")};
    CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct called called;
    struct test_server *server = NULL;
    const char *text = NULL;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    server = called.server;
    strbuf_appendf(&config,
                   "{\"one\": {\"url\": \"%s\", \"headers\": {\"X-Own\": \"of-the-user\"},"
                   " \"auth\": {\"strategy\": \"oauth2\", \"state\": {\"tokens\":"
                   " {\"access_token\": \"of-the-sign-in\"}}}}}",
                   test_server_url(server, "/mcp"));
    called_configure(&called, config.text);
    called.tool.annotations.is_idempotent = true;
    called_run(&called);
    called_assert_text(&called, "done");
    called_run(&called);
    called_assert_text(&called, "more");
    called.server = NULL;
    called_end(&called);
    called.server = server;
    run_job(fixture);
    assert_ended(&called, 4);
    text = test_server_request(server, 4);
    assert_non_null(strcasestr(text, "\r\nX-Own: of-the-user\r\n"));
    assert_non_null(strcasestr(text, "\r\nAuthorization: Bearer of-the-sign-in\r\n"));
    test_server_stop(server);
}

/* Its connection is made anew, but not its session, which no row has yet. */
static void session_outlives_a_change_of_the_projects_servers(void **state)
{
    static const struct test_reply replies[] = {GREETING, RESULT, SECOND};
    struct called called;
    struct agent *agent = &called.claimed.agent;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    called.tool.annotations.is_idempotent = true;
    called_run(&called);
    called_assert_text(&called, "done");
    json_put(agent->conversation.spec, PROJECT_SERVERS,
             json_loads("{\"found\": {\"two\": {\"digest\": \"d\", \"server\":"
                        " {\"url\": \"http://127.0.0.1:1/\"}}}, \"consents\": {\"two\": \"d\"}}",
                        0, NULL));
    server_connections_settle(agent);
    assert_null(agent->servers);
    called_run(&called);
    called_assert_text(&called, "more");
    assert_int_equal(test_server_n_requests(called.server), 4);
    assert_int_equal(agent->servers->n, 2);
    server_connections_settle(agent);
    assert_non_null(agent->servers);
    called_end(&called);
    test_sql("DELETE FROM jobs WHERE kind = 'sessions'");
}

static void session_that_cannot_be_opened_is_left(void **state)
{
    static const struct test_reply replies[] = {GREETING};
    struct run_fixture *fixture = *state;
    struct called called;

    called_begin(&called, state, replies, ARRAY_SIZE(replies));
    json_put(called.claimed.agent.conversation.agent_state, AGENT_STATE_SERVER_SESSIONS,
             json_loads("{\"one\": \"of another key\", \"two\": 2}", 0, NULL));
    assert_int_equal(ended_sessions_settle(&called.claimed.agent, &called.err), 0);
    run_job(fixture);
    assert_int_equal(test_server_n_requests(called.server), 0);
    called_end(&called);
}

int ended_sessions_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_end_with_their_conversation),
        cmocka_unit_test(session_of_another_configuration_ends),
        cmocka_unit_test(session_ends_with_the_credentials_of_its_server),
        cmocka_unit_test(session_outlives_a_change_of_the_projects_servers),
        cmocka_unit_test(session_that_cannot_be_opened_is_left),
    };

    return cmocka_run_group_tests_name("worker/ended_sessions", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
