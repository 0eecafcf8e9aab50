#include "runtime/lifecycle/lifecycle.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/backend.h"
#include "runtime/core/runtime_lock.h"
#include "runtime/core/runtime_metrics.h"
#include "runtime/core/runtime_record.h"
#include "runtime/core/sandbox_init.h"
#include "runtime/core/service.h"
#include "runtime/egress/egress.h"
#include "runtime/images/build_queue.h"
#include "runtime/lifecycle/reconcile_queue.h"
#include "store/runtime/runtime_store.h"

/* --- launch --- */

/* Parameters of a cold start, without secrets. Borrows from the runtime. */
static struct sandbox_config order_of(const struct runtime *runtime)
{
    return (struct sandbox_config){.runtime_id = runtime->id,
                                   .session_id = runtime->session_id,
                                   .conversation_id =
                                       json_text_or(runtime->spec, "conversation_id", ""),
                                   .image = runtime->image,
                                   .home = json_text_or(runtime->spec, "home", ""),
                                   .memory_bytes = json_int_or(runtime->spec, "memory_bytes", 0),
                                   .nano_cpus = json_int_or(runtime->spec, "nano_cpus", 0)};
}

static void remove_sandbox(struct service *service, const struct runtime *runtime,
                           const char *network)
{
    struct error err = ERROR_INIT;

    if (service->backend->functions->remove(service->backend, runtime->id, network, &err) < 0)
        log_warning("container.remove_failed", LOG_STR("runtime_id", runtime->id), LOG_ERROR(&err));
}

/* Takes a home if none was ready at the request. */
static int need_home(struct service *service, struct runtime *runtime, struct error *err)
{
    struct backend *backend = service->backend;
    char home[BACKEND_NAME_BYTES] = "";

    if (json_text_or(runtime->spec, "home", "")[0] != '\0')
        return 0;
    if (backend->functions->take_home(backend, home, err) < 0)
        return -1;
    if (runtime_store_set_home(service->db, runtime->id, home, err) < 0) {
        backend->functions->give_home(backend, home);
        return -1;
    }
    json_put_text(runtime->spec, "home", home);
    backend->functions->home_is_kept(backend, home);
    return 0;
}

static int start_sandbox(struct service *service, struct runtime *runtime,
                         struct started_sandbox *place, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf policy = STRBUF_INIT;
    struct dormant_sandbox dormant = {.egress = ""};
    struct sandbox_config order = {.runtime_id = runtime->id};

    if (service_check(service, err) < 0 || service_check_space(service, err) < 0 ||
        need_home(service, runtime, err) < 0)
        return -1;
    order = order_of(runtime);
    if (egress_check(service, &runtime->tenant_id, &runtime->owner_id, err) < 0)
        return -1;
    if (service->backend->functions->start(service->backend, &order, place, err) < 0)
        return -1;
    /* No user code runs before the sandbox has its key. */
    if (egress_assign(service, runtime, place->network, &policy, err) == 0) {
        dormant = (struct dormant_sandbox){place->url, place->init_key, policy.text};
        if (sandbox_init_send(service, runtime, &dormant, err) == 0) {
            runtime->proves = true;
            return 0;
        }
    }
    remove_sandbox(service, runtime, place->network);
    return -1;
}

static int keep_place(struct service *service, struct runtime *runtime,
                      const struct started_sandbox *place, struct error *err)
{
    runtime_record_set_text(&runtime->container_id, place->container_id);
    runtime_record_set_text(&runtime->network, place->network);
    runtime_record_set_text(&runtime->url, place->url);
    runtime->backend = service->backend->functions->name(service->backend);
    if (runtime_record_change_status(service, runtime, RUNTIME_RUNNING, NULL, err) == 0) {
        service->backend->functions->network_is_kept(service->backend, place->network);
        return 0;
    }
    /* The row still has status starting, so the start is repeated. */
    remove_sandbox(service, runtime, place->network);
    return -1;
}

static void note_started(struct service *service, const struct runtime *runtime,
                         enum start_kind kind, int64_t begun_ms)
{
    int64_t duration_ms = clock_monotonic_ms() - begun_ms;

    metrics_count_start(service->metrics, kind, duration_ms);
    log_info("sandbox.started", LOG_STR("runtime_id", runtime->id),
             LOG_STR("kind", start_kind_to_string(kind)), LOG_INT("duration_ms", duration_ms));
}

