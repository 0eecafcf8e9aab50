/*
 * The editor of a sandbox: the images have none yet, and these routes say so.
 */
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent.h"
#include "fcgi/agent/workspace_path.h"
#include "fcgi/reply.h"

static const char no_editor[] = "The sandbox's image has no editor";

static bool is_scoped(const struct request *request)
{
    return request_path_text(request, "runtime_conversation_id")[0] != '\0';
}

/* The scoped form is for those who may see the conversation, and for its folder. */
static int check_scope(const struct request *request, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const char *folder = request_query(request, "workspace_dir");

    if (!is_scoped(request))
        return 0;
    if (agent_load_runtime_conversation(request, &conversation, err) < 0)
        return -1;
    if (folder != NULL &&
        !workspace_path_is_inside(folder, conversation_working_dir(&conversation)))
        return error_set(err, ERROR_INVALID,
                         "workspace_dir must be inside the conversation workspace");
    return 0;
}

/* GET -> 503 | 404 | 422 */
static int url(const struct request *request, struct reply *reply, struct error *err)
{
    if (check_scope(request, err) < 0)
        return -1;
    return reply_exception(reply, 503, no_editor);
}

/* GET -> 200 {"running","enabled","message"} | 404 | 422 */
static int status(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *answer = json_object();

    if (check_scope(request, err) < 0)
        return -1;
    json_put(answer, "running", json_false());
    json_put(answer, "enabled", json_false());
    json_put_text(answer, "message", no_editor);
    return reply_json(reply, 200, answer);
}

#define SCOPED "/api/conversations/{runtime_conversation_id}/vscode"

const struct route vscode_routes[] = {
    {HTTP_GET, "/api/vscode/url", ORIGIN_BOTH, ACCESS_CALLER, 0, url},
    {HTTP_GET, "/api/vscode/status", ORIGIN_BOTH, ACCESS_CALLER, 0, status},
    {HTTP_GET, SCOPED "/url", ORIGIN_BOTH, ACCESS_CALLER, 0, url},
    {HTTP_GET, SCOPED "/status", ORIGIN_BOTH, ACCESS_CALLER, 0, status},
    {.handle = NULL},
};
