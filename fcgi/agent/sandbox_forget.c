#include "fcgi/agent/sandbox_forget.h"

#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/runtime_api.h"
#include "fcgi/context.h"
#include "fcgi/request.h"
#include "fcgi/sandbox_link.h"
#include "model/conversation.h"

/* The client waits for it: a sandbox that is slower is told by its idle clock. */
enum { FORGET_MS = 1000 };

static int tell(const struct request *request, const struct conversation *conversation,
                struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    const struct sandbox_owner owner = {&request->principal, conversation};
    struct http_header headers[2] = {{NULL, NULL}, {NULL, NULL}};

    if (sandbox_find(request->context, &owner, &endpoint, err) < 0)
        return -1;
    headers[0] = (struct http_header){"X-Session-API-Key", secret_reveal(&endpoint.key)};
    strbuf_appendf(&url, "%s/conversations/%s", endpoint.url, conversation->id.text);
    if (http_start(request->context->http,
                   &(struct http_request){.method = "DELETE",
                                          .url = url.text,
                                          .headers = headers,
                                          .timeout_ms = FORGET_MS,
                                          .allow_private = true},
                   &call, err) < 0)
        return -1;
    return http_wait(call, err);
}

void sandbox_forget(const struct request *request, const struct conversation *conversation)
{
    struct error err = ERROR_INIT;

    /* A sandbox of its own goes whole. */
    if (conversation->runtime_kind == RUNTIME_DOCKER)
        return;
    if (tell(request, conversation, &err) < 0 && err.code != ERROR_NOT_FOUND)
        log_warning("sandbox.forget_failed", LOG_ERROR(&err));
}
