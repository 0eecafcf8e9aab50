#include "runtime/service.h"

#include "runtime/backend.h"

#define BYTES_PER_MB 1000000

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

int service_check_room(struct service *service, struct error *err)
{
    const int64_t wanted_bytes = service->settings->free_bytes;
    struct error unseen = ERROR_INIT;
    int64_t free_bytes = 0;

    if (wanted_bytes == 0 ||
        service->backend->functions->room(service->backend, &free_bytes, &unseen) < 0 ||
        free_bytes >= wanted_bytes)
        return 0;
    return error_set(err, ERROR_UNAVAILABLE,
                     "the host's disk has %lld MB free, and %lld MB are to stay free"
                     " (DEFT_SANDBOX_FREE_BYTES): delete conversations, or images and volumes that"
                     " nobody needs (docker system df)",
                     (long long)(free_bytes / BYTES_PER_MB),
                     (long long)(wanted_bytes / BYTES_PER_MB));
}

void service_set_rules_state(struct service *service, const struct error *state)
{
    lock_take(&service->lock);
    service->rules_state = *state;
    lock_release(&service->lock);
}
