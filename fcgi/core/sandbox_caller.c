#include "fcgi/core/sandbox_caller.h"

#include <stdbool.h>
#include <stddef.h>

#include "auth/principal.h"
#include "base/error.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "store/runtime/runtime_store.h"

static const char *judge(const struct runtime *runtime)
{
    if (runtime->status != RUNTIME_RUNNING || runtime->desired != DESIRED_RUNNING)
        return "Sandbox is not running";
    return NULL;
}

int sandbox_caller_identify(struct request *request, const char **why_out, struct error *err)
{
    const struct fcgi_context *context = request->context;
    const char *key = request_param(request, "HTTP_X_SESSION_API_KEY");
    struct principal *principal = &request->principal;
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    *why_out = "X-Session-API-Key header is required";
    if (key == NULL)
        return 0;
    *why_out = "Invalid session API key";
    if (principal_from_key(context->db, &context->keyring, key, principal, err) < 0) {
        if (err->code != ERROR_UNAUTHENTICATED)
            return -1;
        error_ignore(request_refuse_key(request, err), "the reply shows the current state");
        return err->code == ERROR_UNAUTHENTICATED ? 0 : -1;
    }
    if (principal->kind != PRINCIPAL_SANDBOX_KEY)
        return 0;
    if (runtime_store_get(context->db, principal->runtime_id, &runtime, err) < 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    *why_out = judge(&runtime);
    return 0;
}
