#include "runtime/life.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend.h"
#include "runtime/gate.h"
#include "runtime/reconcile.h"
#include "runtime/service.h"

#define ADD_TRIES 3
#define KEY_CONTEXT_BYTES 64
#define ID_LETTERS 16

static void set_text(char **field, const char *text)
{
    mem_free(*field);
    *field = text != NULL && text[0] != '\0' ? mem_dup_text(text) : NULL;
}

static void key_context(const char *id, char context[KEY_CONTEXT_BYTES])
{
    (void)snprintf(context, KEY_CONTEXT_BYTES, "runtimes.session_key:%.16s", id);
}

/* The only place that changes a status. */
static int change_status(struct service *service, struct runtime *runtime, enum runtime_status next,
                         const char *detail, struct error *err)
{
    enum runtime_status from = runtime->status;

    runtime->status = next;
    set_text(&runtime->status_detail, detail);
    if (runtime_store_update(service->db, runtime, from, err) < 0) {
        runtime->status = from;
        return -1;
    }
    log_info("runtime.changed", LOG_STR("runtime_id", runtime->id),
             LOG_STR("session_id", runtime->session_id),
             LOG_STR("from", runtime_status_to_string(from)),
             LOG_STR("to", runtime_status_to_string(next)),
             LOG_STR("detail", detail != NULL ? detail : ""));
    return 0;
}

/* --- begin --- */

static void random_letters(char id[ID_LETTERS + 1])
{
    unsigned char bytes[ID_LETTERS];

    crypto_random(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        id[i] = (char)('a' + bytes[i] % 26);
    id[ID_LETTERS] = '\0';
}

static void make_key(const struct service *service, struct runtime *runtime)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    char token[CRYPTO_TOKEN_BYTES] = "";
    char context[KEY_CONTEXT_BYTES] = "";

    crypto_random_token(token);
    secret_set(&key, token);
    key_context(runtime->id, context);
    keyring_seal(&service->keyring, context, &key, &sealed);
    keyring_hash_token(&service->keyring, token, runtime->session_key_hash);
    set_text(&runtime->session_key, sealed.text);
    explicit_bzero(token, sizeof(token));
}

static int add_row(struct service *service, const struct start_spec *spec,
                   struct runtime *runtime_out, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    random_letters(runtime.id);
    runtime.status = RUNTIME_STARTING;
    runtime.desired = DESIRED_RUNNING;
    runtime.owner_id = spec->owner_id;
    runtime.created_at_us = clock_utc_us();
    set_text(&runtime.session_id, spec->session_id);
    set_text(&runtime.image, spec->image);
    make_key(service, &runtime);
    runtime.spec = start_spec_to_row(spec, &service->keyring, runtime.id, err);
    if (runtime.spec == NULL || runtime_store_add(service->db, &runtime, err) < 0)
        return -1;
    *runtime_out = runtime;
    runtime = (struct runtime)RUNTIME_INIT;
    return 0;
}

static int add_new(struct service *service, struct start_spec *spec, struct runtime *runtime_out,
                   struct error *err)
{
    struct backend *backend = service->backend;

    if (backend->functions->take_home(backend, spec->home, err) < 0)
        return -1;
    if (add_row(service, spec, runtime_out, err) < 0) {
        backend->functions->give_home(backend, spec->home);
        return -1;
    }
    backend->functions->home_is_kept(backend, spec->home);
    return 0;
}

/* Another image on the same files: a new runtime takes the old one's home over. */
static int replace(struct service *service, struct start_spec *spec, struct runtime *runtime,
                   struct error *err)
{
    CLEANUP(runtime_done) struct runtime old = *runtime;

    *runtime = (struct runtime)RUNTIME_INIT;
    (void)snprintf(spec->home, sizeof(spec->home), "%s", json_text_or(old.spec, "home", ""));
    if (old.status == RUNTIME_PAUSED && life_apply(service, VERB_STOP, old.id, err) < 0)
        return -1;
    if (add_row(service, spec, runtime, err) < 0)
        return -1;
    return runtime_store_remove(service->db, old.id, err);
}

static bool is_at_rest(const struct runtime *runtime)
{
    return runtime->status != RUNTIME_RUNNING && runtime->status != RUNTIME_STARTING;
}

/* ERROR_CONFLICT when another request was faster: then there is one to be found. */
static int find_or_add(struct service *service, struct start_spec *spec,
                       struct runtime *runtime_out, struct error *err)
{
    if (runtime_store_get_session(service->db, spec->session_id, runtime_out, err) < 0)
        return err->code == ERROR_NOT_FOUND ? add_new(service, spec, runtime_out, err) : -1;
    if (runtime_out->desired == DESIRED_DELETED) {
        char id[RUNTIME_ID_BYTES] = "";

        memcpy(id, runtime_out->id, sizeof(id));
        runtime_done(runtime_out);
        if (life_apply(service, VERB_DELETE, id, err) < 0)
            return -1;
        return add_new(service, spec, runtime_out, err);
    }
    if (is_at_rest(runtime_out) && !text_equal(runtime_out->image, spec->image))
        return replace(service, spec, runtime_out, err);
    return 0;
}

static int find_or_add_in_race(struct service *service, struct start_spec *spec,
                               struct runtime *runtime_out, struct error *err)
{
    for (int i = 0; i < ADD_TRIES; i++) {
        if (find_or_add(service, spec, runtime_out, err) == 0)
            return 0;
        if (err->code != ERROR_CONFLICT)
            return -1;
        runtime_done(runtime_out);
    }
    return -1;
}

