#include "fcgi/agent/workspace/sandbox_notify.h"

#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/runtime_api.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/sandbox/sandbox_locate.h"
#include "model/conversation/conversation.h"

/* The client waits during the call. */
enum { TELL_MS = 1000 };

/* Calls "/conversations/<id><rest>" of a running sandbox; a paused one is not resumed. */
static int notify_sandbox(const struct request *request, const struct conversation *conversation,
                          const char *method, const char *rest, struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    const struct sandbox_owner owner = {&request->principal, conversation};

    if (sandbox_find(request->context, &owner, &endpoint, err) < 0)
        return -1;
    strbuf_appendf(&path, "/conversations/%s%s", conversation->id.text, rest);
    if (sandbox_call_start(
            request->context->http, &endpoint,
            &(struct http_request){.method = method, .url = path.text, .timeout_ms = TELL_MS},
            &call, err) < 0)
        return -1;
    return http_wait(call, err);
}

static void try_tell(const struct request *request, const struct conversation *conversation,
                     const char *method, const char *rest)
{
    struct error err = ERROR_INIT;

    if (notify_sandbox(request, conversation, method, rest, &err) < 0 &&
        err.code != ERROR_NOT_FOUND)
        log_warning("sandbox.notify_failed", LOG_STR("method", method), LOG_ERROR(&err));
}

void sandbox_notify_deleted(const struct request *request, const struct conversation *conversation)
{
    if (conversation->runtime_kind == RUNTIME_LOCAL)
        try_tell(request, conversation, "DELETE", "");
}

void sandbox_notify_interrupted(const struct request *request,
                                const struct conversation *conversation)
{
    try_tell(request, conversation, "POST", "/interrupt");
}
