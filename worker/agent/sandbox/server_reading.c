#include "worker/agent/sandbox/server_reading.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "model/event/event.h"
#include "model/plugins/project_files.h"
#include "model/tools/project_servers.h"
#include "store/conversation/conversation_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/agent_row.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/sandbox/sandbox.h"

enum { READ_MS = 10000 };

/* --- what was found --- */

static void show(const struct agent *agent, json_t *found)
{
    const char *name = NULL;
    json_t *entry = NULL;

    json_object_foreach (found, name, entry) {
        json_auto_t *shown = project_servers_show(name, entry);

        json_put(entry, "shown", secret_list_mask_json(&agent->secrets, shown));
    }
}

void server_reading_take(struct agent *agent, json_t *found, struct event_list *events)
{
    json_t *spec = agent->conversation.spec;
    json_auto_t *value = NULL;

    agent->has_read_servers = true;
    if (project_servers_are(spec, found))
        return;
    show(agent, found);
    project_servers_set(spec, found);
    value = project_servers_event_value(spec);
    event_add_state(events, PROJECT_SERVERS_KEY, value);
}

/* --- reading again --- */

static int store_once(struct agent *agent, json_t *found, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write change = {.spec = NULL};

    /* The specification is written whole, so it must be the newest. */
    agent->is_row_stale = true;
    if (event_writer_refresh_row(agent, err) < 0)
        return -1;
    server_reading_take(agent, found, &events);
    if (events.n == 0)
        return 0;
    change.spec = agent->conversation.spec;
    return event_writer_append_once(agent, &events, &change, err);
}

static int store(struct agent *agent, json_t *found, struct error *err)
{
    int rc = 0;

    do
        rc = store_once(agent, found, err);
    while (rc < 0 && err->code == ERROR_CONFLICT);
    return rc;
}

static int read_again(struct agent *agent, json_t **found_out, struct error *err)
{
    json_auto_t *body = project_servers_request(&agent->conversation);
    json_auto_t *reply = NULL;
    const struct sandbox_order order = {
        .path = PROJECT_FILES_PATH, .content = body, .timeout_ms = READ_MS};

    if (sandbox_ask(agent->sandbox, &order, &reply, err) < 0)
        return -1;
    *found_out = project_servers_find(&agent->conversation, reply);
    return 0;
}

int server_reading_settle(struct agent *agent, struct error *err)
{
    json_auto_t *found = NULL;
    struct error failure = ERROR_INIT;

    if (agent->has_read_servers || agent->sandbox == NULL ||
        !project_servers_were_found(agent->conversation.spec))
        return 0;
    agent->has_read_servers = true;
    if (read_again(agent, &found, &failure) == 0)
        return project_servers_are(agent->conversation.spec, found) ? 0 : store(agent, found, err);
    if (failure.code == ERROR_CANCELLED) {
        *err = failure;
        return -1;
    }
    log_warning("project.servers_not_read", LOG_ERROR(&failure));
    return 0;
}
