/*
 * Starts the editor of a sandbox on first use: its URL is published before it runs.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "fcgi/context.h"
#include "fcgi/preview/check.h"
#include "fcgi/preview/preview.h"
#include "fcgi/request.h"
#include "fcgi/sandbox_ask.h"
#include "fcgi/sandbox_link.h"
#include "fcgi/waits.h"
#include "model/conversation/preview.h"
#include "store/runtime/runtime_store.h"

enum { START_MS = 90000 };

/* True for the editor's page, not for its resources or WebSockets. */
static bool is_page(const struct request *request)
{
    const char *method = request_param(request, "DEFT_PREVIEW_METHOD");
    const char *target = request_param(request, "DEFT_PREVIEW_TARGET");

    return method != NULL && text_equal(method, "GET") && target != NULL &&
           (text_equal(target, "/") || text_starts_with(target, "/?")) &&
           request_param(request, "HTTP_UPGRADE") == NULL;
}

static int start(const struct request *request, const char *runtime_id, struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    json_auto_t *nothing = json_object();
    json_auto_t *said = NULL;
    const struct sandbox_question question = {
        .path = "/editor/start", .body = nothing, .timeout_ms = START_MS};
    int rc = 0;

    if (runtime_store_get(request->context->db, runtime_id, &runtime, err) < 0 ||
        sandbox_open(request->context, &runtime, &endpoint, err) < 0 ||
        waits_begin(request->context->waits, &request->principal.user_id, err) < 0)
        return -1;
    rc = sandbox_ask_at(request->context, &question, &endpoint, &said, err);
    waits_end(request->context->waits, &request->principal.user_id);
    return rc;
}

void preview_start_editor(const struct request *request, const struct preview_place *place)
{
    struct error why = ERROR_INIT;

    if (place->port == PREVIEW_EDITOR_PORT && is_page(request) &&
        start(request, place->runtime_id, &why) < 0)
        log_warning("editor.not_started", LOG_STR("runtime_id", place->runtime_id),
                    LOG_ERROR(&why));
}
