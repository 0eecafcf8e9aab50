#include "worker/agent/mcp/server_call.h"

#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/tools/agent_tool.h"
#include "model/tools/mcp_config.h"
#include "model/tools/mcp_observation.h"
#include "model/tools/mcp_progress.h"
#include "model/tools/mcp_tools.h"
#include "store/conversation/conversation_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/call_action.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/mcp/progress_notice.h"
#include "worker/agent/mcp/server_connection.h"
#include "worker/agent/mcp/server_connections.h"
#include "worker/agent/mcp/server_talk.h"
#include "worker/agent/mcp/variables.h"
#include "worker/context.h"

#define DOUBT_TEXT                                                                                 \
    "The worker that ran this call stopped before it had the result. The server may have run it, " \
    "so it was not sent again. Check its effects before you repeat it."

#define NO_SANDBOX_TEXT "The agent has no sandbox to run the server '%s' in."

#define GONE_TEXT "The server '%s' of this tool is not in the agent's configuration any more."

struct server_call {
    struct agent *agent;
    struct server_connection *connection; /* the run's; NULL: gone */
    size_t action;
    struct server_talk talk; /* set once the call is sent */
    bool has_talk;
    int64_t tell_ms;       /* when its progress may be told next */
    struct strbuf problem; /* why it was not sent; "": it was */
};

/* --- doubt --- */

/* The ids of calls that were sent and may have no result. Older rows have one as text. */
static bool is_noted(const json_t *noted, const char *id)
{
    size_t i = 0;
    json_t *item = NULL;

    if (json_is_string(noted))
        return text_equal(json_string_value(noted), id);
    json_array_foreach (noted, i, item) {
        if (json_is_string(item) && text_equal(json_string_value(item), id))
            return true;
    }
    return false;
}

static const json_t *noted_calls(const struct agent *agent)
{
    return json_object_get(agent->conversation.agent_state, AGENT_STATE_SERVER_CALLS);
}

static bool can_repeat(const struct agent_tool *tool)
{
    return tool->annotations.is_read_only || tool->annotations.is_idempotent;
}

bool server_call_is_in_doubt(const struct agent *agent, size_t action,
                             const struct agent_tool *tool)
{
    return !can_repeat(tool) && is_noted(noted_calls(agent), agent->history.items[action].id.text);
}

/* Stores that this call is about to be sent; others that have no result yet stay noted. */
static int note_call(struct agent *agent, size_t action, struct error *err)
{
    CLEANUP(event_list_done) struct event_list no_events = EVENT_LIST_INIT;
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    json_t *state = agent->conversation.agent_state;
    const struct conversation_write change = {.agent_state = state};
    json_t *noted = json_array();

    history_find_pending(&agent->history, &pending);
    for (size_t i = 0; i < pending.n; i++) {
        const char *id = agent->history.items[pending.items[i]].id.text;

        if (pending.items[i] == action || is_noted(noted_calls(agent), id))
            json_push(noted, json_text_of(id));
    }
    json_put(state, AGENT_STATE_SERVER_CALLS, noted);
    /* Those that the listing made, for example; the write is made anyway. */
    (void)server_connections_keep_sessions(agent);
    return event_writer_append(agent, &no_events, &change, err);
}

/* --- the talk --- */

static void start_talk(struct server_call *call, struct server_talks *talks, const char *tool)
{
    struct agent *agent = call->agent;
    struct server_talk *talk = &call->talk;

    *talk = (struct server_talk){.control = agent->control, .tool = mem_dup_text(tool)};
    call->has_talk = true;
    server_connection_copy(call->connection, &talk->connection);
    talk->arguments =
        variables_expand(agent, json_object_get(call_action_to_run(agent, call->action), "data"));
    server_talk_start(talks, talk);
}

/* Why the call is not sent; "" if it is. */
static void find_problem(struct server_call *call, const struct agent_tool *tool)
{
    if (call->connection == NULL)
        strbuf_appendf(&call->problem, GONE_TEXT, mcp_tool_server(tool));
    else if (server_call_is_in_doubt(call->agent, call->action, tool))
        strbuf_append(&call->problem, DOUBT_TEXT);
    else if (call->connection->transport == MCP_STDIO)
        strbuf_appendf(&call->problem, NO_SANDBOX_TEXT, call->connection->name);
    else if (call_is_incomplete(call->agent, call->action))
        strbuf_append(&call->problem, CALL_WITHHELD_TEXT);
}

