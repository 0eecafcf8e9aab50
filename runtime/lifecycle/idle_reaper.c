#include "runtime/lifecycle/rest.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "runtime/backend/backend.h"
#include "runtime/core/gate.h"
#include "runtime/core/service.h"
#include "runtime/lifecycle/life.h"
#include "store/runtime/rest_store.h"
#include "store/runtime/runtime_store.h"

#define MS_PER_S 1000
#define INTERVAL_LEAST_MS 500
#define INTERVAL_MOST_MS 30000
/* Past its session limit, a sandbox is paused once unused for this long, not between commands. */
#define UNUSED_MS 60000

static struct rest_limits limits_of(const struct service *service)
{
    const struct runtime_settings *settings = service->settings;
    struct rest_limits limits = {.idle_ms = settings->idle_s * MS_PER_S,
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

int64_t rest_interval_ms(const struct service *service)
{
    const struct rest_limits limits = limits_of(service);
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
static int is_busy(struct service *service, const struct rest_item *item, bool *is_busy_out,
                   struct error *err)
{
    bool is_at_rest = false;

    if (service->backend->functions->is_at_rest(service->backend, item->container_id, &is_at_rest,
                                                err) < 0)
        return -1;
    *is_busy_out = !is_at_rest;
    return is_at_rest ? 0 : runtime_store_touch(service->db, item->id, err);
}

static int pause(struct service *service, const struct rest_item *item, int64_t unused_ms,
                 struct error *err)
{
    bool is_decided = false;

    if (rest_store_pause(service->db, item->id, unused_ms, &is_decided, err) < 0)
        return -1;
    if (!is_decided)
        return 0;
    log_info("sandbox.let_rest", LOG_STR("runtime_id", item->id),
             LOG_STR("why", rest_kind_to_string(item->kind)));
    return life_apply(service, VERB_PAUSE, item->id, err);
}

static int let_idle_rest(struct service *service, const struct rest_item *item, int64_t idle_ms,
                         struct error *err)
{
    bool has_work = false;

    if (is_busy(service, item, &has_work, err) < 0)
        return -1;
    return has_work ? 0 : pause(service, item, idle_ms, err);
}

static int forget(struct service *service, const struct rest_item *item, int64_t dead_ms,
                  struct error *err)
{
    bool is_decided = false;

    if (rest_store_delete(service->db, item->id, dead_ms, &is_decided, err) < 0)
        return -1;
    return is_decided ? life_apply(service, VERB_DELETE, item->id, err) : 0;
}

static int let_rest(struct service *service, const struct rest_limits *limits,
                    const struct rest_item *item, struct error *err)
{
    switch (item->kind) {
    case REST_IDLE:
        return let_idle_rest(service, item, limits->idle_ms, err);
    case REST_LONG_UP:
        return pause(service, item, limits->unused_ms, err);
    case REST_HELD:
        return life_clear(service, item->id, err);
    case REST_DEAD:
        return forget(service, item, limits->dead_ms, err);
    case REST_N_KINDS:
        break;
    }
    return 0;
}

/* On low disk space, unused sandboxes end early. */
static void look_at_disk(struct service *service)
{
    struct error why = ERROR_INIT;
    bool is_low = service_check_room(service, &why) < 0;

    if (is_low && !service->is_disk_low)
        log_warning("disk.low", LOG_ERROR(&why));
    else if (!is_low && service->is_disk_low)
        log_info("disk.enough");
    service->is_disk_low = is_low;
}

int rest_look(struct service *service, struct error *err)
{
    CLEANUP(rest_list_done) struct rest_list list = {.items = NULL};
    struct rest_limits limits = {.idle_ms = 0};

    look_at_disk(service);
    limits = limits_of(service);
    if (rest_store_find(service->db, &limits, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        struct error why = ERROR_INIT;

        if (gate_is_busy(service->gate, list.items[i].id))
            continue;
        if (let_rest(service, &limits, &list.items[i], &why) < 0 && why.code != ERROR_NOT_FOUND)
            log_warning("sandbox.not_let_rest", LOG_STR("runtime_id", list.items[i].id),
                        LOG_ERROR(&why));
    }
    return 0;
}
