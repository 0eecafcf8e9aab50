#include "runtime/lifecycle/reconcile.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "runtime/core/runtime_state.h"
#include "runtime/core/service.h"
#include "runtime/core/start_queue.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_denials.h"
#include "runtime/egress/firewall.h"
#include "runtime/lifecycle/idle_reaper.h"
#include "runtime/lifecycle/lifecycle.h"
#include "runtime/lifecycle/reconcile_queue.h"
#include "runtime/lifecycle/warm_pool.h"
#include "store/runtime/runtime_store.h"
#include "store/runtime/warm_store.h"

/* Interval of row checks without a hint. */
#define WISHES_MS 1000
/* A sandbox that ends this soon after an out-of-memory event ended because of it. */
#define OUT_OF_MEMORY_MS 5000
#define MEMORY_PLACES 8

/* State of the reconciler's thread. */
struct reconcile_progress {
    int64_t next_all_ms;
    int64_t next_tick_ms;
    int64_t next_idle_ms;
    bool wants_refill;
    struct error rules_trouble; /* ERROR_NONE: the rules are loaded */
    struct {
        char container_id[72];
        int64_t at_ms;
    } out_of_memory[MEMORY_PLACES];
    size_t next_place;
};

/* --- events --- */

static void remember_memory(struct reconcile_progress *progress, const char *container_id)
{
    size_t place = progress->next_place++ % MEMORY_PLACES;

    (void)snprintf(progress->out_of_memory[place].container_id,
                   sizeof(progress->out_of_memory[place].container_id), "%s", container_id);
    progress->out_of_memory[place].at_ms = clock_monotonic_ms();
}

static bool ended_of_memory(const struct reconcile_progress *progress, const char *container_id)
{
    for (size_t i = 0; i < MEMORY_PLACES; i++) {
        if (text_equal(progress->out_of_memory[i].container_id, container_id) &&
            clock_monotonic_ms() - progress->out_of_memory[i].at_ms < OUT_OF_MEMORY_MS)
            return true;
    }
    return false;
}

static int take_end(struct service *service, const struct reconcile_progress *progress,
                    const struct backend_event *event, struct error *err)
{
    struct error why = ERROR_INIT;

    if (ended_of_memory(progress, event->container_id))
        error_set(&why, ERROR_UNAVAILABLE, "the sandbox ran out of memory and was ended");
    else
        service->backend->functions->explain_end(service->backend, event->container_id, &why);
    warm_pool_lose(service, event->runtime_id, event->container_id);
    return lifecycle_record_loss(service, event->runtime_id, event->container_id, why.message, err);
}

