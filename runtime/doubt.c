#include "runtime/doubt.h"

#include "base/error.h"
#include "base/log.h"
#include "client/runtime_api.h"
#include "runtime/life.h"
#include "runtime/service.h"
#include "store/runtime_store.h"

#define ALIVE_TIMEOUT_MS 5000
#define TRIES 2
#define HUNG_TEXT "The sandbox did not answer any more, and was ended."

static bool answers(struct service *service, const struct runtime *runtime)
{
    struct error err = ERROR_INIT;

    for (int i = 0; i < TRIES; i++) {
        if (sandbox_check_alive(service->http, runtime->url, ALIVE_TIMEOUT_MS, &err) == 0)
            return true;
    }
    log_warning("sandbox.silent", LOG_STR("runtime_id", runtime->id), LOG_ERROR(&err));
    return false;
}

int doubt_settle(struct service *service, const char *session_id, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get_session(service->db, session_id, &runtime, err) < 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    if (runtime.status != RUNTIME_RUNNING || runtime.url == NULL || runtime.container_id == NULL ||
        answers(service, &runtime))
        return 0;
    return life_lose(service, runtime.id, runtime.container_id, HUNG_TEXT, err);
}
