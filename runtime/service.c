#include "runtime/service.h"

#include "runtime/backend.h"

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

void service_set_rules_state(struct service *service, const struct error *state)
{
    lock_take(&service->lock);
    service->rules_state = *state;
    lock_release(&service->lock);
}
