#include "runtime/lifecycle/warm_pool.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/mount_paths.h"
#include "runtime/core/pool_sizing.h"
#include "runtime/core/runtime_metrics.h"
#include "runtime/core/runtime_record.h"
#include "runtime/core/sandbox_init.h"
#include "runtime/core/service.h"
#include "runtime/core/start_queue.h"
#include "runtime/core/start_spec.h"
#include "runtime/egress/egress.h"
#include "store/runtime/runtime_store.h"
#include "store/runtime/warm_config_store.h"
#include "store/runtime/warm_store.h"

/* Interval of checks without a wake-up: recorded starts age. */
#define LOOK_MS 5000
/* Leaves the processor to a sandbox that has just been claimed. */
#define REST_AFTER_CLAIM_MS 1000
/* Requested starts take precedence over the pool's, but only for this long. */
#define HOLD_MS 10000
/* A missing image would fail again at once. */
#define REST_AFTER_FAILURE_MS 30000

struct warm_pool {
    struct pool_minimum usual; /* from the settings */
    struct lock lock;          /* guards all below */
    struct condition asked;
    struct pool_sizing sizing;
    int64_t not_before_ms;
    bool is_asked;
    bool is_stopping;
};

static struct pool_class class_of(const char *image, int64_t memory_bytes, int64_t nano_cpus)
{
    struct pool_class class = {.memory_bytes = memory_bytes, .nano_cpus = nano_cpus};

    (void)snprintf(class.image, sizeof(class.image), "%s", image);
    return class;
}

struct warm_pool *warm_pool_new(const struct runtime_settings *settings)
{
    struct warm_pool *pool = NEW(struct warm_pool);
    struct pool_class first = class_of(settings->image, settings->docker.profile.memory_bytes,
                                       settings->docker.profile.nano_cpus);

    lock_init(&pool->lock);
    condition_init(&pool->asked);
    pool_sizing_init(&pool->sizing, &first, (size_t)settings->warm_least,
                     (size_t)settings->warm_most);
    pool->usual = (struct pool_minimum){.class = first, .count = pool->sizing.entries[0].least};
    return pool;
}

void warm_pool_free(struct warm_pool *pool)
{
    if (pool == NULL)
        return;
    condition_done(&pool->asked);
    lock_done(&pool->lock);
    mem_free(pool);
}

void warm_pool_stop(struct warm_pool *pool)
{
    lock_take(&pool->lock);
    pool->is_stopping = true;
    condition_wake_all(&pool->asked);
    lock_release(&pool->lock);
}

void warm_pool_wake(struct warm_pool *pool)
{
    lock_take(&pool->lock);
    pool->is_asked = true;
    condition_wake_all(&pool->asked);
    lock_release(&pool->lock);
}

/* The build of deft-action that a start installs, and deft's name server if members use it. */
static void append_agent_build(struct service *service, struct strbuf *agent_build)
{
    strbuf_append(agent_build, service->backend->functions->agent_build(service->backend));
    if (service->settings->has_network_rules != 0)
        strbuf_append(agent_build, " " EGRESS_NAME_SERVER);
}

/* --- claims --- */

static bool note_start(struct warm_pool *pool, const struct start_spec *spec)
{
    struct pool_class class = class_of(spec->image, spec->memory_bytes, spec->nano_cpus);
    int64_t now_ms = clock_monotonic_ms();
    bool is_known = false;

    lock_take(&pool->lock);
    is_known = pool_sizing_record_start(&pool->sizing, &class, now_ms);
    if (pool->not_before_ms < now_ms)
        pool->not_before_ms = now_ms + REST_AFTER_CLAIM_MS;
    pool->is_asked = true;
    condition_wake_all(&pool->asked);
    lock_release(&pool->lock);
    return is_known;
}

int warm_pool_claim(struct service *service, const struct start_spec *spec,
                    const struct warm_taker *taker, struct runtime *runtime_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf agent_build = STRBUF_INIT;
    struct warm_class class = {
        .image = spec->image, .memory_bytes = spec->memory_bytes, .nano_cpus = spec->nano_cpus};
    bool is_known = note_start(service->pool, spec);

    append_agent_build(service, &agent_build);
    class.agent_build = agent_build.text;
    if (warm_store_claim(service->db, &class, taker, runtime_out, err) < 0) {
        if (err->code == ERROR_NOT_FOUND)
            metrics_count_miss(service->metrics, is_known ? MISS_NONE_READY : MISS_CLASS);
        return -1;
    }
    metrics_count_hit(service->metrics);
    return 0;
}