/* A warm sandbox that was claimed: only the key is missing. */
static bool is_claimed(const struct runtime *runtime)
{
    return runtime->status == RUNTIME_STARTING && runtime->url != NULL;
}

/* If it does not accept its key (its container has ended, or it accepted it before we crashed), a
 * cold start on the same home replaces it. */
static int hand_init_key(struct service *service, struct runtime *runtime, bool *is_awake_out,
                         struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf policy = STRBUF_INIT;
    int64_t begun_ms = clock_monotonic_ms();
    struct error why = ERROR_INIT;

    /* NULL with a back end without networks. */
    if (egress_assign(service, runtime, runtime->network != NULL ? runtime->network : "", &policy,
                      &why) < 0 ||
        sandbox_init_send_claimed(service, runtime, policy.text, &why) < 0) {
        log_warning("warm.claim_failed", LOG_STR("runtime_id", runtime->id), LOG_ERROR(&why));
        remove_sandbox(service, runtime, runtime->network != NULL ? runtime->network : "");
        runtime_record_clear_container(runtime);
        return 0;
    }
    *is_awake_out = true;
    if (runtime_record_change_status(service, runtime, RUNTIME_RUNNING, NULL, err) < 0)
        return -1;
    note_started(service, runtime, START_WARM, begun_ms);
    return 0;
}

static int start_and_record(struct service *service, struct runtime *runtime, struct error *err)
{
    struct started_sandbox place = {.container_id = ""};
    int64_t begun_ms = clock_monotonic_ms();

    if (runtime->status == RUNTIME_ERROR)
        runtime->restart_count++;
    runtime_record_set_text(&runtime->container_id, NULL);
    runtime_record_set_text(&runtime->url, NULL);
    if (runtime->status != RUNTIME_STARTING &&
        runtime_record_change_status(service, runtime, RUNTIME_STARTING, NULL, err) < 0)
        return -1;
    if (start_sandbox(service, runtime, &place, err) < 0) {
        struct error why = *err;

        runtime_record_set_text(&runtime->network, NULL);
        metrics_count_failure(service->metrics, why.message);
        return runtime_record_change_status(service, runtime, RUNTIME_ERROR, why.message, err);
    }
    if (keep_place(service, runtime, &place, err) < 0)
        return -1;
    note_started(service, runtime, START_COLD, begun_ms);
    return 0;
}

/* A sandbox that cannot be resumed is replaced by a cold start on the same home. */
static int resume_container(struct service *service, struct runtime *runtime, struct error *err)
{
    struct error why = ERROR_INIT;

    if (runtime->container_id == NULL)
        return start_and_record(service, runtime, err);
    if (service->backend->functions->resume(service->backend, runtime->container_id, &why) == 0)
        return runtime_record_change_status(service, runtime, RUNTIME_RUNNING, NULL, err);
    if (why.code == ERROR_UNAVAILABLE || why.code == ERROR_TIMEOUT) {
        *err = why;
        return -1;
    }
    log_warning("sandbox.resume_failed", LOG_STR("runtime_id", runtime->id), LOG_ERROR(&why));
    remove_sandbox(service, runtime, runtime->network != NULL ? runtime->network : "");
    runtime_record_clear_container(runtime);
    return start_and_record(service, runtime, err);
}

static int take_start(struct service *service, struct runtime *runtime, struct error *err)
{
    bool is_awake = false;

    if (is_claimed(runtime) && hand_init_key(service, runtime, &is_awake, err) < 0)
        return -1;
    if (is_awake)
        return 0;
    if (runtime_state_next(VERB_START, runtime->status).act == ACT_THAW)
        return resume_container(service, runtime, err);
    return start_and_record(service, runtime, err);
}

