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
#include "runtime/core/gate.h"
#include "runtime/core/service.h"
#include "runtime/core/state.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/refusals.h"
#include "runtime/egress/rules.h"
#include "runtime/lifecycle/life.h"
#include "runtime/lifecycle/pool.h"
#include "runtime/lifecycle/reconciler.h"
#include "runtime/lifecycle/rest.h"
#include "store/runtime/runtime_store.h"
#include "store/runtime/warm_store.h"

/* Interval of row checks without a hint. */
#define WISHES_MS 1000
/* A sandbox that ends this soon after an out-of-memory event ended because of it. */
#define OUT_OF_MEMORY_MS 5000
#define MEMORY_PLACES 8

/* State of the reconciler's thread. */
struct progress {
    int64_t next_all_ms;
    int64_t next_tick_ms;
    int64_t next_rest_ms;
    bool wants_refill;
    struct error rules_trouble; /* ERROR_NONE: the rules are loaded */
    struct {
        char container_id[72];
        int64_t at_ms;
    } out_of_memory[MEMORY_PLACES];
    size_t next_place;
};

/* --- events --- */

static void remember_memory(struct progress *progress, const char *container_id)
{
    size_t place = progress->next_place++ % MEMORY_PLACES;

    (void)snprintf(progress->out_of_memory[place].container_id,
                   sizeof(progress->out_of_memory[place].container_id), "%s", container_id);
    progress->out_of_memory[place].at_ms = clock_monotonic_ms();
}

static bool ended_of_memory(const struct progress *progress, const char *container_id)
{
    for (size_t i = 0; i < MEMORY_PLACES; i++) {
        if (text_equal(progress->out_of_memory[i].container_id, container_id) &&
            clock_monotonic_ms() - progress->out_of_memory[i].at_ms < OUT_OF_MEMORY_MS)
            return true;
    }
    return false;
}

static int take_end(struct service *service, const struct progress *progress,
                    const struct news *news, struct error *err)
{
    struct error why = ERROR_INIT;

    if (ended_of_memory(progress, news->container_id))
        error_set(&why, ERROR_UNAVAILABLE, "the sandbox ran out of memory and was ended");
    else
        service->backend->functions->explain_end(service->backend, news->container_id, &why);
    pool_lose(service, news->runtime_id, news->container_id);
    return life_lose(service, news->runtime_id, news->container_id, why.message, err);
}

