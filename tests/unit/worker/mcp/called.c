#include "worker/mcp/called.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/tools/mcp_tools.h"
#include "support/json_path.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/side_wait.h"
#include "worker/agent/mcp/server_call.h"
#include "worker/agent/mcp/server_talk.h"
#include "worker/mcp/mcp_test.h"

#define CALLS                                                                                      \
    "{\"turns\": [{\"steps\": [{\"calls\": [{\"name\": \"terminal\", \"arguments\":"               \
    " {\"command\": \"x\"}}]}]}]}"

void called_configure(struct called *called, const char *config)
{
    json_put(json_object_get(called->claimed.agent.conversation.spec, "agent"), "mcp_config",
             json_loads(config, 0, NULL));
}

void called_begin(struct called *called, void **state, const struct test_reply *replies, size_t n)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;

    *called = (struct called){.problem = STRBUF_INIT, .err = ERROR_INIT};
    claimed_agent_begin_pending(&called->claimed, *state, CALLS);
    run_control_renew(&called->claimed.control, INT64_MAX / 2);
    if (replies != NULL) {
        called->server = test_server_start(replies, n, NULL);
        strbuf_appendf(&config, "{\"one\": {\"url\": \"%s\"}}",
                       test_server_url(called->server, "/mcp"));
        called_configure(called, config.text);
    }
    called->listed = json_loads(
        "{\"server\": \"one\", \"name\": \"do\", \"tool\": {\"name\": \"do\"}}", 0, NULL);
    called->tool = mcp_tool(called->listed);
    history_find_pending(&called->claimed.agent.history, &pending);
    assert_int_equal(pending.n, 1);
    called->action = pending.items[0];
}

void called_end(struct called *called)
{
    mem_free(called->tool.action_kind);
    json_decref(called->listed);
    json_decref(called->observation);
    strbuf_done(&called->problem);
    claimed_agent_end(&called->claimed);
    if (called->server != NULL)
        test_server_stop(called->server);
}

static bool has_ended(void *talks)
{
    return server_talks_have_over(talks);
}

static void cancel(void *talks)
{
    server_talks_cancel(talks);
}

struct settled {
    struct server_call *call;
    struct server_talks *talks;
    struct called *called;
};

static int64_t settle(void *what, struct http_call **request_out)
{
    struct settled *settled = what;
    int64_t left_ms = 0;
    int64_t again_ms = 0;

    *request_out = NULL;
    server_talks_see_reports(settled->talks);
    if (settled->called->settled != NULL)
        settled->called->settled(settled->called);
    left_ms = server_call_tell_progress(settled->call, clock_monotonic_ms());
    again_ms = server_call_tell_progress(settled->call, clock_monotonic_ms());
    if (again_ms < left_ms)
        settled->called->again_ms = again_ms;
    return left_ms;
}

/* As call_batch.c does. */
static int begin_and_wait(struct called *called, struct server_talks *talks,
                          struct server_call **call_out)
{
    struct agent *agent = &called->claimed.agent;

    if (server_call_begin(agent, talks, called->action, &called->tool, call_out, &called->err) < 0)
        return -1;
    if (!server_call_is_running(*call_out))
        return 0;
    return server_talks_wait(
        talks, agent->control,
        &(struct side_wait){has_ended, cancel, settle, &(struct settled){*call_out, talks, called}},
        &called->err);
}

static int begin_and_end(struct called *called)
{
    struct server_talks talks;
    struct server_call *call = NULL;
    int rc = 0;

    server_talks_init(&talks, -1);
    rc = begin_and_wait(called, &talks, &call);
    if (rc == 0)
        rc = server_call_end(call, &called->observation, &called->problem, &called->err);
    server_call_free(call);
    server_talks_done(&talks);
    return rc;
}

void called_run(struct called *called)
{
    json_decref(called->observation);
    called->observation = NULL;
    strbuf_reset(&called->problem);
    called->err = (struct error)ERROR_INIT;
    called->rc = begin_and_end(called);
}

void called_assert_text(const struct called *called, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;

    if (called->rc < 0)
        fail_msg("%s", called->err.message);
    assert_string_equal(called->problem.text, "");
    json_append_text(&text, called->observation);
    strbuf_appendf(&quoted, "\"%s\"", expected);
    assert_json_at(text.text, "content[1].text", quoted.text);
}
