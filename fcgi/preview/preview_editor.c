/*
 * Starts the editor of a sandbox on first use: its URL is published before it runs.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/core/wait_slots.h"
#include "fcgi/preview/preview_check.h"
#include "fcgi/preview/preview_origin.h"
#include "fcgi/sandbox/sandbox_locate.h"
#include "fcgi/sandbox/sandbox_request.h"
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
    const struct sandbox_request to_sandbox = {
        .path = "/editor/start", .body = nothing, .timeout_ms = START_MS};
    int rc = 0;

    if (runtime_store_get(request->context->db, runtime_id, &runtime, err) < 0 ||
        sandbox_open(request->context, &runtime, &endpoint, err) < 0 ||
        wait_slot_take(request->context->wait_slots, &request->principal.user_id, err) < 0)
        return -1;
    rc = sandbox_request_send_at(request->context, &to_sandbox, &endpoint, &said, err);
    wait_slot_return(request->context->wait_slots, &request->principal.user_id);
    return rc;
}

void preview_start_editor(const struct request *request, const struct preview_origin *place)
{
    struct error why = ERROR_INIT;

    if (place->port == PREVIEW_EDITOR_PORT && is_page(request) &&
        start(request, place->runtime_id, &why) < 0)
        log_warning("editor.start_failed", LOG_STR("runtime_id", place->runtime_id),
                    LOG_ERROR(&why));
}
