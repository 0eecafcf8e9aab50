#include "runtime/life.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "runtime/backend.h"
#include "runtime/gate.h"
#include "runtime/reconcile.h"
#include "runtime/row.h"
#include "runtime/service.h"
#include "store/runtime_store.h"

/* --- launch --- */

static int start_sandbox(struct service *service, const struct runtime *runtime,
                         struct sandbox_place *place, struct error *err)
{
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct sandbox_order order = {
        .runtime_id = runtime->id, .session_id = runtime->session_id, .image = runtime->image};
    char context[ROW_KEY_CONTEXT_BYTES] = "";

    if (service_check(service, err) < 0)
        return -1;
    row_key_context(runtime->id, context);
    if (keyring_open(&service->keyring, context, runtime->session_key, &key, err) < 0 ||
        start_spec_from_row(runtime->spec, &service->keyring, runtime->id, &spec, err) < 0)
        return error_wrap(err, "the runtime's secrets cannot be opened");
    order.home = spec.home;
    order.conversation_id = spec.conversation_id;
    order.environment = spec.environment;
    order.memory_bytes = spec.memory_bytes;
    order.nano_cpus = spec.nano_cpus;
    order.session_key = secret_reveal(&key);
    return service->backend->functions->start(service->backend, &order, place, err);
}

static int keep_place(struct service *service, struct runtime *runtime,
                      const struct sandbox_place *place, struct error *err)
{
    struct error removal = ERROR_INIT;

    row_set_text(&runtime->container_id, place->container_id);
    row_set_text(&runtime->network, place->network);
    row_set_text(&runtime->url, place->url);
    if (row_change_status(service, runtime, RUNTIME_RUNNING, NULL, err) == 0) {
        service->backend->functions->network_is_kept(service->backend, place->network);
        return 0;
    }
    /* The row still says starting: whoever looks next starts it again. */
    if (service->backend->functions->remove(service->backend, runtime->id, place->network,
                                            &removal) < 0)
        log_warning("container.left", LOG_STR("runtime_id", runtime->id), LOG_ERROR(&removal));
    return -1;
}

static int launch(struct service *service, struct runtime *runtime, struct error *err)
{
    struct sandbox_place place = {.container_id = ""};
    int64_t begun_ms = clock_monotonic_ms();

    if (runtime->status == RUNTIME_ERROR)
        runtime->restart_count++;
    row_set_text(&runtime->container_id, NULL);
    row_set_text(&runtime->url, NULL);
    if (runtime->status != RUNTIME_STARTING &&
        row_change_status(service, runtime, RUNTIME_STARTING, NULL, err) < 0)
        return -1;
    if (start_sandbox(service, runtime, &place, err) < 0) {
        struct error why = *err;

        row_set_text(&runtime->network, NULL);
        return row_change_status(service, runtime, RUNTIME_ERROR, why.message, err);
    }
    if (keep_place(service, runtime, &place, err) < 0)
        return -1;
    log_info("sandbox.started", LOG_STR("runtime_id", runtime->id),
             LOG_INT("duration_ms", clock_monotonic_ms() - begun_ms));
    return 0;
}

