#include "worker/agent/mcp/ended_sessions.h"

#include <stddef.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/mcp/server_connections.h"

static json_t *sessions_of(const struct agent *agent)
{
    return json_object_get(agent->conversation.agent_state, AGENT_STATE_SERVER_SESSIONS);
}

/* Moves the sessions that no connection continues out of the agent's state. A new reference. */
static json_t *take_ended(struct agent *agent)
{
    json_t *sessions = sessions_of(agent);
    struct server_connections *connections = server_connections_of(agent);
    json_t *ended = json_object();
    const char *name = NULL;
    json_t *sealed = NULL;
    void *next = NULL;

    json_object_foreach_safe (sessions, next, name, sealed) {
        const struct server_connection *connection = server_connections_find(connections, name);

        if (connection != NULL && connection->kept != NULL)
            continue;
        json_put(ended, name, json_incref(sealed));
        (void)json_object_del(sessions, name);
    }
    return ended;
}

int ended_sessions_settle(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list no_events = EVENT_LIST_INIT;
    json_auto_t *ended = NULL;
    json_auto_t *payload = NULL;
    struct conversation_write change = {.agent_state = agent->conversation.agent_state};

    if (agent->has_ended_sessions || json_object_size(sessions_of(agent)) == 0)
        return 0;
    agent->has_ended_sessions = true;
    ended = take_ended(agent);
    if (json_object_size(ended) == 0)
        return 0;
    payload = json_object();
    json_put(payload, "sessions", json_incref(ended));
    change.job = (struct job_request){.kind = JOB_END_SESSIONS, .payload = payload};
    return event_writer_append(agent, &no_events, &change, err);
}