/* Ignores our own pauses, including those already undone. */
static int take_pause(struct service *service, const struct backend_event *event, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    bool is_paused = false;

    if (runtime_store_get(service->db, event->runtime_id, &runtime, err) < 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    if (runtime.status != RUNTIME_RUNNING || runtime.desired != DESIRED_RUNNING)
        return 0;
    if (service->backend->functions->is_paused(service->backend, event->container_id, &is_paused,
                                               err) < 0)
        return -1;
    if (!is_paused)
        return 0;
    return lifecycle_set_detail(service, event->runtime_id, event->container_id,
                                "the sandbox's container was paused from outside", err);
}

static int take_news(struct service *service, struct reconcile_progress *progress,
                     const struct backend_event *event, struct error *err)
{
    switch (event->kind) {
    case BACKEND_EVENT_ENDED:
        return take_end(service, progress, event, err);
    case BACKEND_EVENT_OUT_OF_MEMORY:
        remember_memory(progress, event->container_id);
        return lifecycle_set_detail(service, event->runtime_id, event->container_id,
                                    "a program in the sandbox ran out of memory and was ended",
                                    err);
    case BACKEND_EVENT_PAUSED:
        return take_pause(service, event, err);
    case BACKEND_EVENT_UNPAUSED:
        return lifecycle_set_detail(service, event->runtime_id, event->container_id, NULL, err);
    case BACKEND_EVENT_N_KINDS:
        break;
    }
    return 0;
}

/* --- rows against containers --- */

/* The event was missed; the engine may still know the reason. */
static int take_lost(struct service *service, const struct runtime *row, struct error *err)
{
    const char *container_id = row->container_id != NULL ? row->container_id : "";
    struct error why = ERROR_INIT;

    service->backend->functions->explain_end(service->backend, container_id, &why);
    return lifecycle_record_loss(service, row->id, container_id, why.message, err);
}

static int carry_out(struct service *service, const struct runtime *row,
                     enum reconcile_verdict verdict, struct error *err)
{
    switch (verdict) {
    case VERDICT_START:
        return start_queue_add(service->starts, row->id, err);
    case VERDICT_LOST:
        return take_lost(service, row, err);
    case VERDICT_HOLD:
        return lifecycle_pause_again(service, row->id, err);
    case VERDICT_REMOVE_CONTAINER:
        return lifecycle_remove_container(service, row->id, err);
    case VERDICT_PAUSE:
        return lifecycle_apply(service, VERB_PAUSE, row->id, err);
    case VERDICT_STOP:
        return lifecycle_apply(service, VERB_STOP, row->id, err);
    case VERDICT_DELETE:
        return lifecycle_apply(service, VERB_DELETE, row->id, err);
    case VERDICT_FINE:
        break;
    }
    return 0;
}

static void apply_verdict(struct service *service, const struct runtime *row,
                          enum reconcile_verdict verdict)
{
    struct error err = ERROR_INIT;

    if (verdict == VERDICT_FINE || service_is_busy(service, row->id))
        return;
    if (carry_out(service, row, verdict, &err) < 0 && err.code != ERROR_NOT_FOUND)
        log_warning("runtime.settle_failed", LOG_STR("runtime_id", row->id), LOG_ERROR(&err));
}

/* The exited container may still tell the reason. */
static void settle_lost(struct service *service, const struct reconcile_progress *progress,
                        const struct runtime *row, const struct seen_sandbox *seen)
{
    struct error err = ERROR_INIT;
    const struct backend_event event = {.kind = BACKEND_EVENT_ENDED};
    struct backend_event end = event;

    (void)snprintf(end.runtime_id, sizeof(end.runtime_id), "%s", row->id);
    (void)snprintf(end.container_id, sizeof(end.container_id), "%s", seen->container_id);
    if (take_end(service, progress, &end, &err) < 0)
        log_warning("runtime.settle_failed", LOG_STR("runtime_id", row->id), LOG_ERROR(&err));
}

static const struct seen_sandbox *find_seen(const struct seen_list *list, const char *runtime_id)
{
    for (size_t i = 0; i < list->n; i++) {
        if (text_equal(list->items[i].runtime_id, runtime_id))
            return &list->items[i];
    }
    return NULL;
}

static void judge_rows(struct service *service, const struct reconcile_progress *progress,
                       const struct runtime_list *rows, const struct seen_list *seen)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct seen_sandbox *container = find_seen(seen, rows->items[i].id);
        enum reconcile_verdict verdict = reconcile_verdict_of(&rows->items[i], container);

        if (verdict == VERDICT_LOST && container != NULL)
            settle_lost(service, progress, &rows->items[i], container);
        else
            apply_verdict(service, &rows->items[i], verdict);
    }
}

/* True if unused for long enough, no run is active or requested, and nothing runs in it. */
static int may_renew(struct service *service, const struct runtime *row,
                     const struct seen_sandbox *seen, bool *may_out, struct error *err)
{
    if (runtime_store_is_unused(service->db, row->id, service->settings->renew_after_ms, may_out,
                                err) < 0)
        return -1;
    if (!*may_out)
        return 0;
    return service->backend->functions->is_at_rest(service->backend, seen->container_id, may_out,
                                                   err);
}

/* After an upgrade, restarts idle sandboxes that run an older deft-action. */
static void renew_outdated(struct service *service, const struct runtime_list *rows,
                           const struct seen_list *seen)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct runtime *row = &rows->items[i];
        const struct seen_sandbox *container = find_seen(seen, row->id);
        struct error err = ERROR_INIT;
        bool may = false;

        if (row->status != RUNTIME_RUNNING || container == NULL || !container->is_outdated ||
            service_is_busy(service, row->id))
            continue;
        if (may_renew(service, row, container, &may, &err) < 0 ||
            (may && lifecycle_renew(service, row->id, container->container_id, &err) < 0))
            log_warning("sandbox.renew_failed", LOG_STR("runtime_id", row->id), LOG_ERROR(&err));
    }
}