/* Ignores our own pauses, including those already undone. */
static int take_pause(struct service *service, const struct news *news, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    bool is_paused = false;

    if (runtime_store_get(service->db, news->runtime_id, &runtime, err) < 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    if (runtime.status != RUNTIME_RUNNING || runtime.desired != DESIRED_RUNNING)
        return 0;
    if (service->backend->functions->is_paused(service->backend, news->container_id, &is_paused,
                                               err) < 0)
        return -1;
    if (!is_paused)
        return 0;
    return life_note(service, news->runtime_id, news->container_id,
                     "the sandbox's container was paused from outside", err);
}

static int take_news(struct service *service, struct progress *progress, const struct news *news,
                     struct error *err)
{
    switch (news->kind) {
    case NEWS_ENDED:
        return take_end(service, progress, news, err);
    case NEWS_OUT_OF_MEMORY:
        remember_memory(progress, news->container_id);
        return life_note(service, news->runtime_id, news->container_id,
                         "a program in the sandbox ran out of memory and was ended", err);
    case NEWS_PAUSED:
        return take_pause(service, news, err);
    case NEWS_UNPAUSED:
        return life_note(service, news->runtime_id, news->container_id, NULL, err);
    case NEWS_N_KINDS:
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
    return life_lose(service, row->id, container_id, why.message, err);
}

static int carry_out(struct service *service, const struct runtime *row, enum verdict verdict,
                     struct error *err)
{
    switch (verdict) {
    case VERDICT_START:
        return gate_queue_start(service->gate, row->id, err);
    case VERDICT_LOST:
        return take_lost(service, row, err);
    case VERDICT_HOLD:
        return life_hold(service, row->id, err);
    case VERDICT_REMOVE_CONTAINER:
        return life_clear(service, row->id, err);
    case VERDICT_PAUSE:
        return life_apply(service, VERB_PAUSE, row->id, err);
    case VERDICT_STOP:
        return life_apply(service, VERB_STOP, row->id, err);
    case VERDICT_DELETE:
        return life_apply(service, VERB_DELETE, row->id, err);
    case VERDICT_FINE:
        break;
    }
    return 0;
}

static void settle(struct service *service, const struct runtime *row, enum verdict verdict)
{
    struct error err = ERROR_INIT;

    if (verdict == VERDICT_FINE || gate_is_busy(service->gate, row->id))
        return;
    if (carry_out(service, row, verdict, &err) < 0 && err.code != ERROR_NOT_FOUND)
        log_warning("runtime.unsettled", LOG_STR("runtime_id", row->id), LOG_ERROR(&err));
}

/* The exited container may still tell the reason. */
static void settle_lost(struct service *service, const struct progress *progress,
                        const struct runtime *row, const struct seen_sandbox *seen)
{
    struct error err = ERROR_INIT;
    const struct news news = {.kind = NEWS_ENDED};
    struct news end = news;

    (void)snprintf(end.runtime_id, sizeof(end.runtime_id), "%s", row->id);
    (void)snprintf(end.container_id, sizeof(end.container_id), "%s", seen->container_id);
    if (take_end(service, progress, &end, &err) < 0)
        log_warning("runtime.unsettled", LOG_STR("runtime_id", row->id), LOG_ERROR(&err));
}

static const struct seen_sandbox *find_seen(const struct seen_list *list, const char *runtime_id)
{
    for (size_t i = 0; i < list->n; i++) {
        if (text_equal(list->items[i].runtime_id, runtime_id))
            return &list->items[i];
    }
    return NULL;
}

static void judge_rows(struct service *service, const struct progress *progress,
                       const struct runtime_list *rows, const struct seen_list *seen)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct seen_sandbox *container = find_seen(seen, rows->items[i].id);
        enum verdict verdict = state_judge(&rows->items[i], container);

        if (verdict == VERDICT_LOST && container != NULL)
            settle_lost(service, progress, &rows->items[i], container);
        else
            settle(service, &rows->items[i], verdict);
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
            gate_is_busy(service->gate, row->id))
            continue;
        if (may_renew(service, row, container, &may, &err) < 0 ||
            (may && life_renew(service, row->id, container->container_id, &err) < 0))
            log_warning("sandbox.not_renewed", LOG_STR("runtime_id", row->id), LOG_ERROR(&err));
    }
}

static bool has_row(struct service *service, const char *id)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    if (id[0] == '\0')
        return false;
    /* In this order: a member may be claimed in between. */
    if (pool_has(service, id))
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

        if (!state_is_orphan(container, now_s, service->settings->orphan_grace_ms) ||
            has_row(service, container->runtime_id))
            continue;
        if (service->backend->functions->remove_container(service->backend, container->container_id,
                                                          &err) < 0)
            log_warning("container.left", LOG_STR("container_id", container->container_id),
                        LOG_ERROR(&err));
        else
            log_info("container.swept", LOG_STR("container_id", container->container_id),
                     LOG_STR("runtime_id", container->runtime_id));
    }
}

