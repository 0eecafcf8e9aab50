#include "worker/agent/mcp/server_call.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/mcp.h"
#include "client/mcp_session.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/tools/agent_tool.h"
#include "model/tools/mcp.h"
#include "model/tools/mcp_config.h"
#include "model/tools/mcp_observation.h"
#include "model/tools/mcp_tools.h"
#include "store/conversation/conversation_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/call_action.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/mcp/server_connections.h"
#include "worker/agent/mcp/server_token.h"
#include "worker/agent/mcp/variables.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/context.h"

/* The sandbox runs a program for at most two minutes. */
enum { CONNECT_MS = 30000, PROGRAM_MAX_MS = 120000 };

#define DOUBT_TEXT                                                                                 \
    "The worker that ran this call stopped before it had the result. The server may have run it, " \
    "so it was not sent again. Check its effects before you repeat it."

#define GONE_TEXT "The server '%s' of this tool is not in the agent's configuration any more."

struct server_call {
    struct agent *agent;
    struct server_connection *connection;
    const char *tool; /* the server's name for it */
    json_t *arguments;
};

/* --- over HTTP --- */

static void cancel_talk(void *connection)
{
    server_connection_cancel(connection);
}

/* Sends the call; makes a session first if none is open. */
static int talk(struct server_call *call, bool is_new, json_t **result_out, struct error *err)
{
    struct server_connection *connection = call->connection;
    struct mcp_session *session = connection->session;

    if (server_token_settle(call->agent, connection, err) < 0 ||
        (is_new && mcp_session_begin(session, err) < 0))
        return -1;
    if (connection->transport != MCP_SSE)
        mcp_set_timeout(mcp_session_connection(session), mcp_server_call_ms(connection->server));
    return mcp_session_call(session, call->tool, call->arguments, result_out, err);
}

static int talk_until_stopped(struct server_call *call, bool is_new, json_t **result_out,
                              struct error *err)
{
    struct run_control *control = call->agent->control;
    int rc = -1;

    if (run_control_begin_wait(control, WAIT_TOOL, cancel_talk, call->connection, err) < 0)
        return -1;
    rc = talk(call, is_new, result_out, err);
    run_control_end_wait(control);
    if (rc < 0 && err->code == ERROR_CANCELLED && run_control_stop(control) == STOP_INTERRUPT)
        mcp_session_tell_cancelled(call->connection->session);
    return rc;
}

/* A session survives that its token has expired. */
static bool must_close(const struct server_connection *connection, bool is_new, int rc,
                       const struct error *err)
{
    if (connection->transport == MCP_SSE)
        return true;
    return rc < 0 && (is_new || err->code != ERROR_UNAUTHENTICATED);
}

static int try_remote(struct server_call *call, json_t **result_out, struct error *err)
{
    struct server_connection *connection = call->connection;
    bool is_new = connection->session == NULL;
    int64_t ms = CONNECT_MS;
    int rc = -1;

    /* A stream's time is that of the call, too. */
    if (connection->transport == MCP_SSE)
        ms += mcp_server_call_ms(connection->server);
    if (is_new && server_connection_prepare(call->agent, connection, ms, err) < 0)
        return -1;
    rc = talk_until_stopped(call, is_new, result_out, err);
    if (must_close(connection, is_new, rc, err))
        server_connection_close(connection);
    server_connection_hide(call->agent, connection);
    return rc;
}

static int replace_token(struct server_call *call, struct error *err)
{
    struct run_control *control = call->agent->control;
    int rc = -1;

    if (run_control_begin_wait(control, WAIT_TOOL, cancel_talk, call->connection, err) < 0)
        return -1;
    rc = server_token_replace(call->agent, call->connection, err);
    run_control_end_wait(control);
    server_connection_hide(call->agent, call->connection);
    return rc;
}

static int call_remote(struct server_call *call, json_t **result_out, struct error *err)
{
    int rc = try_remote(call, result_out, err);

    /* The server did not look at the call. */
    if (rc < 0 && err->code == ERROR_UNAUTHENTICATED &&
        server_token_is_of_sign_in(call->connection)) {
        if (replace_token(call, err) < 0)
            return -1;
        rc = try_remote(call, result_out, err);
    }
    /* Nor has a server that has forgotten the session. */
    if (rc < 0 && err->code == ERROR_STALE)
        rc = try_remote(call, result_out, err);
    if (rc < 0 && err->code == ERROR_STALE)
        err->code = ERROR_UNAVAILABLE;
    return rc;
}

/* --- as a program of the sandbox --- */

