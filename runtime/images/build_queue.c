#include "runtime/images/build_queue.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/backend.h"
#include "runtime/build/build_context.h"
#include "runtime/build/dockerfile.h"
#include "runtime/core/runtime_record.h"
#include "runtime/core/service.h"
#include "runtime/images/image_name.h"
#include "store/runtime/build_store.h"
#include "store/runtime/runtime_key_store.h"

/* Contexts are held in memory. */
#define PLACES_MAX 4
#define PLACES_OF_TENANT_MAX 2
#define RETRY_MS 1000

struct build_job {
    struct build_slot place;
    struct image_build build;
    struct strbuf context;
};

struct build_queue {
    struct lock lock; /* guards all below */
    struct condition changed;
    struct uuid places[PLACES_MAX];
    size_t n_places;
    struct build_job jobs[PLACES_MAX]; /* oldest first */
    size_t n_jobs;
    bool is_open;  /* builds interrupted by the last shutdown are settled */
    bool is_asked; /* check for images to remove */
    bool is_stopping;
};

static void job_done(struct build_job *job)
{
    image_build_done(&job->build);
    strbuf_done(&job->context);
    build_slot_release(&job->place);
}

struct build_queue *build_queue_new(void)
{
    struct build_queue *build_queue = NEW(struct build_queue);

    lock_init(&build_queue->lock);
    condition_init(&build_queue->changed);
    return build_queue;
}

void build_queue_free(struct build_queue *build_queue)
{
    if (build_queue == NULL)
        return;
    for (size_t i = 0; i < build_queue->n_jobs; i++)
        job_done(&build_queue->jobs[i]);
    condition_done(&build_queue->changed);
    lock_done(&build_queue->lock);
    mem_free(build_queue);
}

void build_queue_stop(struct service *service)
{
    struct build_queue *build_queue = service->build_queue;

    lock_take(&build_queue->lock);
    build_queue->is_stopping = true;
    condition_wake_all(&build_queue->changed);
    lock_release(&build_queue->lock);
    service->backend->functions->stop_building(service->backend);
}

void build_queue_wake(struct build_queue *build_queue)
{
    lock_take(&build_queue->lock);
    build_queue->is_asked = true;
    condition_wake_all(&build_queue->changed);
    lock_release(&build_queue->lock);
}

/* --- places --- */

static size_t count_places_locked(const struct build_queue *build_queue,
                                  const struct uuid *tenant_id) REQUIRES(build_queue -> lock)
{
    size_t n = 0;

    for (size_t i = 0; i < build_queue->n_places; i++)
        n += text_equal(build_queue->places[i].text, tenant_id->text);
    return n;
}

static int take_place_locked(struct build_queue *build_queue, const struct uuid *tenant_id,
                             struct error *err) REQUIRES(build_queue -> lock)
{
    if (!build_queue->is_open || build_queue->is_stopping)
        return error_set(err, ERROR_UNAVAILABLE, "images cannot be built at the moment");
    if (build_queue->n_places >= PLACES_MAX)
        return error_set(err, ERROR_RATE_LIMITED, "other images are being built; try again later");
    if (count_places_locked(build_queue, tenant_id) >= PLACES_OF_TENANT_MAX)
        return error_set(err, ERROR_RATE_LIMITED,
                         "%d images of this key are being built; try again later",
                         PLACES_OF_TENANT_MAX);
    build_queue->places[build_queue->n_places++] = *tenant_id;
    return 0;
}

int build_queue_take_slot(struct build_queue *build_queue, const struct uuid *tenant_id,
                          struct build_slot *place_out, struct error *err)
{
    int rc = 0;

    lock_take(&build_queue->lock);
    rc = take_place_locked(build_queue, tenant_id, err);
    lock_release(&build_queue->lock);
    if (rc == 0)
        *place_out = (struct build_slot){.build_queue = build_queue, .tenant_id = *tenant_id};
    return rc;
}

static void remove_place_locked(struct build_queue *build_queue, const struct uuid *tenant_id)
    REQUIRES(build_queue -> lock)
{
    for (size_t i = 0; i < build_queue->n_places; i++) {
        if (!text_equal(build_queue->places[i].text, tenant_id->text))
            continue;
        build_queue->places[i] = build_queue->places[--build_queue->n_places];
        return;
    }
}

void build_slot_release(struct build_slot *place)
{
    struct build_queue *build_queue = place->build_queue;

    if (build_queue == NULL)
        return;
    lock_take(&build_queue->lock);
    remove_place_locked(build_queue, &place->tenant_id);
    lock_release(&build_queue->lock);
    place->build_queue = NULL;
}