static int want_running(struct service *service, const struct runtime *runtime, struct error *err)
{
    if (runtime->desired != DESIRED_RUNNING &&
        runtime_store_want(service->db, runtime->id, DESIRED_RUNNING, err) < 0)
        return -1;
    if (runtime->status == RUNTIME_RUNNING)
        return 0;
    return gate_queue_start(service->gate, runtime->id, err);
}

int life_begin(struct service *service, struct start_spec *spec, struct runtime *runtime_out,
               struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (service_check(service, err) < 0)
        return -1;
    if (find_or_add_in_race(service, spec, &runtime, err) < 0)
        return -1;
    if (want_running(service, &runtime, err) < 0)
        return -1;
    *runtime_out = runtime;
    runtime = (struct runtime)RUNTIME_INIT;
    return 0;
}

int life_resume(struct service *service, const char *id, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (service_check(service, err) < 0 || runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    if (runtime.desired == DESIRED_DELETED)
        return error_set(err, ERROR_NOT_FOUND, "no such runtime");
    return want_running(service, &runtime, err);
}

/* --- launch --- */

static int start_sandbox(struct service *service, const struct runtime *runtime,
                         struct sandbox_place *place, struct error *err)
{
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct sandbox_order order = {
        .runtime_id = runtime->id, .session_id = runtime->session_id, .image = runtime->image};
    char context[KEY_CONTEXT_BYTES] = "";

    if (service_check(service, err) < 0)
        return -1;
    key_context(runtime->id, context);
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

    set_text(&runtime->container_id, place->container_id);
    set_text(&runtime->network, place->network);
    set_text(&runtime->url, place->url);
    if (change_status(service, runtime, RUNTIME_RUNNING, NULL, err) == 0) {
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
    set_text(&runtime->container_id, NULL);
    set_text(&runtime->url, NULL);
    if (runtime->status != RUNTIME_STARTING &&
        change_status(service, runtime, RUNTIME_STARTING, NULL, err) < 0)
        return -1;
    if (start_sandbox(service, runtime, &place, err) < 0) {
        struct error why = *err;

        set_text(&runtime->network, NULL);
        return change_status(service, runtime, RUNTIME_ERROR, why.message, err);
    }
    if (keep_place(service, runtime, &place, err) < 0)
        return -1;
    log_info("sandbox.started", LOG_STR("runtime_id", runtime->id),
             LOG_INT("duration_ms", clock_monotonic_ms() - begun_ms));
    return 0;
}

static int launch_held(struct service *service, const char *id, struct error *err)
{
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
    int rc = 0;

    gate_enter(service->gate, id);
    rc = launch_held(service, id, err);
    gate_leave(service->gate, id);
    reconciler_ask(service->reconciler, RECONCILE_REFILL_LATER);
    return rc;
}

/* --- end --- */

static void forget_place(struct runtime *runtime)
{
    set_text(&runtime->container_id, NULL);
    set_text(&runtime->network, NULL);
    set_text(&runtime->url, NULL);
}

static int end_sandbox(struct service *service, struct runtime *runtime, struct error *err)
{
    if (service->backend->functions->remove(service->backend, runtime->id, runtime->network, err) <
        0)
        return -1;
    forget_place(runtime);
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
    return change_status(service, runtime, step.next, NULL, err);
}

static int apply_held(struct service *service, enum verb verb, const char *id, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    return take_step(service, &runtime, verb, err);
}

int life_apply(struct service *service, enum verb verb, const char *id, struct error *err)
{
    int rc = 0;

    gate_enter(service->gate, id);
    rc = apply_held(service, verb, id, err);
    gate_leave(service->gate, id);
    return rc;
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
    forget_place(runtime);
    if (change_status(service, runtime, step.next, why, err) < 0)
        return -1;
    if (service->backend->functions->remove(service->backend, runtime->id, network, &removal) < 0)
        log_warning("container.left", LOG_STR("runtime_id", runtime->id), LOG_ERROR(&removal));
    return 0;
}

static int lose_held(struct service *service, const char *id, const char *container_id,
                     const char *why, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    bool is_it = false;

    if (get_by_container(service, id, container_id, &runtime, &is_it, err) < 0)
        return -1;
    return is_it ? lose(service, &runtime, why, err) : 0;
}

int life_lose(struct service *service, const char *id, const char *container_id, const char *why,
              struct error *err)
{
    int rc = 0;

    gate_enter(service->gate, id);
    rc = lose_held(service, id, container_id, why, err);
    gate_leave(service->gate, id);
    return rc;
}

static int renew_held(struct service *service, const char *id, const char *container_id,
                      struct error *err)
{
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

int life_renew(struct service *service, const char *id, const char *container_id, struct error *err)
{
    int rc = 0;

    gate_enter(service->gate, id);
    rc = renew_held(service, id, container_id, err);
    gate_leave(service->gate, id);
    return rc;
}

static int note_held(struct service *service, const char *id, const char *container_id,
                     const char *detail, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    bool is_it = false;

    if (get_by_container(service, id, container_id, &runtime, &is_it, err) < 0)
        return -1;
    if (!is_it)
        return 0;
    return change_status(service, &runtime, RUNTIME_RUNNING, detail, err);
}

int life_note(struct service *service, const char *id, const char *container_id, const char *detail,
              struct error *err)
{
    int rc = 0;

    gate_enter(service->gate, id);
    rc = note_held(service, id, container_id, detail, err);
    gate_leave(service->gate, id);
    return rc;
}

static int clear_held(struct service *service, const char *id, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    if (!is_at_rest(&runtime))
        return 0;
    return service->backend->functions->remove(service->backend, id, "", err);
}

int life_clear(struct service *service, const char *id, struct error *err)
{
    int rc = 0;

    gate_enter(service->gate, id);
    rc = clear_held(service, id, err);
    gate_leave(service->gate, id);
    return rc;
}
