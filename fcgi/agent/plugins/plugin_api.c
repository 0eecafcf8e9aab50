/*
 * Plugins and sub-agents: from files in the sandbox, and the plugins that the user has installed.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/plugins/installed.h"
#include "fcgi/agent/plugins/installed_kind.h"
#include "fcgi/agent/workspace/project_files.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/sandbox/sandbox_request.h"
#include "model/plugins/plugin_folder.h"
#include "model/plugins/project_files.h"
#include "model/plugins/skill_file.h"
#include "model/schema/object_schema.h"
#include "model/tools/sub_agents.h"

static const struct field request_fields[] = {
    {.name = "load_user", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_project", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_builtin", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "project_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema request_schema = SCHEMA(request_fields);

/* --- plugins of files --- */

static const char *const any_names[] = {"*", NULL};
static const struct file_place plugin_places[] = {
    {".openhands/plugins", any_names, 4, 0, false},
    {".agents/plugins", any_names, 4, 0, false},
};

/* Length of the path of the plugin folder that contains the file; 0 when the file is not in one. */
static size_t plugin_folder_length(const struct project_file *file)
{
    const char *sub = strstr(file->path, file->place->sub);
    const char *name = sub != NULL ? sub + strlen(file->place->sub) + 1 : NULL;
    const char *end = name != NULL ? strchr(name, '/') : NULL;

    return end != NULL ? (size_t)(end - file->path) : 0;
}

/* Groups files by plugin folder, in the form of a package's files. */
static json_t *group_files(const struct project_question *question, const json_t *files)
{
    json_t *folders = json_object();
    struct project_file file;

    for (size_t i = 0; i < json_array_size(files); i++) {
        CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
        json_t *one = NULL;

        if (!project_files_get(question, files, i, &file) || plugin_folder_length(&file) == 0)
            continue;
        strbuf_append_bytes(&folder, file.path, plugin_folder_length(&file));
        one = json_object();
        json_put_text(one, "path", file.path + folder.len + 1);
        json_put_text(one, "text", file.text);
        if (json_object_get(folders, folder.text) == NULL)
            json_put(folders, folder.text, json_array());
        json_push(json_object_get(folders, folder.text), one);
    }
    return folders;
}

/*
 * A folder without a manifest is not a plugin; a later plugin replaces an earlier one of the same
 * name.
 */
static void add_plugins(json_t *folders, json_t *plugins)
{
    const char *path = NULL;
    json_t *files = NULL;

    json_object_foreach (folders, path, files) {
        const struct plugin_folder folder = {path, files};
        struct error ignored = ERROR_INIT;
        json_auto_t *package = NULL;
        json_t *plugin = NULL;

        if (plugin_folder_read_plugin(&folder, &package, &ignored) < 0)
            continue;
        plugin = json_object();
        json_put_text(plugin, "name", json_text_or(package, "name", ""));
        json_put_text(plugin, "version", json_text_or(package, "version", ""));
        json_put_text(plugin, "description", json_text_or(package, "description", ""));
        json_put_text(plugin, "path", path);
        json_put(plugin, "skills", installed_summaries(json_object_get(package, "skills")));
        json_put(plugin, "files", json_incref(json_object_get(package, "files")));
        json_put(plugins, json_text_or(package, "name", ""), plugin);
    }
}

static json_t *values_of(json_t *object)
{
    json_t *list = json_array();
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (object, name, value)
        json_push(list, json_incref(value));
    return list;
}

static int add_installed(const struct request *request, json_t *plugins, struct error *err)
{
    json_auto_t *installed = NULL;
    json_t *plugin = NULL;
    size_t i = 0;

    if (installed_plugins(request, &installed, err) < 0)
        return -1;
    json_array_foreach (installed, i, plugin)
        json_put(plugins, json_text_or(plugin, "name", ""), json_incref(plugin));
    return 0;
}

