#include "worker/agent/mcp/server_listing.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/mcp.h"
#include "client/mcp_session.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/tools/mcp_config.h"
#include "model/tools/mcp_listing.h"
#include "model/tools/project_servers.h"
#include "store/conversation/conversation_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/agent_row.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/mcp/ended_sessions.h"
#include "worker/agent/mcp/program_call.h"
#include "worker/agent/mcp/server_connections.h"
#include "worker/agent/mcp/server_thread.h"
#include "worker/agent/mcp/server_token.h"
#include "worker/context.h"

enum { LIST_MS = 30000 };

/* A question to one server. */
struct server_question {
    struct server_connection *connection;
    json_t *tools;
    struct error err;
    int rc;
    pthread_t thread;
    bool has_thread;
};

/* Questions to all servers that are to be asked. */
struct server_round {
    struct server_question items[MCP_SERVERS_MAX];
    size_t n;
};

static void round_done(struct server_round *round)
{
    for (size_t i = 0; i < round->n; i++)
        json_decref(round->items[i].tools);
}

/* --- asking --- */

static int ask_once(struct server_question *question)
{
    return server_connection_greet(question->connection, &question->err) == 0
               ? mcp_session_list(question->connection->session, question->tools, &question->err)
               : -1;
}

static void *ask_server(void *context)
{
    struct server_question *question = context;
    struct server_connection *connection = question->connection;
    struct error *err = &question->err;

    question->rc = server_token_settle(connection, err);
    if (question->rc == 0)
        question->rc = ask_once(question);
    if (question->rc < 0 && err->code == ERROR_STALE) {
        (void)json_array_clear(question->tools);
        question->rc = server_connection_prepare(connection, LIST_MS, err);
        if (question->rc == 0)
            question->rc = ask_once(question);
    }
    if (question->rc == 0 || err->code != ERROR_UNAUTHENTICATED ||
        !server_token_is_of_sign_in(connection))
        return NULL;
    (void)json_array_clear(question->tools);
    question->rc = server_token_replace(connection, err);
    if (question->rc == 0)
        question->rc = ask_once(question);
    return NULL;
}

static void begin_question(struct agent *agent, struct server_question *question)
{
    struct server_connection *connection = question->connection;

    cancel_reset(&connection->cancel);
    server_connection_drop_ended(connection);
    if (connection->is_greeted)
        mcp_set_timeout(mcp_session_connection(connection->session), LIST_MS);
    if ((!connection->is_greeted &&
         server_connection_prepare(connection, LIST_MS, &question->err) < 0) ||
        server_thread_start(agent->context, &question->thread, ask_server, question,
                            &question->err) < 0) {
        question->rc = -1;
        return;
    }
    question->has_thread = true;
}

static void cancel_round(void *context)
{
    struct server_round *round = context;

    for (size_t i = 0; i < round->n; i++) {
        if (round->items[i].has_thread)
            cancel_set(&round->items[i].connection->cancel);
    }
}

/* Asks all servers with a URL at once. */
static int ask_remote(struct agent *agent, struct server_round *round, struct error *err)
{
    bool is_stopped = false;

    for (size_t i = 0; i < round->n; i++) {
        if (round->items[i].connection->transport != MCP_STDIO)
            begin_question(agent, &round->items[i]);
    }
    is_stopped = run_control_begin_wait(agent->control, WAIT_TOOL, cancel_round, round, err) < 0;
    if (is_stopped)
        cancel_round(round);
    for (size_t i = 0; i < round->n; i++) {
        if (round->items[i].has_thread)
            (void)pthread_join(round->items[i].thread, NULL);
    }
    if (!is_stopped)
        run_control_end_wait(agent->control);
    for (size_t i = 0; i < round->n; i++)
        server_connection_hide(agent, round->items[i].connection);
    return is_stopped ? -1 : 0;
}

/* Programs start one after the other, in the one sandbox. */
static void ask_programs(struct agent *agent, struct server_round *round)
{
    for (size_t i = 0; i < round->n; i++) {
        struct server_question *question = &round->items[i];

        if (question->connection->transport == MCP_STDIO)
            question->rc =
                program_list(agent, question->connection, LIST_MS, question->tools, &question->err);
    }
}

/* A session that failed is not used again. */
static void close_sessions(struct server_round *round)
{
    for (size_t i = 0; i < round->n; i++) {
        if (round->items[i].rc < 0)
            server_connection_close(round->items[i].connection);
    }
}

static int find_stop(const struct server_round *round, struct error *err)
{
    for (size_t i = 0; i < round->n; i++) {
        if (round->items[i].rc < 0 && round->items[i].err.code == ERROR_CANCELLED) {
            *err = round->items[i].err;
            return -1;
        }
    }
    return 0;
}

static int ask(struct agent *agent, struct server_round *round, struct error *err)
{
    int rc = ask_remote(agent, round, err);

    if (rc == 0)
        ask_programs(agent, round);
    close_sessions(round);
    return rc == 0 ? find_stop(round, err) : -1;
}

