#include "runtime/service.h"

#include "runtime/backend.h"

int service_check(struct service *service, struct error *err)
{
    struct error rules = ERROR_INIT;

    lock_take(&service->lock);
    rules = service->rules_state;
    lock_release(&service->lock);
    if (rules.code != ERROR_NONE)
        return error_set(err, ERROR_UNAVAILABLE, "sandboxes cannot be confined: %.180s",
                         rules.message);
    return service->backend->functions->check(service->backend, err);
}

void service_set_rules_state(struct service *service, const struct error *state)
{
    lock_take(&service->lock);
    service->rules_state = *state;
    lock_release(&service->lock);
}
