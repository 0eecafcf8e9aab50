#include "worker/agent/sandbox/project_reading.h"

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/event.h"
#include "model/plugins/project_files.h"
#include "model/prompt/knowledge_change.h"
#include "model/prompt/knowledge_request.h"
#include "model/prompt/project_knowledge.h"
#include "model/prompt/skills.h"
#include "start/installed_skills.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/agent_row.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/agent/sandbox/server_reading.h"
#include "worker/context.h"

enum { READ_MS = 10000 };

/* A reading: what it is for, and what it found. */
struct workspace_reading {
    int64_t n_requests;                    /* by clients, when it began */
    int64_t hook_request_seq;              /* of the newest one of a hook; 0: there is none */
    const struct project_sources *sources; /* NULL: there is nothing to read, or to be stored */
};

static bool can_read(const struct agent *agent)
{
    return agent->sandbox != NULL && conversation_wants_knowledge(&agent->conversation);
}

static bool is_requested(const struct workspace_reading *reading)
{
    return reading->n_requests > 0 || reading->hook_request_seq > 0;
}

/* A copy of the log begins without requests. */
static int64_t hook_request_seq(const struct agent *agent)
{
    size_t i = history_find_hook_request(&agent->history);

    if (i == agent->history.n ||
        agent->history.items[i].seq <= conversation_n_copied(&agent->conversation))
        return 0;
    return agent->history.items[i].seq;
}

/* What the model has read once does not change unless a client or a hook asks for that. */
static bool is_due(const struct agent *agent)
{
    int64_t n_requests = knowledge_request_count(agent->conversation.spec);

    if (hook_request_seq(agent) > agent->tried_request_seq)
        return true;
    if (n_requests > 0)
        return n_requests > agent->n_tried_requests;
    return can_read(agent) && !agent->has_read_project && !history_has_answer(&agent->history) &&
           history_find_knowledge(&agent->history) == NULL;
}

/* Requests are in the row. */
static int look_for_requests(struct agent *agent, struct error *err)
{
    if (!agent->has_new_request)
        return 0;
    agent->is_row_stale = true;
    if (event_writer_refresh_row(agent, err) < 0)
        return -1;
    agent->has_new_request = false;
    return 0;
}

/* --- reading --- */

static int read_files(struct agent *agent, json_t **reply_out, struct error *err)
{
    json_auto_t *body = project_knowledge_request(&agent->conversation);
    const struct sandbox_order order = {
        .path = PROJECT_FILES_PATH, .content = body, .timeout_ms = READ_MS};

    return sandbox_ask(agent->sandbox, &order, reply_out, err);
}

static void read_installed(const struct agent *agent, json_t *skills)
{
    const struct conversation *conversation = &agent->conversation;
    const json_t *context = json_object_get(conversation_agent(conversation), "agent_context");
    const struct document_scope scope = {.db = agent->context->db,
                                         .keyring = &agent->context->keyring,
                                         .user_id = conversation->user_id};
    struct error err = ERROR_INIT;

    /* The user's own data is not for an agent that a sandbox's key started. */
    if (json_bool_or(context, "load_user_skills", 0) == 0 ||
        conversation_is_sandbox_clients(conversation))
        return;
    if (installed_skills_add(&scope, COLLECTION_INSTALLED_SKILLS, skills, &err) < 0)
        log_warning("project.skills_not_read", LOG_ERROR(&err));
}

/* --- storing --- */

static void mask_skills(const struct agent *agent, json_t *skills)
{
    json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (skills, i, skill) {
        CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;
        const char *content = json_text_or(skill, "content", NULL);

        if (content == NULL)
            continue;
        secret_list_mask_text(&agent->secrets, content, &masked);
        json_put(skill, "content", json_text(masked.text, masked.len));
    }
}

/* Messages that came before the knowledge could not activate its skills. Those that the model has
 * answered stay as it has read them. */
static void add_messages(const struct agent *agent, struct project_knowledge *knowledge)
{
    for (size_t i = history_index_after_answer(&agent->history); i < agent->history.n; i++) {
        const struct stored_event *event = &agent->history.items[i];
        const json_t *message = json_object_get(stored_event_json(event), "llm_message");

        if (stored_event_is_message(event, "user") && !event->is_forgotten)
            project_knowledge_add_message(knowledge, agent->context->catalogue,
                                          &agent->conversation, event->id.text,
                                          json_object_get(message, "content"));
    }
}

/* Skills that are others now can be activated again. */
static void forget_changed(struct agent *agent, const struct project_knowledge *knowledge)
{
    const json_t *before = json_object_get(agent->conversation.spec, PROJECT_SKILLS);

    knowledge_change_forget(json_object_get(agent->conversation.spec, "activated_knowledge_skills"),
                            before, knowledge->skills);
    knowledge_change_forget(
        json_object_get(agent->conversation.agent_state, AGENT_STATE_PATH_RULES), before,
        knowledge->skills);
}