/* --- what is known --- */

static json_t *stored_listing(const struct agent *agent)
{
    return json_object_get(agent->conversation.spec, MCP_LISTING);
}

/* True if a server has to be asked: it has failed, nothing is known, or it has become another. */
static bool is_asked(struct agent *agent, const json_t *listing, const char *server)
{
    return listing == NULL || json_object_get(mcp_listing_failed(listing), server) != NULL ||
           !text_equal(mcp_listing_digest(listing, server),
                       json_text_or(server_connections_of(agent)->digests, server, ""));
}

static bool has_servers(const struct agent *agent)
{
    json_auto_t *servers = mcp_servers_of(agent->conversation.spec);

    return json_object_size(servers) > 0;
}

static const struct server_question *find_question(const struct server_round *round,
                                                   const struct server_connection *connection)
{
    for (size_t i = 0; i < round->n; i++) {
        if (round->items[i].connection == connection)
            return &round->items[i];
    }
    return NULL;
}

/* Whether a tool's name begins with its server's; a server of the workspace changes no other name.
 */
static bool has_prefix(const struct agent *agent, const char *server)
{
    json_auto_t *servers = mcp_servers_of(agent->conversation.spec);
    const char *name = NULL;
    json_t *value = NULL;
    size_t n_own = 0;

    json_object_foreach (servers, name, value)
        n_own += mcp_server_is_own(agent->conversation.spec, name) ? 1 : 0;
    return n_own > 1 || !mcp_server_is_own(agent->conversation.spec, server);
}

/* The listing of all servers: of those asked what they said, of the others what was known. */
static json_t *make_listing(struct agent *agent, const json_t *known,
                            const struct server_round *round)
{
    struct server_connections *connections = server_connections_of(agent);
    json_t *listing = mcp_listing_new();

    for (size_t i = 0; i < connections->n; i++) {
        const struct server_connection *connection = &connections->items[i];
        const struct server_question *question = find_question(round, connection);
        json_auto_t *tools = question == NULL
                                 ? mcp_listing_tools_of(known, connection->name)
                                 : secret_list_mask_json(&agent->secrets, question->tools);

        if (question != NULL && question->rc < 0) {
            CLEANUP(strbuf_done) struct strbuf reason = STRBUF_INIT;

            secret_list_mask_text(&agent->secrets, question->err.message, &reason);
            mcp_listing_fail(listing, connection->name, reason.text);
            log_warning("mcp.no_list", LOG_STR("server", connection->name),
                        LOG_ERROR(&question->err));
            continue;
        }
        mcp_listing_add(listing, connection->name, tools, has_prefix(agent, connection->name));
    }
    mcp_listing_set_project(listing, connections->digests);
    return listing;
}

static int store_once(struct agent *agent, json_t *listing, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write change = {.spec = NULL};
    json_auto_t *value = mcp_listing_event_value(listing);

    /* The specification is written whole, so it must be the newest. */
    agent->is_row_stale = true;
    if (event_writer_refresh_row(agent, err) < 0)
        return -1;
    json_put(agent->conversation.spec, MCP_LISTING, json_incref(listing));
    change.spec = agent->conversation.spec;
    event_add_state(&events, MCP_LISTING_KEY, value);
    return event_writer_append_once(agent, &events, &change, err);
}

static int store(struct agent *agent, json_t *listing, struct error *err)
{
    int rc = 0;

    do
        rc = store_once(agent, listing, err);
    while (rc < 0 && err->code == ERROR_CONFLICT);
    if (rc == 0)
        agent_renew_tools(agent);
    return rc;
}

static bool is_due(struct agent *agent, bool has_changed)
{
    const json_t *known = stored_listing(agent);
    json_auto_t *digests = project_servers_digests(agent->conversation.spec);

    if (has_changed || !mcp_listing_has_project(known, digests))
        return true;
    return !agent->has_listed_servers && has_servers(agent) &&
           (known == NULL || json_object_size(mcp_listing_failed(known)) > 0);
}

int server_listing_settle(struct agent *agent, struct error *err)
{
    CLEANUP(round_done) struct server_round round = {.n = 0};
    bool has_changed = agent->servers != NULL && server_connections_take_changed(agent->servers);
    json_auto_t *known = has_changed ? NULL : json_incref(stored_listing(agent));
    json_auto_t *listing = NULL;

    if (ended_sessions_settle(agent, err) < 0)
        return -1;
    if (!is_due(agent, has_changed))
        return 0;
    for (size_t i = 0; i < server_connections_of(agent)->n; i++) {
        struct server_connection *connection = &agent->servers->items[i];

        if (is_asked(agent, known, connection->name))
            round.items[round.n++] =
                (struct server_question){.connection = connection, .tools = json_array()};
    }
    if (ask(agent, &round, err) < 0)
        return -1;
    listing = make_listing(agent, known, &round);
    agent->has_listed_servers = true;
    return json_equal(listing, stored_listing(agent)) ? 0 : store(agent, listing, err);
}
