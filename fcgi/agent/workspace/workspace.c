/*
 * Files of a conversation's workspace, served for display in a browser. They are untrusted: their
 * scripts run in a separate origin, without access to keys and cookies.
 */
#include "base/encode.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/workspace/workspace_path.h"
#include "fcgi/core/reply.h"
#include "fcgi/sandbox/sandbox_proxy.h"

static const char content_policy[] =
    "sandbox allow-scripts allow-forms allow-popups allow-downloads; object-src 'none'; "
    "base-uri 'self'; form-action 'none'; frame-ancestors 'self'";

/* GET -> 200 bytes | 206 | 400 outside | 404 */
static int workspace_file(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf query = STRBUF_INIT;
    struct sandbox_call call = {.owner = {&request->principal, &conversation},
                                .path = "/files/shown"};

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0)
        return -1;
    call.inside = conversation_working_dir(&conversation);
    strbuf_appendf(&path, "%s/%s", call.inside, request_path_text(request, "file_path"));
    if (!workspace_path_is_inside(path.text, call.inside))
        return reply_detail(reply, 400, "Path is outside the workspace");
    strbuf_append(&query, "file=");
    percent_append(&query, path.text);
    call.query = query.text;
    reply->content_policy = content_policy;
    return sandbox_proxy(request, reply, &call, err);
}

#define WORKSPACE "/api/conversations/{conversation_id}/workspace"

const struct route workspace_routes[] = {
    {HTTP_GET, WORKSPACE, ORIGIN_BOTH, ACCESS_WORKSPACE, SANDBOX_READS, 0, workspace_file},
    {HTTP_GET, WORKSPACE "/{file_path*}", ORIGIN_BOTH, ACCESS_WORKSPACE, SANDBOX_READS, 0,
     workspace_file},
    {.handle = NULL},
};