static int launch_held(struct service *service, const char *id, struct error *err)
{
    CLEANUP(gate_leave) struct gate_pass pass = gate_enter(service->gate, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    if (runtime.desired != DESIRED_RUNNING ||
        state_step(VERB_START, runtime.status).act != ACT_LAUNCH)
        return 0;
    return launch(service, &runtime, err);
}

int life_launch(struct service *service, const char *id, struct error *err)
{
    int rc = launch_held(service, id, err);

    reconciler_ask(service->reconciler, RECONCILE_REFILL_LATER);
    return rc;
}

/* --- end --- */

static int end_sandbox(struct service *service, struct runtime *runtime, struct error *err)
{
    if (service->backend->functions->remove(service->backend, runtime->id, runtime->network, err) <
        0)
        return -1;
    row_forget_place(runtime);
    return 0;
}

static int forget(struct service *service, struct runtime *runtime, struct error *err)
{
    const char *home = json_text_or(runtime->spec, "home", "");

    if (end_sandbox(service, runtime, err) < 0)
        return -1;
    if (home[0] != '\0' &&
        service->backend->functions->remove_home(service->backend, home, err) < 0)
        return -1;
    if (runtime_store_remove(service->db, runtime->id, err) < 0)
        return -1;
    log_info("runtime.forgotten", LOG_STR("runtime_id", runtime->id),
             LOG_STR("session_id", runtime->session_id));
    return 0;
}

static int take_step(struct service *service, struct runtime *runtime, enum verb verb,
                     struct error *err)
{
    struct step step = state_step(verb, runtime->status);

    switch (step.act) {
    case ACT_NONE:
        return 0;
    case ACT_LAUNCH:
        return launch(service, runtime, err);
    case ACT_FORGET:
        return forget(service, runtime, err);
    case ACT_END:
        break;
    }
    if (end_sandbox(service, runtime, err) < 0)
        return -1;
    return row_change_status(service, runtime, step.next, NULL, err);
}

int life_apply(struct service *service, enum verb verb, const char *id, struct error *err)
{
    CLEANUP(gate_leave) struct gate_pass pass = gate_enter(service->gate, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    return take_step(service, &runtime, verb, err);
}

static const enum runtime_desire desire_of_verb[N_VERBS] = {
    [VERB_START] = DESIRED_RUNNING,  [VERB_PAUSE] = DESIRED_PAUSED, [VERB_STOP] = DESIRED_STOPPED,
    [VERB_DELETE] = DESIRED_DELETED, [VERB_LOSE] = DESIRED_RUNNING,
};

/* A stopped one that is asked to pause stays stopped, and so does its wish. */
static bool is_idle_wish(const struct runtime *runtime, enum verb verb)
{
    return verb == VERB_PAUSE && runtime->status == RUNTIME_STOPPED;
}

int life_wish(struct service *service, enum verb verb, const char *id, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    if (runtime.desired == DESIRED_DELETED)
        return error_set(err, ERROR_NOT_FOUND, "no such runtime");
    if (is_idle_wish(&runtime, verb))
        return 0;
    if (runtime_store_want(service->db, id, desire_of_verb[verb], err) < 0)
        return -1;
    return life_apply(service, verb, id, err);
}

/* --- what is seen --- */

static int get_by_container(struct service *service, const char *id, const char *container_id,
                            struct runtime *runtime_out, bool *is_it_out, struct error *err)
{
    *is_it_out = false;
    if (runtime_store_get(service->db, id, runtime_out, err) < 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    *is_it_out = runtime_out->status == RUNTIME_RUNNING && runtime_out->container_id != NULL &&
                 text_equal(runtime_out->container_id, container_id);
    return 0;
}

/* Told first, tidied up after: people wait for the words, nobody for the container's end. */
static int lose(struct service *service, struct runtime *runtime, const char *why,
                struct error *err)
{
    struct step step = state_step(VERB_LOSE, runtime->status);
    CLEANUP(mem_freep) char *network = TAKE_PTR(runtime->network);
    struct error removal = ERROR_INIT;

    if (step.act == ACT_NONE)
        return 0;
    row_forget_place(runtime);
    if (row_change_status(service, runtime, step.next, why, err) < 0)
        return -1;
    if (service->backend->functions->remove(service->backend, runtime->id, network, &removal) < 0)
        log_warning("container.left", LOG_STR("runtime_id", runtime->id), LOG_ERROR(&removal));
    return 0;
}

int life_lose(struct service *service, const char *id, const char *container_id, const char *why,
              struct error *err)
{
    CLEANUP(gate_leave) struct gate_pass pass = gate_enter(service->gate, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    bool is_it = false;

    if (get_by_container(service, id, container_id, &runtime, &is_it, err) < 0)
        return -1;
    return is_it ? lose(service, &runtime, why, err) : 0;
}

int life_renew(struct service *service, const char *id, const char *container_id, struct error *err)
{
    CLEANUP(gate_leave) struct gate_pass pass = gate_enter(service->gate, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    bool is_it = false;

    if (get_by_container(service, id, container_id, &runtime, &is_it, err) < 0)
        return -1;
    if (!is_it || runtime.desired != DESIRED_RUNNING)
        return 0;
    log_info("sandbox.renewed", LOG_STR("runtime_id", id));
    if (end_sandbox(service, &runtime, err) < 0)
        return -1;
    return launch(service, &runtime, err);
}

int life_note(struct service *service, const char *id, const char *container_id, const char *detail,
              struct error *err)
{
    CLEANUP(gate_leave) struct gate_pass pass = gate_enter(service->gate, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    bool is_it = false;

    if (get_by_container(service, id, container_id, &runtime, &is_it, err) < 0)
        return -1;
    if (!is_it)
        return 0;
    return row_change_status(service, &runtime, RUNTIME_RUNNING, detail, err);
}

int life_clear(struct service *service, const char *id, struct error *err)
{
    CLEANUP(gate_leave) struct gate_pass pass = gate_enter(service->gate, id);
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    if (!row_is_at_rest(&runtime))
        return 0;
    return service->backend->functions->remove(service->backend, id, "", err);
}
