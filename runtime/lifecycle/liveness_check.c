#include "runtime/lifecycle/liveness_check.h"

#include "base/error.h"
#include "base/log.h"
#include "client/sandbox_call.h"
#include "runtime/core/runtime_record.h"
#include "runtime/core/service.h"
#include "runtime/lifecycle/lifecycle.h"
#include "store/runtime/runtime_store.h"

#define ALIVE_TIMEOUT_MS 5000
#define TRIES 2
#define HUNG_TEXT "The sandbox's server stopped responding, and the sandbox was killed."

/* Whether the sandbox's server responds; logs why not. */
static bool server_responds(struct service *service, const struct runtime *runtime)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    struct error err = ERROR_INIT;

    if (runtime_record_open_endpoint(runtime, &service->keyring, &endpoint, &err) < 0) {
        log_warning("sandbox.check_skipped", LOG_STR("runtime_id", runtime->id), LOG_ERROR(&err));
        return true;
    }
    for (int i = 0; i < TRIES; i++) {
        if (sandbox_check_alive(service->http, &endpoint, ALIVE_TIMEOUT_MS, &err) == 0)
            return true;
    }
    log_warning("sandbox.unresponsive", LOG_STR("runtime_id", runtime->id), LOG_ERROR(&err));
    return false;
}

int liveness_check_settle(struct service *service, const char *session_id, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get_session(service->db, session_id, &runtime, err) < 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    if (runtime.status != RUNTIME_RUNNING || runtime.url == NULL || runtime.container_id == NULL ||
        server_responds(service, &runtime))
        return 0;
    return lifecycle_record_loss(service, runtime.id, runtime.container_id, HUNG_TEXT, err);
}
