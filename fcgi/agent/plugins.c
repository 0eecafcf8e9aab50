/*
 * Plugins and sub-agents: those of files are listed; none are installed.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/agent/agent.h"
#include "fcgi/agent/installed.h"
#include "fcgi/agent/project_files.h"
#include "fcgi/reply.h"
#include "fcgi/sandbox_ask.h"
#include "model/shape.h"
#include "model/skill_file.h"

static const struct field request_fields[] = {
    {.name = "load_user", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_project", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_builtin", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "project_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape request_shape = SHAPE(request_fields);

static const struct installed_kind kind = {"Plugin", "plugins", "plugin_name"};

/* POST -> 200 {"plugins":[]} | 422: agents use none yet, so none is offered */
static int list(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *body = NULL;

    if (request_json_shape(request, &request_shape, &body, err) < 0)
        return -1;
    return installed_list(&kind, reply);
}

static int installed(const struct request *request, struct reply *reply, struct error *err)
{
    (void)request;
    (void)err;
    return installed_list(&kind, reply);
}

static int unknown(const struct request *request, struct reply *reply, struct error *err)
{
    (void)reply;
    return installed_unknown(&kind, request, err);
}

/* --- sub-agents --- */

static const char *const agent_names[] = {"*.md", NULL};
static const struct file_place agent_places[] = {
    {".openhands/agents", agent_names, 1, 0},
    {".agents/agents", agent_names, 1, 0},
};

/* The project's definitions win over the user's of the same name. */
static json_t *read_agents(const struct project_question *question, const json_t *files)
{
    json_auto_t *agents = json_object();
    json_t *list = json_array();
    struct project_file file;
    const char *name = NULL;
    json_t *agent = NULL;

    for (size_t i = 0; i < json_array_size(files); i++) {
        if (!project_files_get(question, files, i, &file))
            continue;
        agent = sub_agent_from_file(file.path, file.text, file.is_users ? "user" : "project");
        if (agent != NULL)
            json_put(agents, json_text_or(agent, "name", ""), agent);
    }
    json_object_foreach (agents, name, agent)
        json_push(list, json_incref(agent));
    return list;
}

/* POST -> 200 {"agents"} | 422. There are no built-in ones. */
static int sub_agents(const struct request *request, struct reply *reply, struct error *err)
{
    struct project_question question = {.places = agent_places,
                                        .n_places = ARRAY_SIZE(agent_places)};
    json_auto_t *body = NULL;
    json_auto_t *files = NULL;
    json_auto_t *answer = json_object();

    if (request_json_shape(request, &request_shape, &body, err) < 0)
        return -1;
    question.with_user = json_bool_or(body, "load_user", 1) != 0;
    if (json_bool_or(body, "load_project", 1))
        question.project_dir = json_text_or(body, "project_dir", NULL);
    if (project_files_read(request, &question, &files, err) < 0)
        return sandbox_ask_failed(reply, err);
    json_put(answer, "agents", read_agents(&question, files));
    return reply_json(reply, 200, answer);
}

#define ROUTE(method, pattern, body_max_bytes, handler)                                            \
    {method, pattern, ORIGIN_BOTH, ACCESS_CALLER, body_max_bytes, handler}

const struct route plugin_routes[] = {
    ROUTE(HTTP_POST, "/api/plugins", BODY_SMALL_BYTES, list),
    ROUTE(HTTP_GET, "/api/plugins/marketplace", 0, installed),
    ROUTE(HTTP_GET, "/api/plugins/installed", 0, installed),
    ROUTE(HTTP_GET, "/api/plugins/installed/{plugin_name}", 0, unknown),
    ROUTE(HTTP_PATCH, "/api/plugins/installed/{plugin_name}", BODY_SMALL_BYTES, unknown),
    ROUTE(HTTP_DELETE, "/api/plugins/installed/{plugin_name}", 0, unknown),
    ROUTE(HTTP_POST, "/api/plugins/installed/{plugin_name}/refresh", BODY_SMALL_BYTES, unknown),
    ROUTE(HTTP_POST, "/api/sub-agents", BODY_SMALL_BYTES, sub_agents),
    {.handle = NULL},
};