/* --- removing --- */

/* Row first: it cannot be claimed during the removal, and leftovers of a crash are swept. */
static void remove_member(struct service *service, const struct warm_sandbox *member,
                          const char *why)
{
    struct backend *backend = service->backend;
    const char *network = member->network != NULL ? member->network : "";
    struct error err = ERROR_INIT;

    if (warm_store_remove(service->db, member->id, &err) < 0) {
        if (err.code != ERROR_NOT_FOUND)
            log_warning("warm.delete_failed", LOG_STR("runtime_id", member->id), LOG_ERROR(&err));
        return;
    }
    log_info("warm.removed", LOG_STR("runtime_id", member->id), LOG_STR("reason", why));
    if (backend->functions->remove(backend, member->id, network, &err) < 0 ||
        backend->functions->remove_home(backend, member->home, &err) < 0)
        log_warning("warm.remove_failed", LOG_STR("runtime_id", member->id), LOG_ERROR(&err));
}

void warm_pool_lose(struct service *service, const char *id, const char *container_id)
{
    CLEANUP(warm_sandbox_done) struct warm_sandbox member = WARM_SANDBOX_INIT;
    struct error err = ERROR_INIT;

    if (warm_store_get(service->db, id, &member, &err) < 0) {
        if (err.code != ERROR_NOT_FOUND)
            log_warning("warm.read_failed", LOG_STR("runtime_id", id), LOG_ERROR(&err));
        return;
    }
    if (member.container_id != NULL && text_equal(member.container_id, container_id))
        remove_member(service, &member, "its container ended");
}

static const struct seen_sandbox *find_seen(const struct seen_list *list, const char *id)
{
    for (size_t i = 0; i < list->n; i++) {
        if (text_equal(list->items[i].runtime_id, id))
            return &list->items[i];
    }
    return NULL;
}

/* False if the image cannot be looked up. */
static bool has_other_image(struct service *service, const struct warm_sandbox *member)
{
    struct seen_image image = {.id = ""};
    struct error err = ERROR_INIT;

    if (service->backend->functions->find_image(service->backend, member->image, &image, &err) < 0)
        return false;
    return image.id[0] != '\0' && member->image_id != NULL &&
           !text_equal(image.id, member->image_id);
}

void warm_pool_reconcile(struct service *service, const struct warm_list *members,
                         const struct seen_list *seen)
{
    for (size_t i = 0; i < members->n; i++) {
        const struct warm_sandbox *member = &members->items[i];
        const struct seen_sandbox *container = find_seen(seen, member->id);

        /* Still being started by the pool's thread. */
        if (!member->is_ready)
            continue;
        if (container == NULL || container->state != SEEN_RUNNING)
            remove_member(service, member, "its container is not running");
        else if (has_other_image(service, member))
            remove_member(service, member, "its image has changed");
    }
}

bool warm_pool_has(struct service *service, const char *id)
{
    CLEANUP(warm_sandbox_done) struct warm_sandbox member = WARM_SANDBOX_INIT;
    struct error err = ERROR_INIT;

    return warm_store_get(service->db, id, &member, &err) == 0 || err.code != ERROR_NOT_FOUND;
}

int warm_pool_load_kept(struct service *service, struct kept_names *kept_out, struct error *err)
{
    CLEANUP(warm_list_done) struct warm_list members = {.items = NULL};

    if (warm_store_list(service->db, &members, err) < 0)
        return -1;
    for (size_t i = 0; i < members.n; i++) {
        if (members.items[i].network != NULL)
            kept_names_add_network(kept_out, members.items[i].network);
        kept_names_add_home(kept_out, members.items[i].home);
    }
    return 0;
}

/* --- filling --- */

static int begin_member(struct service *service, const struct pool_class *class,
                        struct warm_sandbox *member, struct error *err)
{
    struct backend *backend = service->backend;
    CLEANUP(strbuf_done) struct strbuf agent_build = STRBUF_INIT;
    char home[BACKEND_NAME_BYTES] = "";

