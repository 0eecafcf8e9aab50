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

/* What the model has read once does not change. */
static bool is_due(const struct agent *agent)
{
    return agent->sandbox != NULL && !agent->has_read_project &&
           conversation_wants_knowledge(&agent->conversation) &&
           !history_has_answer(&agent->history) && history_find_knowledge(&agent->history) == NULL;
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

/* Messages that came before the knowledge could not activate its skills. */
static void add_messages(const struct agent *agent, struct project_knowledge *knowledge)
{
    for (size_t i = 0; i < agent->history.n; i++) {
        const struct stored_event *event = &agent->history.items[i];
        const json_t *message = json_object_get(stored_event_json(event), "llm_message");

        if (stored_event_is_message(event, "user"))
            project_knowledge_add_message(knowledge, agent->context->catalogue,
                                          &agent->conversation, event->id.text,
                                          json_object_get(message, "content"));
    }
}

static void change_spec(json_t *spec, const struct project_knowledge *knowledge)
{
    json_t *activated = json_object_get(spec, "activated_knowledge_skills");

    if (!json_is_array(activated)) {
        activated = json_array();
        json_put(spec, "activated_knowledge_skills", activated);
    }
    json_array_extend(activated, knowledge->activated);
    json_put(spec, PROJECT_SKILLS, json_incref(knowledge->skills));
    if (knowledge->hooks != NULL)
        json_put(spec, "hook_config", json_incref(knowledge->hooks));
}

static int store_once(struct agent *agent, const struct project_sources *sources, struct error *err)
{
    CLEANUP(project_knowledge_done) struct project_knowledge knowledge = PROJECT_KNOWLEDGE_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write change = {.spec = NULL};

    /* The specification is written whole, so it must be the newest. */
    agent->is_row_stale = true;
    if (event_writer_refresh_row(agent, err) < 0)
        return -1;
    project_knowledge_read(agent->context->catalogue, &agent->conversation, sources, &knowledge);
    mask_skills(agent, knowledge.skills);
    add_messages(agent, &knowledge);
    change_spec(agent->conversation.spec, &knowledge);
    change.spec = agent->conversation.spec;
    event_add_state(&events, PROJECT_KNOWLEDGE_KEY, knowledge.value);
    server_reading_take(agent, knowledge.servers, &events);
    if (knowledge.hooks != NULL)
        event_add_state(&events, "hook_config", knowledge.hooks);
    return event_writer_append_once(agent, &events, &change, err);
}

static int store(struct agent *agent, const json_t *reply, struct error *err)
{
    json_auto_t *installed = json_array();
    const struct project_sources sources = {.reply = reply, .installed = installed};
    int rc = 0;

    read_installed(agent, installed);
    do
        rc = store_once(agent, &sources, err);
    while (rc < 0 && err->code == ERROR_CONFLICT);
    if (rc == 0)
        agent_renew_tools(agent);
    if (rc == 0 || err->code != ERROR_TOO_LARGE)
        return rc;
    log_warning("project.not_stored", LOG_ERROR(err));
    /* The change of the specification was not stored either. */
    agent->is_row_stale = true;
    return 0;
}

int project_reading_settle(struct agent *agent, struct error *err)
{
    json_auto_t *reply = NULL;
    struct error failure = ERROR_INIT;

    if (!is_due(agent))
        return 0;
    if (read_files(agent, &reply, &failure) < 0) {
        if (failure.code == ERROR_CANCELLED) {
            *err = failure;
            return -1;
        }
        agent->has_read_project = true;
        log_warning("project.not_read", LOG_ERROR(&failure));
        return 0;
    }
    agent->has_read_project = true;
    return store(agent, reply, err);
}