/* POST {"load_user","load_project","project_dir"} -> 200 {"plugins"} | 422 */
static int list(const struct request *request, struct reply *reply, struct error *err)
{
    struct project_question question = {.places = plugin_places,
                                        .n_places = ARRAY_SIZE(plugin_places)};
    json_auto_t *body = NULL;
    json_auto_t *files = NULL;
    json_auto_t *folders = NULL;
    json_auto_t *plugins = json_object();
    json_auto_t *answer = json_object();

    if (request_json_schema(request, &request_schema, &body, err) < 0)
        return -1;
    question.with_user = json_bool_or(body, "load_user", 1) != 0;
    if (json_bool_or(body, "load_project", 1))
        question.project_dir = json_text_or(body, "project_dir", NULL);
    if (question.with_user && add_installed(request, plugins, err) < 0)
        return -1;
    if (project_files_read(request, &question, &files, err) < 0)
        return sandbox_request_failed(reply, err);
    folders = group_files(&question, files);
    add_plugins(folders, plugins);
    json_put(answer, "plugins", values_of(plugins));
    return reply_json(reply, 200, answer);
}

/* GET -> 200 {"plugins":[]}: deft has no marketplace */
static int marketplace(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *answer = json_object();

    (void)request;
    (void)err;
    json_put(answer, "plugins", json_array());
    return reply_json(reply, 200, answer);
}

/* --- sub-agents --- */

static const char *const agent_names[] = {"*.md", NULL};
static const struct file_place agent_places[] = {
    {".openhands/agents", agent_names, 1, 0, false},
    {".agents/agents", agent_names, 1, 0, false},
};

/*
 * The project's definitions replace the user's of the same name, and both replace those in
 * `agents`.
 */
static json_t *read_agents(const struct project_question *question, const json_t *files,
                           json_t *agents)
{
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

/* deft's built-in sub-agents, by name. */
static json_t *builtin_agents(const struct request *request)
{
    json_auto_t *list = sub_agents_builtin(request->context->catalogue,
                                           request->context->settings->sandbox_browser != 0
                                               ? SANDBOX_WITH_BROWSER
                                               : SANDBOX_WITHOUT_BROWSER);
    json_t *agents = json_object();
    json_t *agent = NULL;
    size_t i = 0;

    json_array_foreach (list, i, agent)
        json_put(agents, json_text_or(agent, "name", ""), json_incref(agent));
    return agents;
}

/* POST -> 200 {"agents"} | 422 */
static int sub_agents(const struct request *request, struct reply *reply, struct error *err)
{
    struct project_question question = {.places = agent_places,
                                        .n_places = ARRAY_SIZE(agent_places)};
    json_auto_t *body = NULL;
    json_auto_t *files = NULL;
    json_auto_t *agents = NULL;
    json_auto_t *answer = json_object();

    if (request_json_schema(request, &request_schema, &body, err) < 0)
        return -1;
    question.with_user = json_bool_or(body, "load_user", 1) != 0;
    if (json_bool_or(body, "load_project", 1))
        question.project_dir = json_text_or(body, "project_dir", NULL);
    if (project_files_read(request, &question, &files, err) < 0)
        return sandbox_request_failed(reply, err);
    agents = json_bool_or(body, "load_builtin", 1) != 0 ? builtin_agents(request) : json_object();
    json_put(answer, "agents", read_agents(&question, files, agents));
    return reply_json(reply, 200, answer);
}

#define ROUTE(method, pattern, body_max_bytes, handler)                                            \
    {method, pattern, ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED, body_max_bytes, handler}

const struct route plugin_routes[] = {
    ROUTE(HTTP_POST, "/api/plugins", BODY_SMALL_BYTES, list),
    ROUTE(HTTP_GET, "/api/plugins/marketplace", 0, marketplace),
    ROUTE(HTTP_POST, "/api/sub-agents", BODY_SMALL_BYTES, sub_agents),
    {.handle = NULL},
};