static void put_skills(json_t *spec, const struct project_knowledge *knowledge)
{
    json_t *activated = json_object_get(spec, "activated_knowledge_skills");

    if (!json_is_array(activated)) {
        activated = json_array();
        json_put(spec, "activated_knowledge_skills", activated);
    }
    json_array_extend(activated, knowledge->activated);
    json_put(spec, PROJECT_SKILLS, json_incref(knowledge->skills));
}

/* Puts what was found into the specification, and into events. */
static void take_found(struct agent *agent, const struct project_sources *sources,
                       struct event_list *events)
{
    CLEANUP(project_knowledge_done) struct project_knowledge knowledge = PROJECT_KNOWLEDGE_INIT;
    json_t *spec = agent->conversation.spec;

    project_knowledge_read(agent->context->catalogue, &agent->conversation, sources, &knowledge);
    mask_skills(agent, knowledge.skills);
    forget_changed(agent, &knowledge);
    add_messages(agent, &knowledge);
    put_skills(spec, &knowledge);
    event_add_state(events, PROJECT_KNOWLEDGE_KEY, knowledge.value);
    server_reading_take(agent, knowledge.servers, events);
    if (knowledge_change_hooks(spec, knowledge.hooks))
        event_add_state(events, "hook_config", json_object_get(spec, "hook_config"));
}

/* Ends the requests that the reading is for. The tools of MCP servers are listed anew then. */
static void end_requests(struct agent *agent, const struct workspace_reading *reading)
{
    if (!is_requested(reading))
        return;
    knowledge_request_end(agent->conversation.spec, reading->n_requests);
    (void)json_object_del(agent->conversation.spec, MCP_LISTING);
}

static int store_once(struct agent *agent, const struct workspace_reading *reading,
                      struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *settled = knowledge_request_event_value(false);
    struct conversation_write change = {.spec = NULL};

    /* The specification is written whole, so it must be the newest. */
    agent->is_row_stale = true;
    if (event_writer_refresh_row(agent, err) < 0)
        return -1;
    if (reading->sources != NULL)
        take_found(agent, reading->sources, &events);
    else
        /* Its number keeps another writer's specification from being overwritten. */
        event_add_state(&events, PROJECT_KNOWLEDGE_KEY, settled);
    end_requests(agent, reading);
    change.spec = agent->conversation.spec;
    /* Only another reading finds rules that the model has read. */
    if (is_requested(reading))
        change.agent_state = agent->conversation.agent_state;
    return event_writer_append_once(agent, &events, &change, err);
}

static int store_reading(struct agent *agent, const struct workspace_reading *reading,
                         struct error *err)
{
    int rc = 0;

    do
        rc = store_once(agent, reading, err);
    while (rc < 0 && err->code == ERROR_CONFLICT);
    if (rc < 0)
        return -1;
    agent->n_tried_requests = 0;
    if (is_requested(reading))
        agent->has_listed_servers = false;
    agent_renew_tools(agent);
    return 0;
}

static int store(struct agent *agent, const struct workspace_reading *reading, struct error *err)
{
    const struct workspace_reading nothing = {.n_requests = reading->n_requests,
                                              .hook_request_seq = reading->hook_request_seq};

    if (store_reading(agent, reading, err) == 0)
        return 0;
    if (err->code != ERROR_TOO_LARGE)
        return -1;
    log_warning("project.not_stored", LOG_ERROR(err));
    /* The change of the specification was not stored either. */
    agent->is_row_stale = true;
    return is_requested(reading) ? store_reading(agent, &nothing, err) : 0;
}

/* A request that could not be fulfilled stays for the next run. */
static int read_project(struct agent *agent, struct error *err)
{
    json_auto_t *reply = NULL;
    json_auto_t *installed = json_array();
    struct project_sources sources = {.installed = installed};
    struct workspace_reading reading = {.n_requests =
                                            knowledge_request_count(agent->conversation.spec),
                                        .hook_request_seq = hook_request_seq(agent)};
    struct error failure = ERROR_INIT;

    if (!can_read(agent))
        return store(agent, &reading, err);
    if (read_files(agent, &reply, &failure) < 0) {
        if (failure.code == ERROR_CANCELLED) {
            *err = failure;
            return -1;
        }
        agent->has_read_project = true;
        agent->n_tried_requests = reading.n_requests;
        agent->tried_request_seq = reading.hook_request_seq;
        log_warning("project.not_read", LOG_ERROR(&failure));
        return 0;
    }
    agent->has_read_project = true;
    read_installed(agent, installed);
    sources.reply = reply;
    reading.sources = &sources;
    return store(agent, &reading, err);
}

int project_reading_settle(struct agent *agent, struct error *err)
{
    if (look_for_requests(agent, err) < 0)
        return -1;
    /* A request may come during a reading. */
    while (is_due(agent)) {
        if (read_project(agent, err) < 0)
            return -1;
    }
    return 0;
}