void build_queue_add(struct build_slot *place, struct image_build *build, struct strbuf *context)
{
    struct build_queue *build_queue = place->build_queue;

    lock_take(&build_queue->lock);
    build_queue->jobs[build_queue->n_jobs++] =
        (struct build_job){.place = *place, .build = *build, .context = *context};
    condition_wake_all(&build_queue->changed);
    lock_release(&build_queue->lock);
    *build = (struct image_build)IMAGE_BUILD_INIT;
    *context = (struct strbuf)STRBUF_INIT;
    place->build_queue = NULL;
}

/* --- the thread --- */

static bool wait_stopping(struct build_queue *build_queue, int64_t ms)
{
    int64_t deadline_ms = clock_monotonic_ms() + ms;
    bool is_stopping = false;
    bool has_time = true;

    lock_take(&build_queue->lock);
    while (!build_queue->is_stopping && has_time)
        has_time = condition_wait_until(&build_queue->changed, &build_queue->lock, deadline_ms);
    is_stopping = build_queue->is_stopping;
    lock_release(&build_queue->lock);
    return is_stopping;
}

/* Retries until the status is stored, since clients poll until the build ends. If the database
 * rejects the row, the error text is replaced. */
static void store_result(struct service *service, struct image_build *build)
{
    struct error err = ERROR_INIT;
    bool is_refused = false;

    while (build_store_update(service->db, build, &err) < 0) {
        log_warning("build.store_failed", LOG_STR("build_id", build->id), LOG_ERROR(&err));
        if (!error_is_transient(&err)) {
            if (is_refused)
                return;
            is_refused = true;
            runtime_record_set_text(&build->error,
                                    "The build failed, and its output cannot be stored.");
        }
        if (wait_stopping(service->build_queue, RETRY_MS))
            return;
    }
}

static const enum build_status status_of_code[ERROR_N_CODES] = {
    [ERROR_NONE] = BUILD_SUCCESS,
    [ERROR_INVALID] = BUILD_FAILURE,
    [ERROR_NOT_FOUND] = BUILD_FAILURE,
    [ERROR_TOO_LARGE] = BUILD_FAILURE,
    [ERROR_TIMEOUT] = BUILD_TIMEOUT,
    [ERROR_UNAUTHENTICATED] = BUILD_INTERNAL_ERROR,
    [ERROR_FORBIDDEN] = BUILD_FAILURE,
    [ERROR_CONFLICT] = BUILD_INTERNAL_ERROR,
    [ERROR_STALE] = BUILD_INTERNAL_ERROR,
    [ERROR_RATE_LIMITED] = BUILD_INTERNAL_ERROR,
    [ERROR_CANCELLED] = BUILD_INTERNAL_ERROR,
    [ERROR_UNAVAILABLE] = BUILD_INTERNAL_ERROR,
    [ERROR_UNSUPPORTED] = BUILD_FAILURE,
    [ERROR_MEDIA_TYPE] = BUILD_FAILURE,
    [ERROR_SLOW_CLIENT] = BUILD_FAILURE,
    [ERROR_INTERNAL] = BUILD_INTERNAL_ERROR,
};

static int check_sources(struct service *service, const struct tenant *tenant, const json_t *images,
                         struct error *err)
{
    const json_t *image = NULL;
    size_t i = 0;

    json_array_foreach (images, i, image) {
        if (image_name_check_source(service, tenant, json_string_value(image), err) < 0)
            return -1;
    }
    return 0;
}

/* Allows only images that are on this host or in a listed registry. */
static int check_context(struct service *service, const struct build_job *job, struct error *err)
{
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;
    const struct tenant tenant = {.id = job->build.tenant_id};
    const struct tenant *whose = uuid_is_set(&tenant.id) ? &tenant : NULL;

    if (build_context_list_images(&job->context, service->settings->build_max_unpacked_bytes,
                                  &images, err) < 0 ||
        check_sources(service, whose, images.bases, err) < 0)
        return -1;
    return check_sources(service, whose, images.others, err);
}