static bool has_row(struct service *service, const char *id)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    if (id[0] == '\0')
        return false;
    /* In this order: a member may be claimed in between. */
    if (warm_pool_has(service, id))
        return true;
    /* If the database does not respond, nothing counts as an orphan. */
    return runtime_store_get(service->db, id, &runtime, &err) == 0 || err.code != ERROR_NOT_FOUND;
}

static void remove_orphans(struct service *service, const struct seen_list *seen)
{
    int64_t now_s = clock_utc_us() / 1000000;

    for (size_t i = 0; i < seen->n; i++) {
        const struct seen_sandbox *container = &seen->items[i];
        struct error err = ERROR_INIT;

        if (!runtime_state_is_orphan(container, now_s, service->settings->orphan_grace_ms) ||
            has_row(service, container->runtime_id))
            continue;
        if (service->backend->functions->remove_container(service->backend, container->container_id,
                                                          &err) < 0)
            log_warning("container.remove_failed", LOG_STR("container_id", container->container_id),
                        LOG_ERROR(&err));
        else
            log_info("container.orphan_removed", LOG_STR("container_id", container->container_id),
                     LOG_STR("runtime_id", container->runtime_id));
    }
}

static int load_kept(void *context, struct kept_names *kept_out, struct error *err)
{
    struct service *service = context;
    CLEANUP(runtime_list_done) struct runtime_list rows = {.items = NULL};

    /* Members first: one that is claimed in between is then among the runtimes. */
    if (warm_pool_load_kept(service, kept_out, err) < 0 ||
        runtime_store_list_all(service->db, &rows, err) < 0)
        return -1;
    for (size_t i = 0; i < rows.n; i++) {
        if (rows.items[i].network != NULL)
            kept_names_add_network(kept_out, rows.items[i].network);
        kept_names_add_home(kept_out, json_text_or(rows.items[i].spec, "home", ""));
    }
    return 0;
}

/* Rows first: a container that is missing from the later list is gone, not new. */
static int settle_all(struct service *service, const struct reconcile_progress *progress,
                      struct error *err)
{
    CLEANUP(runtime_list_done) struct runtime_list rows = {.items = NULL};
    CLEANUP(warm_list_done) struct warm_list members = {.items = NULL};
    CLEANUP(seen_list_done) struct seen_list seen = {.items = NULL};
    const struct kept_source source = {.context = service, .load = load_kept};
    struct backend *backend = service->backend;

    if (warm_store_list(service->db, &members, err) < 0 ||
        runtime_store_list_all(service->db, &rows, err) < 0)
        return -1;
    if (backend->functions->list(backend, &seen, err) < 0)
        return -1;
    judge_rows(service, progress, &rows, &seen);
    warm_pool_reconcile(service, &members, &seen);
    renew_outdated(service, &rows, &seen);
    remove_orphans(service, &seen);
    return backend->functions->tidy(backend, &source, err);
}

static int settle_desired(struct service *service, struct error *err)
{
    CLEANUP(runtime_list_done) struct runtime_list rows = {.items = NULL};

    if (runtime_store_list_unsettled(service->db, &rows, err) < 0)
        return -1;
    for (size_t i = 0; i < rows.n; i++) {
        enum reconcile_verdict verdict = reconcile_verdict_of(&rows.items[i], NULL);

        /* Without a list of containers, a sandbox cannot be declared lost. */
        if (verdict != VERDICT_LOST)
            apply_verdict(service, &rows.items[i], verdict);
    }
    return 0;
}

/* --- the loop --- */