int server_call_begin(struct agent *agent, struct server_talks *talks, size_t action,
                      const struct agent_tool *tool, struct server_call **call_out,
                      struct error *err)
{
    CLEANUP(server_call_freep) struct server_call *call = NEW(struct server_call);

    call->agent = agent;
    call->action = action;
    call->problem = (struct strbuf)STRBUF_INIT;
    call->connection = server_connections_find(server_connections_of(agent), mcp_tool_server(tool));
    find_problem(call, tool);
    if (call->problem.len == 0) {
        if (note_call(agent, action, err) < 0 ||
            run_control_wait_for_lease(agent->control, err) < 0)
            return -1;
        crash_point(&agent->context->crash, CRASH_SERVER_CALL_NOTED);
        start_talk(call, talks, mcp_tool_name(tool));
    }
    *call_out = TAKE_PTR(call);
    return 0;
}

bool server_call_is_running(const struct server_call *call)
{
    return call->talk.talks != NULL;
}

bool server_call_is_over(const struct server_call *call)
{
    return call->talk.talks != NULL && server_talk_is_over(&call->talk);
}

bool server_call_has_new_session(const struct server_call *call)
{
    return server_connections_keep_sessions(call->agent);
}

int64_t server_call_tell_progress(struct server_call *call, int64_t now_ms)
{
    CLEANUP(talk_report_done) struct talk_report report = {.message = NULL};

    if (!server_call_is_running(call))
        return PROGRESS_NEVER_MS;
    if (now_ms < call->tell_ms)
        return call->tell_ms - now_ms;
    server_talk_take_report(&call->talk, &report);
    if (report.message == NULL)
        return PROGRESS_NEVER_MS;
    /* It may have new tokens, which nothing else knows yet. */
    server_connection_hide_config(call->agent, report.server);
    progress_notice_send(call->agent, call->action,
                         &(struct mcp_progress){report.done, report.total, report.message});
    call->tell_ms = now_ms + PROGRESS_NOTICE_MS;
    return PROGRESS_NEVER_MS;
}

size_t server_call_action(const struct server_call *call)
{
    return call->action;
}

/* Waits for the thread, and takes what its connection has learned. */
static void join(struct server_call *call)
{
    struct server_talk *talk = &call->talk;

    if (!call->has_talk)
        return;
    call->has_talk = false;
    server_talk_join(talk);
    server_connection_hide(call->agent, &talk->connection);
    server_connection_join(call->connection, &talk->connection);
}

void server_call_free(struct server_call *call)
{
    if (call == NULL)
        return;
    if (server_call_is_running(call))
        server_talks_cancel(call->talk.talks);
    join(call);
    talk_report_done(&call->talk.report);
    json_decref(call->talk.result);
    json_decref(call->talk.arguments);
    mem_free(call->talk.tool);
    strbuf_done(&call->problem);
    mem_free(call);
}

void server_call_freep(struct server_call **call)
{
    server_call_free(*call);
    *call = NULL;
}

/* The stop, or the loss of the lease, is not the tool's error. */
static int settle_failure(const struct server_call *call, struct strbuf *problem_out,
                          struct error *err)
{
    const struct error *failure = &call->talk.failure;

    if (failure->code == ERROR_CANCELLED || failure->code == ERROR_STALE) {
        *err = *failure;
        return -1;
    }
    strbuf_appendf(problem_out, "The MCP server '%s' failed: %s", call->connection->name,
                   failure->message);
    return 0;
}

int server_call_end(struct server_call *call, json_t **observation_out, struct strbuf *problem_out,
                    struct error *err)
{
    if (call->problem.len > 0) {
        strbuf_append(problem_out, call->problem.text);
        return 0;
    }
    join(call);
    if (call->talk.result == NULL)
        return settle_failure(call, problem_out, err);
    crash_point(&call->agent->context->crash, CRASH_SERVER_CALL_ANSWERED);
    *observation_out = mcp_observation(call->talk.tool, call->talk.result);
    return 0;
}
