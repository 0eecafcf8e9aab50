#include "runtime/core/service.h"

#include "base/text.h"
#include "runtime/backend/backend.h"
#include "runtime/core/runtime_lock.h"
#include "runtime/core/start_queue.h"

#define BYTES_PER_MB 1000000

/* OpenHands calls it "local". */
bool runtime_has_processes(const struct runtime_settings *settings)
{
    return text_equal(settings->backend, "process") || text_equal(settings->backend, "local");
}

int service_check(struct service *service, struct error *err)
{
    bool is_confined = false;

    lock_take(&service->lock);
    is_confined = service->rules_state.code == ERROR_NONE;
    if (!is_confined)
        error_set(err, ERROR_UNAVAILABLE, "sandboxes cannot be confined: %.180s",
                  service->rules_state.message);
    lock_release(&service->lock);
    if (!is_confined)
        return -1;
    return service->backend->functions->check(service->backend, err);
}

static int refuse_bytes(int64_t free_bytes, int64_t wanted_bytes, struct error *err)
{
    return error_set(
        err, ERROR_UNAVAILABLE,
        "the host's disk has %lld MB free, and %lld MB are to stay free (DEFT_SANDBOX_FREE_BYTES): "
        "delete conversations, or unused images and volumes (docker system df)",
        (long long)(free_bytes / BYTES_PER_MB), (long long)(wanted_bytes / BYTES_PER_MB));
}

static int refuse_files(int64_t n_free, int64_t n_wanted, struct error *err)
{
    return error_set(
        err, ERROR_UNAVAILABLE,
        "the host's disk has %lld free inodes, and %lld are to stay free "
        "(DEFT_SANDBOX_FREE_FILES): delete conversations, or unused images and volumes",
        (long long)n_free, (long long)n_wanted);
}

int service_check_space(struct service *service, struct error *err)
{
    const struct runtime_settings *settings = service->settings;
    struct backend_space space = {.free_bytes = 0};
    struct error unseen = ERROR_INIT;

    if (service->backend->functions->space(service->backend, &space, &unseen) < 0)
        return 0;
    if (space.free_bytes < settings->free_bytes)
        return refuse_bytes(space.free_bytes, settings->free_bytes, err);
    if (space.n_free_files < settings->n_free_files)
        return refuse_files(space.n_free_files, settings->n_free_files, err);
    return 0;
}

void service_set_rules_state(struct service *service, const struct error *state)
{
    lock_take(&service->lock);
    service->rules_state = *state;
    lock_release(&service->lock);
}

bool service_is_busy(const struct service *service, const char *id)
{
    return start_queue_has(service->starts, id) || runtime_lock_is_held(service->locks, id);
}
