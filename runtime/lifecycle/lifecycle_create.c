#include "runtime/lifecycle/lifecycle_create.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/backend.h"
#include "runtime/core/runtime_record.h"
#include "runtime/core/service.h"
#include "runtime/core/start_queue.h"
#include "runtime/core/start_spec.h"
#include "runtime/core/tenant.h"
#include "runtime/egress/egress.h"
#include "runtime/lifecycle/lifecycle.h"
#include "runtime/lifecycle/warm_pool.h"
#include "store/runtime/runtime_store.h"
#include "store/runtime/warm_store.h"

#define ADD_TRIES 3

static void make_key(const struct service *service, struct runtime *runtime)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    char token[CRYPTO_TOKEN_BYTES] = "";
    char context[RUNTIME_RECORD_KEY_CONTEXT_BYTES] = "";

    crypto_random_token(token);
    secret_set(&key, token);
    runtime_record_key_context(runtime->id, context);
    keyring_seal(&service->keyring, context, &key, &sealed);
    keyring_hash_token(&service->keyring, token, runtime->session_key_hash);
    runtime_record_set_text(&runtime->session_key, sealed.text);
    explicit_bzero(token, sizeof(token));
}

static int64_t most_runtimes(const struct start_spec *spec)
{
    return uuid_is_set(&spec->tenant.id) ? spec->tenant.max_runtimes : 0;
}

/* Fills the row except the id, which is already set, and the container, network and address. */
static int fill_row(struct service *service, const struct start_spec *spec, struct runtime *runtime,
                    struct error *err)
{
    runtime->status = RUNTIME_STARTING;
    runtime->desired = DESIRED_RUNNING;
    runtime->proves = true;
    runtime->owner_id = spec->owner_id;
    runtime->tenant_id = spec->tenant.id;
    runtime->created_at_us = clock_utc_us();
    runtime->backend = service->backend->functions->name(service->backend);
    runtime_record_set_text(&runtime->session_id, spec->session_id);
    runtime_record_set_text(&runtime->tenant_session, spec->tenant_session);
    runtime_record_set_text(&runtime->image, spec->image);
    make_key(service, runtime);
    runtime->spec = start_spec_to_row(spec, &service->keyring, runtime->id, err);
    return runtime->spec != NULL ? 0 : -1;
}

static int add_row(struct service *service, const struct start_spec *spec,
                   struct runtime *runtime_out, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    runtime_record_make_id(runtime.id);
    if (fill_row(service, spec, &runtime, err) < 0 ||
        runtime_store_add(service->db, &runtime, most_runtimes(spec), err) < 0)
        return -1;
    *runtime_out = runtime;
    runtime = (struct runtime)RUNTIME_INIT;
    return 0;
}

/* --- claiming a warm sandbox --- */

struct warm_claim {
    struct service *service;
    struct start_spec *spec;
};

/* Row of a claimed member: status starting, with address. Its launch only hands the key over. */
static int take_member(void *context, const struct warm_sandbox *member,
                       struct runtime *runtime_out, struct error *err)
{
    struct warm_claim *claim = context;
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    memcpy(runtime.id, member->id, sizeof(runtime.id));
    (void)snprintf(claim->spec->home, sizeof(claim->spec->home), "%s", member->home);
    runtime_record_set_text(&runtime.container_id, member->container_id);
    runtime_record_set_text(&runtime.network, member->network);
    runtime_record_set_text(&runtime.url, member->url);
    if (fill_row(claim->service, claim->spec, &runtime, err) < 0)
        return -1;
    json_put_text(runtime.spec, "init_key", member->init_key);
    *runtime_out = runtime;
    runtime = (struct runtime)RUNTIME_INIT;
    return 0;
}

static int claim(struct service *service, struct start_spec *spec, struct runtime *runtime_out,
                 struct error *err)
{
    struct warm_claim claim = {.service = service, .spec = spec};
    const struct warm_taker taker = {
        .context = &claim, .fill = take_member, .max_runtimes = most_runtimes(spec)};

    if (egress_check(service, &spec->tenant.id, &spec->owner_id, err) < 0)
        return -1;
    return warm_pool_claim(service, spec, &taker, runtime_out, err);
}

/* The request does not wait for the engine: if no home is ready, the start makes one. */
static int add_cold(struct service *service, struct start_spec *spec, struct runtime *runtime_out,
                    struct error *err)
{
    struct backend *backend = service->backend;
    bool has_home = false;

    /* A home that an earlier try returned may be in use by now. */
    spec->home[0] = '\0';
    has_home = backend->functions->take_ready_home(backend, spec->home);

    if (add_row(service, spec, runtime_out, err) < 0) {
        if (has_home)
            backend->functions->give_home(backend, spec->home);
        return -1;
    }
    if (has_home)
        backend->functions->home_is_kept(backend, spec->home);
    return 0;
}

static int add_new(struct service *service, struct start_spec *spec, struct runtime *runtime_out,
                   struct error *err)
{
    if (service_check_space(service, err) < 0)
        return -1;
    if (claim(service, spec, runtime_out, err) == 0)
        return 0;
    return err->code == ERROR_NOT_FOUND ? add_cold(service, spec, runtime_out, err) : -1;
}

/* For another image on the same files: a new runtime takes over the old one's home. */
static int replace(struct service *service, struct start_spec *spec, struct runtime *runtime,
                   struct error *err)
{
    CLEANUP(runtime_done) struct runtime old = *runtime;

