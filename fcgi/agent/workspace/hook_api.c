/*
 * The hooks in a project's file, or else in the user's.
 */
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/workspace/project_files.h"
#include "fcgi/core/reply.h"
#include "fcgi/sandbox/sandbox_request.h"
#include "model/agent/hooks.h"
#include "model/plugins/project_files.h"
#include "model/schema/object_schema.h"

static const struct field request_fields[] = {
    {.name = "project_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema request_schema = SCHEMA(request_fields);

static const char *const names[] = {"hooks.json", NULL};
static const struct file_place places[] = {{".openhands", names, 1, 0, false}};

/* The last file takes precedence. */
static int read_config(const struct request *request, const char *project_dir, json_t **config_out,
                       struct error *err)
{
    const struct project_question question = {
        .places = places, .n_places = 1, .project_dir = project_dir, .with_user = true};
    json_auto_t *files = NULL;
    struct project_file file;

    if (project_files_read(request, &question, &files, err) < 0)
        return -1;
    *config_out = json_null();
    if (json_array_size(files) == 0 ||
        !project_files_get(&question, files, json_array_size(files) - 1, &file))
        return 0;
    if (hooks_read(file.text, config_out, err) < 0)
        return error_wrap(err, "%s", file.path);
    return 0;
}

/* POST {"project_dir"} -> 200 {"hook_config": HookConfig or null} | 422 */
static int hooks(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *body = NULL;
    json_auto_t *answer = json_object();
    json_t *config = json_null();
    const char *project_dir = NULL;

    if (request_json_schema(request, &request_schema, &body, err) < 0)
        return -1;
    project_dir = json_text_or(body, "project_dir", NULL);
    if (project_dir != NULL && read_config(request, project_dir, &config, err) < 0)
        return sandbox_request_failed(reply, err);
    json_put(answer, "hook_config", config);
    return reply_json(reply, 200, answer);
}

const struct route hook_routes[] = {
    {HTTP_POST, "/api/hooks", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, BODY_SMALL_BYTES, hooks},
    {.handle = NULL},
};