static void load_rules(struct service *service, struct reconcile_progress *progress)
{
    struct error *trouble = &progress->rules_trouble;
    struct error state = ERROR_INIT;
    const char *what = "network_rules.failed";

    if (service->settings->has_network_rules == 0)
        return;
    if (firewall_apply(&state) == 0) {
        egress_denials_load_rules(service->denials);
        what = "egress.assign_failed";
        error_ignore(egress_assign_all(service, &state), "state holds the error");
    }
    /* Retried each second, but logged only when the error changes. */
    if (state.code != ERROR_NONE && !text_equal(state.message, trouble->message))
        log_error(what, LOG_ERROR(&state));
    *trouble = state;
    service_set_rules_state(service, &state);
}

static void log_failure(const char *step, int rc, const struct error *err)
{
    if (rc < 0)
        log_warning("reconcile.failed", LOG_STR("step", step), LOG_ERROR(err));
}

/* One item at a time, so that events do not wait for long. */
static int refill_prealloc(struct service *service, struct error *err)
{
    struct backend *backend = service->backend;
    bool is_full = false;

    if (backend->functions->refill(backend, &is_full, err) < 0)
        return -1;
    if (!is_full)
        reconcile_queue_add(service->reconcile_queue, RECONCILE_REFILL);
    return 0;
}

static void do_asked(struct service *service, struct reconcile_progress *progress, unsigned what)
{
    struct backend *backend = service->backend;
    struct error err = ERROR_INIT;
    struct error down = ERROR_INIT;

    if ((what & RECONCILE_RULES) != 0)
        load_rules(service, progress);
    /* Without the back end nothing can be settled; it reports when it is reachable again. */
    if (backend->functions->check(backend, &down) < 0)
        return;
    if ((what & RECONCILE_ALL) != 0)
        log_failure("all", settle_all(service, progress, &err), &err);
    else if ((what & RECONCILE_DESIRED) != 0)
        log_failure("desired", settle_desired(service, &err), &err);
    if ((what & RECONCILE_IDLE) != 0) {
        log_failure("idle", idle_reaper_check(service, &err), &err);
        progress->next_idle_ms = clock_monotonic_ms() + idle_reaper_interval_ms(service);
    }
    if ((what & (RECONCILE_REFILL | RECONCILE_ALL)) != 0)
        log_failure("refill", refill_prealloc(service, &err), &err);
}

static unsigned what_is_due(const struct service *service, struct reconcile_progress *progress)
{
    int64_t now_ms = clock_monotonic_ms();
    unsigned what = 0;

    if (now_ms >= progress->next_tick_ms) {
        what |= RECONCILE_DESIRED | (progress->wants_refill ? RECONCILE_REFILL : 0);
        /* No sandbox starts until the rules are loaded; only the database may have failed. */
        what |= progress->rules_trouble.code != ERROR_NONE ? RECONCILE_RULES : 0;
        progress->wants_refill = false;
        progress->next_tick_ms = now_ms + WISHES_MS;
    }
    if (now_ms >= progress->next_idle_ms)
        what |= RECONCILE_IDLE;
    if (now_ms >= progress->next_all_ms) {
        what |= RECONCILE_ALL | RECONCILE_RULES;
        progress->next_all_ms = now_ms + service->settings->reconcile_ms;
    }
    return what;
}

void reconcile_run(struct service *service)
{
    struct backend_event *event = mem_alloc_array(RECONCILE_QUEUE_NEWS_MAX, sizeof(*event));
    struct reconcile_progress *progress = NEW(struct reconcile_progress);

    load_rules(service, progress);
    progress->next_all_ms = clock_monotonic_ms() + service->settings->reconcile_ms;
    while (!reconcile_queue_is_stopping(service->reconcile_queue)) {
        size_t n = 0;
        unsigned what =
            reconcile_queue_take(service->reconcile_queue, progress->next_tick_ms, event, &n);

        for (size_t i = 0; i < n; i++) {
            struct error err = ERROR_INIT;

            log_failure("news", take_news(service, progress, &event[i], &err), &err);
        }
        what |= what_is_due(service, progress);
        if ((what & RECONCILE_REFILL_LATER) != 0)
            progress->wants_refill = true;
        do_asked(service, progress, what);
    }
    mem_free(progress);
    mem_free(event);
}