static int load_kept(void *context, struct kept_names *kept_out, struct error *err)
{
    struct service *service = context;
    CLEANUP(runtime_list_done) struct runtime_list rows = {.items = NULL};

    /* Members first: one that is claimed in between is then among the runtimes. */
    if (pool_load_kept(service, kept_out, err) < 0 ||
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
static int look_at_all(struct service *service, const struct progress *progress, struct error *err)
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
    pool_judge(service, &members, &seen);
    renew_outdated(service, &rows, &seen);
    remove_orphans(service, &seen);
    return backend->functions->tidy(backend, &source, err);
}

static int look_at_wishes(struct service *service, struct error *err)
{
    CLEANUP(runtime_list_done) struct runtime_list rows = {.items = NULL};

    if (runtime_store_list_unsettled(service->db, &rows, err) < 0)
        return -1;
    for (size_t i = 0; i < rows.n; i++) {
        enum verdict verdict = state_judge(&rows.items[i], NULL);

        /* Without a list of containers, a sandbox cannot be declared lost. */
        if (verdict != VERDICT_LOST)
            settle(service, &rows.items[i], verdict);
    }
    return 0;
}

/* --- the loop --- */

static void load_rules(struct service *service, struct progress *progress)
{
    struct error *trouble = &progress->rules_trouble;
    struct error state = ERROR_INIT;
    const char *what = "network_rules.failed";

    if (service->settings->has_network_rules == 0)
        return;
    if (rules_apply(&state) == 0) {
        refusals_load_rules(service->refusals);
        what = "egress.not_held";
        error_ignore(egress_seat_all(service, &state), "state says it");
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
static int refill(struct service *service, struct error *err)
{
    struct backend *backend = service->backend;
    bool is_full = false;

    if (backend->functions->refill(backend, &is_full, err) < 0)
        return -1;
    if (!is_full)
        reconciler_ask(service->reconciler, RECONCILE_REFILL);
    return 0;
}

static void do_asked(struct service *service, struct progress *progress, unsigned what)
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
        log_failure("all", look_at_all(service, progress, &err), &err);
    else if ((what & RECONCILE_WISHES) != 0)
        log_failure("wishes", look_at_wishes(service, &err), &err);
    if ((what & RECONCILE_REST) != 0) {
        log_failure("rest", rest_look(service, &err), &err);
        progress->next_rest_ms = clock_monotonic_ms() + rest_interval_ms(service);
    }
    if ((what & (RECONCILE_REFILL | RECONCILE_ALL)) != 0)
        log_failure("refill", refill(service, &err), &err);
}

static unsigned what_is_due(const struct service *service, struct progress *progress)
{
    int64_t now_ms = clock_monotonic_ms();
    unsigned what = 0;

    if (now_ms >= progress->next_tick_ms) {
        what |= RECONCILE_WISHES | (progress->wants_refill ? RECONCILE_REFILL : 0);
        /* No sandbox starts until the rules are loaded; only the database may have failed. */
        what |= progress->rules_trouble.code != ERROR_NONE ? RECONCILE_RULES : 0;
        progress->wants_refill = false;
        progress->next_tick_ms = now_ms + WISHES_MS;
    }
    if (now_ms >= progress->next_rest_ms)
        what |= RECONCILE_REST;
    if (now_ms >= progress->next_all_ms) {
        what |= RECONCILE_ALL | RECONCILE_RULES;
        progress->next_all_ms = now_ms + service->settings->reconcile_ms;
    }
    return what;
}

void reconciler_run(struct service *service)
{
    struct news *news = mem_alloc_array(RECONCILER_NEWS_MAX, sizeof(*news));
    struct progress *progress = NEW(struct progress);

    load_rules(service, progress);
    progress->next_all_ms = clock_monotonic_ms() + service->settings->reconcile_ms;
    while (!reconciler_is_stopping(service->reconciler)) {
        size_t n = 0;
        unsigned what = reconciler_take(service->reconciler, progress->next_tick_ms, news, &n);

        for (size_t i = 0; i < n; i++) {
            struct error err = ERROR_INIT;

            log_failure("news", take_news(service, progress, &news[i], &err), &err);
        }
        what |= what_is_due(service, progress);
        if ((what & RECONCILE_REFILL_LATER) != 0)
            progress->wants_refill = true;
        do_asked(service, progress, what);
    }
    mem_free(progress);
    mem_free(news);
}
