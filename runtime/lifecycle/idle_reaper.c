#include "runtime/lifecycle/idle_reaper.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "runtime/backend/backend.h"
#include "runtime/core/service.h"
#include "runtime/lifecycle/lifecycle.h"
#include "store/runtime/idle_store.h"
#include "store/runtime/runtime_store.h"

#define MS_PER_S 1000
#define INTERVAL_LEAST_MS 500
#define INTERVAL_MOST_MS 30000
/* Past its session limit, a sandbox is paused once unused for this long, not between commands. */
#define UNUSED_MS 60000

static struct idle_limits limits_of(const struct service *service)
{
    const struct runtime_settings *settings = service->settings;
    struct idle_limits limits = {.idle_ms = settings->idle_s * MS_PER_S,
                                 .up_ms = settings->max_session_s * MS_PER_S,
                                 .held_ms = settings->stop_after_ms,
                                 .dead_ms = settings->dead_s * MS_PER_S,
                                 .unused_ms = UNUSED_MS};

    if (limits.up_ms > 0 && limits.up_ms < limits.unused_ms)
        limits.unused_ms = limits.up_ms;
    if (service->is_disk_low) {
        limits.held_ms = 1;
        if (limits.idle_ms == 0 || limits.idle_ms > UNUSED_MS)
            limits.idle_ms = UNUSED_MS;
    }
    return limits;
}

int64_t idle_reaper_interval_ms(const struct service *service)
{
    const struct idle_limits limits = limits_of(service);
    const int64_t all[] = {limits.idle_ms, limits.up_ms, limits.held_ms, limits.dead_ms};
    int64_t interval_ms = INTERVAL_MOST_MS;

    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        if (all[i] > 0 && all[i] / 10 < interval_ms)
            interval_ms = all[i] / 10;
    }
    if (service->is_disk_low || interval_ms < INTERVAL_LEAST_MS)
        return INTERVAL_LEAST_MS;
    return interval_ms;
}

/* Running programs count as use and restart the idle time. On an error nothing is known. */
static int is_busy(struct service *service, const struct idle_item *item, bool *is_busy_out,
                   struct error *err)
{
    bool is_at_rest = false;

    if (service->backend->functions->is_at_rest(service->backend, item->container_id, &is_at_rest,
                                                err) < 0)
        return -1;
    *is_busy_out = !is_at_rest;
    return is_at_rest ? 0 : runtime_store_touch(service->db, item->id, err);
}

static int pause_runtime(struct service *service, const struct idle_item *item, int64_t unused_ms,
                         struct error *err)
{
    bool is_decided = false;

    if (idle_store_pause(service->db, item->id, unused_ms, &is_decided, err) < 0)
        return -1;
    if (!is_decided)
        return 0;
    log_info("sandbox.idle_paused", LOG_STR("runtime_id", item->id),
             LOG_STR("why", idle_kind_to_string(item->kind)));
    return lifecycle_apply(service, VERB_PAUSE, item->id, err);
}

static int let_idle_rest(struct service *service, const struct idle_item *item, int64_t idle_ms,
                         struct error *err)
{
    bool has_work = false;

    if (is_busy(service, item, &has_work, err) < 0)
        return -1;
    return has_work ? 0 : pause_runtime(service, item, idle_ms, err);
}

static int delete_runtime(struct service *service, const struct idle_item *item, int64_t dead_ms,
                          struct error *err)
{
    bool is_decided = false;

    if (idle_store_delete(service->db, item->id, dead_ms, &is_decided, err) < 0)
        return -1;
    return is_decided ? lifecycle_apply(service, VERB_DELETE, item->id, err) : 0;
}

static int let_rest(struct service *service, const struct idle_limits *limits,
                    const struct idle_item *item, struct error *err)
{
    switch (item->kind) {
    case IDLE_UNUSED:
        return let_idle_rest(service, item, limits->idle_ms, err);
    case IDLE_LONG_UP:
        return pause_runtime(service, item, limits->unused_ms, err);
    case IDLE_HELD:
        return lifecycle_remove_container(service, item->id, err);
    case IDLE_DEAD:
        return delete_runtime(service, item, limits->dead_ms, err);
    case IDLE_N_KINDS:
        break;
    }
    return 0;
}

/* On low disk space, unused sandboxes end early. */
static void look_at_disk(struct service *service)
{
    struct error why = ERROR_INIT;
    bool is_low = service_check_space(service, &why) < 0;

    if (is_low && !service->is_disk_low)
        log_warning("disk.low", LOG_ERROR(&why));
    else if (!is_low && service->is_disk_low)
        log_info("disk.recovered");
    service->is_disk_low = is_low;
}

int idle_reaper_check(struct service *service, struct error *err)
{
    CLEANUP(idle_list_done) struct idle_list list = {.items = NULL};
    struct idle_limits limits = {.idle_ms = 0};

    look_at_disk(service);
    limits = limits_of(service);
    if (idle_store_find(service->db, &limits, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        struct error why = ERROR_INIT;

        if (service_is_busy(service, list.items[i].id))
            continue;
        if (let_rest(service, &limits, &list.items[i], &why) < 0 && why.code != ERROR_NOT_FOUND)
            log_warning("sandbox.reap_failed", LOG_STR("runtime_id", list.items[i].id),
                        LOG_ERROR(&why));
    }
    return 0;
}
