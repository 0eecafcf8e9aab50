/*
 * The editor of a sandbox, if its image has one: started by a request for its URL, and shown on a
 * preview origin.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/workspace/workspace_path.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/preview/preview_origin.h"
#include "fcgi/sandbox/sandbox_locate.h"
#include "fcgi/sandbox/sandbox_request.h"
#include "model/conversation/preview.h"
#include "store/runtime/runtime_store.h"

enum { START_MS = 90000, STATUS_MS = 5000 };

static const char no_editor[] = "The sandbox's image has no editor";

static bool is_scoped(const struct request *request)
{
    return request_path_text(request, "runtime_conversation_id")[0] != '\0';
}

/* The scoped form needs access to the conversation, and opens its folder. */
static int load_scope(const struct request *request, struct conversation *conversation,
                      struct sandbox_owner *owner, struct error *err)
{
    const char *folder = request_query(request, "workspace_dir");

    *owner = (struct sandbox_owner){&request->principal, NULL};
    if (!is_scoped(request))
        return 0;
    if (agent_load_runtime_conversation(request, conversation, err) < 0)
        return -1;
    owner->conversation = conversation;
    if (folder != NULL && !workspace_path_is_inside(folder, conversation_working_dir(conversation)))
        return error_set(err, ERROR_INVALID,
                         "workspace_dir must be inside the conversation workspace");
    return 0;
}

static const char *folder_of(const struct request *request, const struct sandbox_owner *owner)
{
    const char *folder = request_query(request, "workspace_dir");

    if (folder != NULL && folder[0] == '/')
        return folder;
    return owner->conversation != NULL ? conversation_working_dir(owner->conversation)
                                       : PREVIEW_EDITOR_FOLDER;
}

static int answer_url(const struct request *request, struct reply *reply,
                      const struct sandbox_owner *owner, const json_t *said, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    json_auto_t *answer = json_object();
    const struct preview_editor editor = {.token = json_text_or(said, "token", ""),
                                          .folder = folder_of(request, owner)};

    if (sandbox_load_row(request->context, owner, &runtime, err) < 0)
        return -1;
    preview_append_editor(request, runtime.id, &editor, &url);
    json_put_text(answer, "url", url.text);
    return reply_json(reply, 200, answer);
}

/* GET -> 200 {"url"} when the editor listens | 502 | 503 | 404 | 422 | 429 */
static int url(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *nothing = json_object();
    json_auto_t *said = NULL;
    struct error why = ERROR_INIT;
    struct sandbox_request to_sandbox = {
        .path = "/editor/start", .body = nothing, .timeout_ms = START_MS};

    if (load_scope(request, &conversation, &to_sandbox.owner, err) < 0)
        return -1;
    if (sandbox_request_send(request->context, &to_sandbox, &said, &why) < 0) {
        *err = why;
        return why.code == ERROR_RATE_LIMITED ? -1 : reply_exception(reply, 502, why.message);
    }
    if (!json_is_string(json_object_get(said, "program")))
        return reply_exception(reply, 503, no_editor);
    return answer_url(request, reply, &to_sandbox.owner, said, err);
}

static void put_status(json_t *answer, const json_t *said)
{
    bool has_editor = json_is_string(json_object_get(said, "program"));

    json_put(answer, "running", json_boolean(json_bool_or(said, "running", 0)));
    json_put(answer, "enabled", json_boolean(has_editor));
    if (!has_editor)
        json_put_text(answer, "message", no_editor);
}

/* GET -> 200 {"running","enabled","message"} | 404 | 422; starts nothing */
static int status(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *nothing = json_object();
    json_auto_t *said = NULL;
    json_auto_t *answer = json_object();
    struct error why = ERROR_INIT;
    struct sandbox_request to_sandbox = {
        .path = "/editor/status", .body = nothing, .timeout_ms = STATUS_MS};

    if (load_scope(request, &conversation, &to_sandbox.owner, err) < 0)
        return -1;
    if (sandbox_request_send_running(request->context, &to_sandbox, &said, &why) < 0) {
        json_put(answer, "running", json_false());
        json_put(answer, "enabled", json_false());
        json_put_text(answer, "message", why.message);
    } else {
        put_status(answer, said);
    }
    return reply_json(reply, 200, answer);
}

#define SCOPED "/api/conversations/{runtime_conversation_id}/vscode"

const struct route vscode_routes[] = {
    {HTTP_GET, "/api/vscode/url", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_ITSELF, 0, url},
    {HTTP_GET, "/api/vscode/status", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_ITSELF, 0, status},
    {HTTP_GET, SCOPED "/url", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, 0, url},
    {HTTP_GET, SCOPED "/status", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, 0, status},
    {.handle = NULL},
};