static void run_job(struct service *service, struct build_job *job)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    const struct image_build_request order = {.names = job->build.tags, .context = &job->context};
    struct error err = ERROR_INIT;
    char image_id[BACKEND_IMAGE_BYTES] = "";
    int64_t begun_ms = clock_monotonic_ms();

    job->build.status = BUILD_BUILDING;
    store_result(service, &job->build);
    if (check_context(service, job, &err) == 0 &&
        service->backend->functions->build(service->backend, &order, image_id, &said, &err) == 0)
        err.code = ERROR_NONE;
    job->build.status = status_of_code[err.code];
    runtime_record_set_text(&job->build.image_id, image_id);
    if (err.code != ERROR_NONE)
        runtime_record_set_text(&job->build.error, said.len > 0 ? said.text : err.message);
    store_result(service, &job->build);
    log_info("image.built", LOG_STR("build_id", job->build.id), LOG_STR("image", job->build.image),
             LOG_STR("status", build_status_to_string(job->build.status)),
             LOG_INT("duration_ms", clock_monotonic_ms() - begun_ms));
}

/* An image that a container uses is kept until the container is gone. */
static bool remove_names(struct service *service, const struct image_build *build)
{
    const json_t *name = NULL;
    size_t i = 0;

    json_array_foreach (build->tags, i, name) {
        struct error err = ERROR_INIT;

        if (service->backend->functions->remove_image(service->backend, json_string_value(name),
                                                      &err) < 0) {
            log_debug("image.remove_failed", LOG_STR("image", json_string_value(name)),
                      LOG_ERROR(&err));
            return false;
        }
    }
    return true;
}

static void forget_old(struct service *service)
{
    struct error err = ERROR_INIT;

    if (build_store_prune(service->db, &err) < 0)
        log_warning("build.prune_failed", LOG_ERROR(&err));
}

static void remove_doomed(struct service *service)
{
    CLEANUP(build_list_done) struct build_list doomed = {.items = NULL};
    struct error err = ERROR_INIT;

    if (build_store_list_doomed(service->db, service->settings->tenant_images, &doomed, &err) < 0) {
        log_warning("image.list_failed", LOG_ERROR(&err));
        return;
    }
    for (size_t i = 0; i < doomed.n; i++) {
        struct image_build *build = &doomed.items[i];

        if (!remove_names(service, build))
            continue;
        build->status = BUILD_EXPIRED;
        runtime_record_set_text(
            &build->error,
            "the image was removed: its key was revoked, or newer images of that key replaced it");
        store_result(service, build);
        log_info("image.removed", LOG_STR("image", build->image));
    }
}

/* Waits for a job until tidy_ms or a request to check images; has_job false: there was none.
 * Returns false on stop. */
static bool next_job(struct build_queue *build_queue, int64_t tidy_ms, struct build_job *job_out,
                     bool *has_job_out)
{
    bool is_stopping = false;
    bool has_time = true;

    lock_take(&build_queue->lock);
    while (build_queue->n_jobs == 0 && !build_queue->is_asked && !build_queue->is_stopping &&
           has_time)
        has_time = condition_wait_until(&build_queue->changed, &build_queue->lock, tidy_ms);
    build_queue->is_asked = false;
    is_stopping = build_queue->is_stopping;
    *has_job_out = build_queue->n_jobs > 0 && !is_stopping;
    if (*has_job_out) {
        *job_out = build_queue->jobs[0];
        build_queue->n_jobs--;
        for (size_t i = 0; i < build_queue->n_jobs; i++)
            build_queue->jobs[i] = build_queue->jobs[i + 1];
    }
    lock_release(&build_queue->lock);
    return !is_stopping;
}

/* Before any build is accepted: fails the unfinished builds of the previous process. */
static bool fail_unfinished(struct service *service)
{
    struct error err = ERROR_INIT;

    while (build_store_end_all(service->db, "the service stopped during the build; post it again",
                               &err) < 0) {
        log_warning("build.settle_failed", LOG_ERROR(&err));
        if (wait_stopping(service->build_queue, RETRY_MS))
            return false;
    }
    lock_take(&service->build_queue->lock);
    service->build_queue->is_open = true;
    lock_release(&service->build_queue->lock);
    return true;
}

void build_queue_run(struct service *service)
{
    int64_t tidy_ms = 0;
    struct build_job job = {.context = STRBUF_INIT};
    bool has_job = false;

    if (!fail_unfinished(service))
        return;
    while (next_job(service->build_queue, tidy_ms, &job, &has_job)) {
        if (has_job) {
            run_job(service, &job);
            job_done(&job);
        }
        remove_doomed(service);
        if (clock_monotonic_ms() >= tidy_ms) {
            forget_old(service);
            tidy_ms = clock_monotonic_ms() + service->settings->reconcile_ms;
        }
    }
}