    if (backend->functions->take_home(backend, home, err) < 0)
        return -1;
    append_agent_build(service, &agent_build);
    runtime_record_make_id(member->id);
    member->image = mem_dup_text(class->image);
    member->memory_bytes = class->memory_bytes;
    member->nano_cpus = class->nano_cpus;
    member->agent_build = mem_dup_text(agent_build.text);
    member->home = mem_dup_text(home);
    if (warm_store_add(service->db, member, err) < 0) {
        backend->functions->give_home(backend, home);
        return -1;
    }
    backend->functions->home_is_kept(backend, home);
    return 0;
}

static int start_member(struct service *service, struct warm_sandbox *member, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    const struct sandbox_config order = {.runtime_id = member->id,
                                         .session_id = "",
                                         .conversation_id = "",
                                         .image = member->image,
                                         .home = member->home,
                                         .memory_bytes = member->memory_bytes,
                                         .nano_cpus = member->nano_cpus};
    struct started_sandbox place = {.container_id = ""};

    if (service->backend->functions->start(service->backend, &order, &place, err) < 0)
        return -1;
    sandbox_init_seal_key(service, member->id, place.init_key, &sealed);
    runtime_record_set_text(&member->image_id, place.image_id);
    runtime_record_set_text(&member->container_id, place.container_id);
    runtime_record_set_text(&member->network, place.network);
    runtime_record_set_text(&member->url, place.url);
    runtime_record_set_text(&member->init_key, sealed.text);
    if (warm_store_set_ready(service->db, member, err) < 0)
        return -1;
    service->backend->functions->network_is_kept(service->backend, place.network);
    return 0;
}

static int add_member(struct service *service, const struct pool_class *class, struct error *err)
{
    CLEANUP(warm_sandbox_done) struct warm_sandbox member = WARM_SANDBOX_INIT;
    int64_t begun_ms = clock_monotonic_ms();

    if (begin_member(service, class, &member, err) < 0)
        return -1;
    if (start_member(service, &member, err) < 0) {
        remove_member(service, &member, "it could not be started");
        return -1;
    }
    log_info("warm.ready", LOG_STR("runtime_id", member.id), LOG_STR("image", member.image),
             LOG_INT("duration_ms", clock_monotonic_ms() - begun_ms));
    return 0;
}

/* --- the thread --- */

struct pool_plan {
    struct pool_sizing sizing;
    size_t wanted[POOL_CLASSES_MAX];
    size_t have[POOL_CLASSES_MAX];
};

/* Minimum counts: the settings' class, unless a stored one replaces it, and all stored ones. */
static int load_wants(struct service *service, struct pool_minimum wants[POOL_CONFIGS_MAX],
                      size_t *n_out, struct error *err)
{
    CLEANUP(warm_config_list_done) struct warm_config_list stored = {.items = NULL};
    size_t n = 1;

    if (warm_config_store_list(service->db, &stored, err) < 0)
        return -1;
    wants[0] = service->pool->usual;
    for (size_t i = 0; i < stored.n && n < POOL_CONFIGS_MAX; i++) {
        const struct warm_config *one = &stored.items[i];
        struct pool_minimum want = {.class =
                                        class_of(one->image, one->memory_bytes, one->nano_cpus),
                                    .count = (size_t)one->count};

        wants[text_equal(one->name, WARM_POOL_DEFAULT_CONFIG) ? 0 : n++] = want;
    }
    *n_out = n;
    return 0;
}

static int make_plan(struct service *service, struct pool_plan *plan, struct error *err)
{
    struct warm_pool *pool = service->pool;
    struct pool_minimum wants[POOL_CONFIGS_MAX];
    size_t n = 0;

    if (load_wants(service, wants, &n, err) < 0)
        return -1;
    lock_take(&pool->lock);
    pool_sizing_set_minimums(&pool->sizing, wants, n);
    plan->sizing = pool->sizing;
    lock_release(&pool->lock);
    pool_sizing_plan(&plan->sizing, clock_monotonic_ms(), plan->wanted);
    return 0;
}

/* Reason to remove the member; NULL if it is wanted. Only this thread starts members, so one that
 * is not ready is left from an interrupted start. */