static int launch_held(struct service *service, const char *id, struct error *err)
{
    CLEANUP(runtime_lock_release) struct runtime_lock held = runtime_lock_take(service->locks, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    if (runtime.desired != DESIRED_RUNNING ||
        runtime_state_next(VERB_START, runtime.status).act == ACT_NONE)
        return 0;
    return take_start(service, &runtime, err);
}

int lifecycle_start(struct service *service, const char *id, struct error *err)
{
    int rc = launch_held(service, id, err);

    reconcile_queue_add(service->reconcile_queue, RECONCILE_REFILL_LATER);
    return rc;
}

/* --- end --- */

static int end_sandbox(struct service *service, struct runtime *runtime, struct error *err)
{
    if (service->backend->functions->remove(service->backend, runtime->id, runtime->network, err) <
        0)
        return -1;
    runtime_record_clear_container(runtime);
    return 0;
}

/* Removes the remains of a paused or stopped runtime's sandbox. */
static int remove_container(struct service *service, struct runtime *runtime, struct error *err)
{
    if (end_sandbox(service, runtime, err) < 0)
        return -1;
    return runtime_record_change_status(service, runtime, runtime->status, runtime->status_detail,
                                        err);
}

/* If it cannot be paused, it is ended: its files are kept. */
static int pause_container(struct service *service, struct runtime *runtime, struct error *err)
{
    struct backend *backend = service->backend;

    if (runtime->container_id == NULL ||
        backend->functions->pause(backend, runtime->container_id, err) == 0)
        return 0;
    if (err->code == ERROR_UNAVAILABLE || err->code == ERROR_TIMEOUT)
        return -1;
    log_warning("sandbox.pause_failed", LOG_STR("runtime_id", runtime->id), LOG_ERROR(err));
    return remove_container(service, runtime, err);
}

/* Row first: a sandbox whose row says running is never paused by us, even after a crash. */
static int pause_runtime(struct service *service, struct runtime *runtime, struct error *err)
{
    if (runtime_record_change_status(service, runtime, RUNTIME_PAUSED, NULL, err) < 0)
        return -1;
    return pause_container(service, runtime, err);
}

static int delete_runtime(struct service *service, struct runtime *runtime, struct error *err)
{
    const char *home = json_text_or(runtime->spec, "home", "");

    if (end_sandbox(service, runtime, err) < 0)
        return -1;
    if (home[0] != '\0' &&
        service->backend->functions->remove_home(service->backend, home, err) < 0)
        return -1;
    if (runtime_store_remove(service->db, runtime->id, err) < 0)
        return -1;
    /* It may have been the last container that used an image of a revoked key. */
    build_queue_wake(service->build_queue);
    log_info("runtime.deleted", LOG_STR("runtime_id", runtime->id),
             LOG_STR("session_id", runtime->session_id));
    return 0;
}

static int take_step(struct service *service, struct runtime *runtime, enum runtime_verb verb,
                     struct error *err)
{
    struct runtime_transition step = runtime_state_next(verb, runtime->status);

    switch (step.act) {
    case ACT_NONE:
        return 0;
    case ACT_LAUNCH:
    case ACT_THAW:
        return take_start(service, runtime, err);
    case ACT_FORGET:
        return delete_runtime(service, runtime, err);
    case ACT_FREEZE:
        return pause_runtime(service, runtime, err);
    case ACT_END:
        break;
    }
    if (end_sandbox(service, runtime, err) < 0)
        return -1;
    return runtime_record_change_status(service, runtime, step.next, NULL, err);
}

int lifecycle_apply(struct service *service, enum runtime_verb verb, const char *id,
                    struct error *err)
{
    CLEANUP(runtime_lock_release) struct runtime_lock held = runtime_lock_take(service->locks, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    /* The desired state may have changed. */
    if (runtime_verb_of(runtime.desired) != verb)
        return 0;
    return take_step(service, &runtime, verb, err);
}

static const enum runtime_desire desire_of_verb[N_VERBS] = {
    [VERB_START] = DESIRED_RUNNING,  [VERB_PAUSE] = DESIRED_PAUSED, [VERB_STOP] = DESIRED_STOPPED,
    [VERB_DELETE] = DESIRED_DELETED, [VERB_LOSE] = DESIRED_RUNNING,
};

/* Pausing a stopped runtime changes neither status nor desired state. */
static bool is_without_effect(const struct runtime *runtime, enum runtime_verb verb)
{
    return verb == VERB_PAUSE && runtime->status == RUNTIME_STOPPED;
}

int lifecycle_request(struct service *service, enum runtime_verb verb, const char *id,
                      struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    if (runtime.desired == DESIRED_DELETED)
        return error_set(err, ERROR_NOT_FOUND, "no such runtime");
    if (is_without_effect(&runtime, verb))
        return 0;
    if (runtime_store_want(service->db, id, desire_of_verb[verb], err) < 0)
        return -1;
    return lifecycle_apply(service, verb, id, err);
}

/* --- observed events --- */

static int get_by_container(struct service *service, const char *id, const char *container_id,
                            struct runtime *runtime_out, bool *is_it_out, struct error *err)
{
    *is_it_out = false;
    if (runtime_store_get(service->db, id, runtime_out, err) < 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    *is_it_out =
        runtime_out->container_id != NULL && text_equal(runtime_out->container_id, container_id);
    return 0;
}

/* Row before container: users wait for the message, not for the removal. */
static int record_loss(struct service *service, struct runtime *runtime, const char *why,
                       struct error *err)
{
    struct runtime_transition step = runtime_state_next(VERB_LOSE, runtime->status);
    CLEANUP(mem_freep) char *network = TAKE_PTR(runtime->network);
    struct error removal = ERROR_INIT;

    if (step.act == ACT_NONE)
        return 0;
    runtime_record_clear_container(runtime);
    /* A lost paused sandbox is no error: it is started again on its next use. */
    if (runtime_record_change_status(service, runtime, step.next,
                                     step.next == RUNTIME_ERROR ? why : NULL, err) < 0)
        return -1;
    if (service->backend->functions->remove(service->backend, runtime->id, network, &removal) < 0)
        log_warning("container.remove_failed", LOG_STR("runtime_id", runtime->id),
                    LOG_ERROR(&removal));
    return 0;
}

int lifecycle_record_loss(struct service *service, const char *id, const char *container_id,
                          const char *why, struct error *err)
{
    CLEANUP(runtime_lock_release) struct runtime_lock held = runtime_lock_take(service->locks, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    bool is_it = false;

    if (get_by_container(service, id, container_id, &runtime, &is_it, err) < 0)
        return -1;
    return is_it ? record_loss(service, &runtime, why, err) : 0;
}

int lifecycle_renew(struct service *service, const char *id, const char *container_id,
                    struct error *err)
{
    CLEANUP(runtime_lock_release) struct runtime_lock held = runtime_lock_take(service->locks, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    bool is_it = false;

    if (get_by_container(service, id, container_id, &runtime, &is_it, err) < 0)
        return -1;
    if (!is_it || runtime.status != RUNTIME_RUNNING || runtime.desired != DESIRED_RUNNING)
        return 0;
    log_info("sandbox.renewed", LOG_STR("runtime_id", id));
    if (end_sandbox(service, &runtime, err) < 0)
        return -1;
    return start_and_record(service, &runtime, err);
}

static bool is_noted(const struct runtime *runtime, const char *detail)
{
    if (detail == NULL || runtime->status_detail == NULL)
        return detail == runtime->status_detail;
    return text_equal(detail, runtime->status_detail);
}

int lifecycle_set_detail(struct service *service, const char *id, const char *container_id,
                         const char *detail, struct error *err)
{
    CLEANUP(runtime_lock_release) struct runtime_lock held = runtime_lock_take(service->locks, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    bool is_it = false;

    if (get_by_container(service, id, container_id, &runtime, &is_it, err) < 0)
        return -1;
    if (!is_it || runtime.status != RUNTIME_RUNNING || is_noted(&runtime, detail))
        return 0;
    return runtime_record_change_status(service, &runtime, RUNTIME_RUNNING, detail, err);
}

int lifecycle_pause_again(struct service *service, const char *id, struct error *err)
{
    CLEANUP(runtime_lock_release) struct runtime_lock held = runtime_lock_take(service->locks, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    if (runtime.status != RUNTIME_PAUSED || runtime.desired != DESIRED_PAUSED)
        return 0;
    return pause_container(service, &runtime, err);
}

int lifecycle_remove_container(struct service *service, const char *id, struct error *err)
{
    CLEANUP(runtime_lock_release) struct runtime_lock held = runtime_lock_take(service->locks, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    if (!runtime_record_has_no_container(&runtime) ||
        (runtime.status == RUNTIME_PAUSED && runtime.desired == DESIRED_RUNNING))
        return 0;
    if (runtime.container_id == NULL)
        return service->backend->functions->remove(service->backend, id, "", err);
    return remove_container(service, &runtime, err);
}