    *runtime = (struct runtime)RUNTIME_INIT;
    (void)snprintf(spec->home, sizeof(spec->home), "%s", json_text_or(old.spec, "home", ""));
    if (old.status == RUNTIME_PAUSED && lifecycle_request(service, VERB_STOP, old.id, err) < 0)
        return -1;
    if (add_row(service, spec, runtime, err) < 0)
        return -1;
    return runtime_store_remove(service->db, old.id, err);
}

/* deft does not choose the image of a tenant's sandbox: it resumes it with its image, as it does a
 * sandbox whose image a user chose. */
static bool may_replace(const struct start_spec *spec, const struct runtime *runtime)
{
    return text_equal(spec->tenant.id.text, runtime->tenant_id.text) &&
           !json_is_true(json_object_get(runtime->spec, "keeps_image"));
}

/* ERROR_CONFLICT if a concurrent request added the session first: then it can be found. */
static int find_or_add(struct service *service, struct start_spec *spec,
                       struct runtime *runtime_out, struct error *err)
{
    if (runtime_store_get_session(service->db, spec->session_id, runtime_out, err) < 0)
        return err->code == ERROR_NOT_FOUND ? add_new(service, spec, runtime_out, err) : -1;
    if (runtime_out->desired == DESIRED_DELETED) {
        char id[RUNTIME_ID_BYTES] = "";

        memcpy(id, runtime_out->id, sizeof(id));
        runtime_done(runtime_out);
        /* A concurrent request may have deleted it already. */
        if (lifecycle_apply(service, VERB_DELETE, id, err) < 0 && err->code != ERROR_NOT_FOUND)
            return -1;
        return add_new(service, spec, runtime_out, err);
    }
    if (runtime_record_has_no_container(runtime_out) && may_replace(spec, runtime_out) &&
        !text_equal(runtime_out->image, spec->image))
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

/* A runtime that does not count against its tenant's limit yet must fit, whoever resumes it. */
static int store_desired_running(struct service *service, const struct runtime *runtime,
                                 struct error *err)
{
    bool is_counted = runtime->desired == DESIRED_RUNNING && runtime->status != RUNTIME_ERROR;
    int64_t most = 0;

    if (!is_counted && tenant_load_most(service, runtime, &most, err) < 0)
        return -1;
    if (most > 0)
        return runtime_store_want_within(service->db, runtime, most, err);
    if (runtime->desired != DESIRED_RUNNING)
        return runtime_store_want(service->db, runtime->id, DESIRED_RUNNING, err);
    return 0;
}

/* From here on the idle reaper leaves it alone; `runtime` shows if it was paused just before. */
static int use(struct service *service, struct runtime *runtime, bool *is_awake_out,
               struct error *err)
{
    *is_awake_out = false;
    if (runtime->status != RUNTIME_RUNNING || runtime->desired != DESIRED_RUNNING)
        return 0;
    if (runtime_store_use(service->db, runtime->id, is_awake_out, err) < 0)
        return -1;
    if (!*is_awake_out) {
        runtime->status = RUNTIME_PAUSED;
        runtime->desired = DESIRED_PAUSED;
    }
    return 0;
}

static bool needs_container(const struct runtime *runtime)
{
    return runtime_record_has_no_container(runtime) && runtime->container_id == NULL;
}

static int want_running(struct service *service, struct runtime *runtime, struct error *err)
{
    bool is_awake = false;

    if (use(service, runtime, &is_awake, err) < 0)
        return -1;
    if (is_awake)
        return 0;
    if (needs_container(runtime) && service_check_space(service, err) < 0)
        return -1;
    if (store_desired_running(service, runtime, err) < 0)
        return -1;
    /* Resuming is faster than queueing, and whether it is being paused right now is known only
     * under its lock. */
    if (runtime->status == RUNTIME_RUNNING ||
        (runtime->status == RUNTIME_PAUSED && runtime->container_id != NULL)) {
        runtime->status = RUNTIME_PAUSED;
        return lifecycle_start(service, runtime->id, err);
    }
    return start_queue_add(service->starts, runtime->id, err);
}

/* A runtime that its tenant paused is woken by that tenant only, whatever its clients send. */
static int check_not_held(const struct runtime *runtime, struct error *err)
{
    return runtime->is_held ? error_set(err, ERROR_UNAVAILABLE, "the sandbox is paused") : 0;
}

static int begin(struct service *service, struct start_spec *spec, struct runtime *runtime_out,
                 struct error *err)
{
    runtime_done(runtime_out);
    if (find_or_add_in_race(service, spec, runtime_out, err) < 0)
        return -1;
    if (!uuid_is_set(&spec->tenant.id) && check_not_held(runtime_out, err) < 0)
        return -1;
    return want_running(service, runtime_out, err);
}

/* Retries if the runtime is deleted between reading its row and storing the desired state. */
int lifecycle_create(struct service *service, struct start_spec *spec, struct runtime *runtime_out,
                     struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    int tries = 1;

    if (service_check(service, err) < 0)
        return -1;
    while (begin(service, spec, &runtime, err) < 0) {
        if (err->code != ERROR_NOT_FOUND || tries++ == ADD_TRIES)
            return -1;
    }
    *runtime_out = runtime;
    runtime = (struct runtime)RUNTIME_INIT;
    return 0;
}

int lifecycle_resume(struct service *service, const char *id, const struct tenant *tenant,
                     struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (service_check(service, err) < 0 || runtime_store_get(service->db, id, &runtime, err) < 0)
        return -1;
    if (runtime.desired == DESIRED_DELETED)
        return error_set(err, ERROR_NOT_FOUND, "no such runtime");
    if (tenant_check(tenant, &runtime, err) < 0)
        return -1;
    if (tenant == NULL && check_not_held(&runtime, err) < 0)
        return -1;
    return want_running(service, &runtime, err);
}