static const char *find_fault(struct service *service, struct pool_plan *plan,
                              const struct warm_sandbox *member)
{
    struct pool_class class = class_of(member->image, member->memory_bytes, member->nano_cpus);
    CLEANUP(strbuf_done) struct strbuf agent_build = STRBUF_INIT;

    append_agent_build(service, &agent_build);
    if (!member->is_ready)
        return "its start was interrupted";
    if (!text_equal(member->agent_build, agent_build.text))
        return "its deft-action or certificates have changed";
    for (size_t i = 0; i < plan->sizing.n; i++) {
        if (!pool_class_equal(&plan->sizing.entries[i].class, &class))
            continue;
        return ++plan->have[i] > plan->wanted[i] ? "it exceeds the demand" : NULL;
    }
    return "there is no demand for its class";
}

static int fill_first_gap(struct service *service, const struct pool_plan *plan, bool *did_out,
                          struct error *err)
{
    for (size_t i = 0; i < plan->sizing.n; i++) {
        if (plan->have[i] >= plan->wanted[i])
            continue;
        *did_out = true;
        return add_member(service, &plan->sizing.entries[i].class, err);
    }
    return 0;
}

static void tell_metrics(struct service *service, const struct pool_plan *plan)
{
    struct metrics_pool pools[POOL_CLASSES_MAX] = {{.class = NULL}};

    for (size_t i = 0; i < plan->sizing.n; i++)
        pools[i] =
            (struct metrics_pool){&plan->sizing.entries[i].class, plan->have[i], plan->wanted[i]};
    metrics_set_pool(service->metrics, pools, plan->sizing.n);
}

/* Removes unwanted members, then starts one wanted one; *did_out: there may be more to do. */
static int adjust_once(struct service *service, bool *did_out, struct error *err)
{
    CLEANUP(warm_list_done) struct warm_list members = {.items = NULL};
    struct pool_plan plan = {.have = {0}};

    if (service_check(service, err) < 0 || make_plan(service, &plan, err) < 0 ||
        warm_store_list(service->db, &members, err) < 0)
        return -1;
    for (size_t i = 0; i < members.n; i++) {
        const char *fault = find_fault(service, &plan, &members.items[i]);

        if (fault != NULL)
            remove_member(service, &members.items[i], fault);
    }
    tell_metrics(service, &plan);
    if (service_check_space(service, err) < 0)
        return -1;
    return fill_first_gap(service, &plan, did_out, err);
}

/* False on stop. */
static bool wait_for_turn(struct warm_pool *pool, int64_t look_ms)
{
    bool is_stopping = false;
    bool has_time = true;

    lock_take(&pool->lock);
    while (!pool->is_stopping && has_time) {
        int64_t due_ms = pool->is_asked ? 0 : look_ms;

        if (due_ms < pool->not_before_ms)
            due_ms = pool->not_before_ms;
        has_time = condition_wait_until(&pool->asked, &pool->lock, due_ms);
    }
    pool->is_asked = false;
    is_stopping = pool->is_stopping;
    lock_release(&pool->lock);
    return !is_stopping;
}

/* At least as often as rows and containers are reconciled. */
static int64_t look_every_ms(const struct service *service)
{
    int64_t reconcile_ms = service->settings->reconcile_ms;

    return reconcile_ms < LOOK_MS ? reconcile_ms : LOOK_MS;
}

static void delay_next_start(struct warm_pool *pool, int64_t delay_ms)
{
    lock_take(&pool->lock);
    pool->not_before_ms = clock_monotonic_ms() + delay_ms;
    lock_release(&pool->lock);
}

void warm_pool_run(struct service *service)
{
    int64_t look_ms = 0;

    while (wait_for_turn(service->pool, look_ms)) {
        struct error err = ERROR_INIT;
        bool did = false;
        int rc = 0;

        start_queue_wait_empty(service->starts, clock_monotonic_ms() + HOLD_MS);
        rc = adjust_once(service, &did, &err);

        look_ms = did ? 0 : clock_monotonic_ms() + look_every_ms(service);
        if (rc < 0 && did) {
            log_warning("warm.failed", LOG_ERROR(&err));
            delay_next_start(service->pool, REST_AFTER_FAILURE_MS);
        } else if (rc < 0) {
            look_ms = clock_monotonic_ms() + REST_AFTER_CLAIM_MS;
        }
    }
}