static int call_program(struct server_call *call, json_t **result_out, struct error *err)
{
    int64_t ms = mcp_server_call_ms(call->connection->server);
    int64_t limited_ms = ms < PROGRAM_MAX_MS ? ms : PROGRAM_MAX_MS;
    json_auto_t *messages = mcp_program_messages(false, call->tool, call->arguments);
    json_auto_t *body = mcp_server_order(call->connection->server, messages, limited_ms);
    json_auto_t *tools = json_array();
    json_auto_t *reply = NULL;
    const struct sandbox_order order = {
        .path = MCP_PROGRAM_PATH, .content = body, .timeout_ms = limited_ms};

    if (call->agent->sandbox == NULL)
        return error_set(err, ERROR_INVALID, "The agent has no sandbox to run it in");
    if (sandbox_ask(call->agent->sandbox, &order, &reply, err) < 0 ||
        mcp_program_read(json_object_get(reply, "replies"), tools, result_out, err) < 0)
        return -1;
    if (*result_out == NULL)
        return error_set(err, ERROR_INVALID, "The server did not answer the call");
    return 0;
}

/* --- the call --- */

/* Whether the call was sent before, without a result. */
static bool is_in_doubt(const struct agent *agent, size_t action)
{
    return text_equal(json_text_or(agent->conversation.agent_state, AGENT_STATE_SERVER_CALL, ""),
                      agent->history.items[action].id.text);
}

static bool can_repeat(const struct agent_tool *tool)
{
    return tool->annotations.is_read_only || tool->annotations.is_idempotent;
}

/* Stores that this call is about to be sent; the one before it has its result. */
static int note_call(struct agent *agent, size_t action, struct error *err)
{
    CLEANUP(event_list_done) struct event_list no_events = EVENT_LIST_INIT;
    json_t *state = agent->conversation.agent_state;
    struct conversation_write change = {.agent_state = state};

    json_put_text(state, AGENT_STATE_SERVER_CALL, agent->history.items[action].id.text);
    return event_writer_append(agent, &no_events, &change, err);
}

static int send_call(struct server_call *call, json_t **result_out, struct error *err)
{
    return call->connection->transport == MCP_STDIO ? call_program(call, result_out, err)
                                                    : call_remote(call, result_out, err);
}

/* The stop, or the loss of the lease, is not the tool's error. */
static int settle_failure(const struct server_call *call, const struct error *failure,
                          struct strbuf *problem_out, struct error *err)
{
    if (failure->code == ERROR_CANCELLED || failure->code == ERROR_STALE) {
        *err = *failure;
        return -1;
    }
    strbuf_appendf(problem_out, "The MCP server '%s' failed: %s", call->connection->name,
                   failure->message);
    return 0;
}

static int run(struct server_call *call, size_t action, const struct agent_tool *tool,
               json_t **observation_out, struct strbuf *problem_out, struct error *err)
{
    struct agent *agent = call->agent;
    json_auto_t *result = NULL;
    struct error failure = ERROR_INIT;

    if (note_call(agent, action, err) < 0 || run_control_wait_for_lease(agent->control, err) < 0)
        return -1;
    crash_point(&agent->context->crash, CRASH_SERVER_CALL_NOTED);
    if (send_call(call, &result, &failure) < 0)
        return settle_failure(call, &failure, problem_out, err);
    crash_point(&agent->context->crash, CRASH_SERVER_CALL_ANSWERED);
    *observation_out = mcp_observation(tool, result);
    return 0;
}

int server_call_run(struct agent *agent, size_t action, const struct agent_tool *tool,
                    json_t **observation_out, struct strbuf *problem_out, struct error *err)
{
    struct server_connections *connections = server_connections_of(agent);
    json_auto_t *arguments = NULL;
    struct server_call call = {
        .agent = agent,
        .connection = server_connections_find(connections, mcp_tool_server(tool)),
        .tool = mcp_tool_name(tool),
    };

    if (call.connection == NULL) {
        strbuf_appendf(problem_out, GONE_TEXT, mcp_tool_server(tool));
        return 0;
    }
    if (is_in_doubt(agent, action) && !can_repeat(tool)) {
        strbuf_append(problem_out, DOUBT_TEXT);
        return 0;
    }
    if (call_is_incomplete(agent, action)) {
        strbuf_append(problem_out, CALL_WITHHELD_TEXT);
        return 0;
    }
    arguments = variables_expand(agent, json_object_get(call_action_to_run(agent, action), "data"));
    call.arguments = arguments;
    return run(&call, action, tool, observation_out, problem_out, err);
}
