/* The Runtime API's handlers: parse, call lifecycle.h, reply. */
#include <assert.h>

#include "base/clock.h"
#include "base/codec/query.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/api/admin_auth.h"
#include "runtime/api/build_api.h"
#include "runtime/api/denials_api.h"
#include "runtime/api/http_front.h"
#include "runtime/api/image_api.h"
#include "runtime/api/runtime_json.h"
#include "runtime/api/warm_api.h"
#include "runtime/backend/backend.h"
#include "runtime/core/runtime_metrics.h"
#include "runtime/core/service.h"
#include "runtime/core/start_queue.h"
#include "runtime/core/tenant.h"
#include "runtime/images/image_name.h"
#include "runtime/lifecycle/lifecycle.h"
#include "runtime/lifecycle/lifecycle_create.h"
#include "runtime/lifecycle/liveness_check.h"
#include "store/runtime/runtime_count_store.h"
#include "store/runtime/runtime_store.h"

#define BATCH_MAX 100
#define BODY_MAX_BYTES (1024L * 1024)
#define SMALL_BODY_MAX_BYTES (16L * 1024)

static int reply_with_runtime(struct service *service, const struct front_request *request,
                              const struct runtime *runtime, json_t **reply_out, struct error *err)
{
    *reply_out =
        request->tenant == NULL
            ? runtime_to_json(runtime, &service->keyring, err)
            : runtime_to_tenant_json(runtime, &service->keyring, service->settings->agent_url, err);
    if (*reply_out == NULL)
        return -1;
    runtime_put_hosts(*reply_out, runtime, service->settings->app_url);
    return 0;
}

static int show_id(struct service *service, const struct front_request *request, const char *id,
                   json_t **reply_out, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (runtime_store_get(service->db, id, &runtime, err) < 0 ||
        tenant_check(request->tenant, &runtime, err) < 0)
        return -1;
    return reply_with_runtime(service, request, &runtime, reply_out, err);
}

/* Waits until the start has ended, at most wait_ms; 0 does not wait. */
static void await_start(struct service *service, const char *id, int64_t wait_ms)
{
    if (wait_ms > 0 && !start_queue_wait(service->starts, id, clock_monotonic_ms() + wait_ms))
        return;
}

/* A runtime that was deleted in the meantime is shown as stopped: its start did succeed. */
static int show_begun(struct service *service, const struct front_request *request,
                      struct runtime *begun, json_t **reply_out, struct error *err)
{
    if (show_id(service, request, begun->id, reply_out, err) == 0)
        return 0;
    if (err->code != ERROR_NOT_FOUND)
        return -1;
    begun->status = RUNTIME_STOPPED;
    return reply_with_runtime(service, request, begun, reply_out, err);
}

/* POST /start -> 200 runtime | 400 | 404 | 429 | 503 */
static int api_start(struct service *service, const struct front_request *request,
                     json_t **reply_out, struct error *err)
{
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (start_spec_read(request->body, &service->limits, &spec, err) < 0 ||
        image_name_check_use(service, request->tenant, spec.image, err) < 0)
        return -1;
    if (request->tenant != NULL)
        tenant_own_start(&service->keyring, request->tenant, &spec);
    if (spec.is_doubted && liveness_check_settle(service, spec.session_id, err) < 0)
        return -1;
    if (lifecycle_create(service, &spec, &runtime, err) < 0)
        return -1;
    if (runtime.status == RUNTIME_RUNNING)
        return reply_with_runtime(service, request, &runtime, reply_out, err);
    await_start(service, runtime.id, spec.wait_ms);
    return show_begun(service, request, &runtime, reply_out, err);
}

static int read_runtime_id(const struct front_request *request, const char **id_out,
                           struct error *err)
{
    const char *id = json_text_or(request->body, "runtime_id", NULL);

    if (id == NULL)
        return error_set(err, ERROR_INVALID, "runtime_id: missing");
    *id_out = id;
    return 0;
}

static int check_id(struct service *service, const struct front_request *request,
                    const char **id_out, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (read_runtime_id(request, id_out, err) < 0)
        return -1;
    if (request->tenant == NULL)
        return 0;
    if (runtime_store_get(service->db, *id_out, &runtime, err) < 0)
        return -1;
    return tenant_check(request->tenant, &runtime, err);
}

static int request_verb(struct service *service, const struct front_request *request,
                        enum runtime_verb verb, json_t **reply_out, struct error *err)
{
    const char *id = "";

    if (check_id(service, request, &id, err) < 0 || lifecycle_request(service, verb, id, err) < 0)
        return -1;
    return show_id(service, request, id, reply_out, err);
}

/* Deletes the runtime: its key, files and row. */
static int stop_for_good(struct service *service, const struct front_request *request,
                         json_t **reply_out, struct error *err)
{
    const char *id = "";

    if (check_id(service, request, &id, err) < 0 ||
        lifecycle_request(service, VERB_DELETE, id, err) < 0)
        return -1;
    *reply_out = json_build(err, "{s:s, s:s, s:s}", "runtime_id", id, "status",
                            runtime_status_to_string(RUNTIME_STOPPED), "pod_status", "not found");
    return *reply_out != NULL ? 0 : -1;
}

/* POST /stop {"runtime_id"} -> 200 | 404; deft's own keep their workspace unless {"forget"} */
static int api_stop(struct service *service, const struct front_request *request,
                    json_t **reply_out, struct error *err)
{
    if (request->tenant != NULL || json_is_true(json_object_get(request->body, "forget")))
        return stop_for_good(service, request, reply_out, err);
    return request_verb(service, request, VERB_STOP, reply_out, err);
}

/* POST /pause {"runtime_id"} -> 200 | 404 */
static int api_pause(struct service *service, const struct front_request *request,
                     json_t **reply_out, struct error *err)
{
    return request_verb(service, request, VERB_PAUSE, reply_out, err);
}

/* POST /resume {"runtime_id"} -> 200 runtime | 404 | 429 | 503 */
static int api_resume(struct service *service, const struct front_request *request,
                      json_t **reply_out, struct error *err)
{
    const char *id = "";
    int64_t wait_ms = 0;

    if (read_runtime_id(request, &id, err) < 0)
        return -1;
    if (lifecycle_resume(service, id, request->tenant, err) < 0)
        return -1;
    wait_ms = json_int_or(request->body, "wait_ms", 0);
    await_start(service, id, wait_ms < WAIT_MAX_MS ? wait_ms : WAIT_MAX_MS);
    return show_id(service, request, id, reply_out, err);
}

static int get_session(struct service *service, const struct front_request *request,
                       const char *session, struct runtime *runtime_out, struct error *err)
{
    char name[TENANT_SESSION_BYTES];

    if (request->tenant == NULL)
        return runtime_store_get_session(service->db, session, runtime_out, err);
    tenant_name_session(&service->keyring, request->tenant, session, name);
    return runtime_store_get_session(service->db, name, runtime_out, err);
}

/* GET /sessions/{id} -> 200 runtime | 404 */
static int api_session(struct service *service, const struct front_request *request,
                       json_t **reply_out, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (get_session(service, request, request->id, &runtime, err) < 0)
        return -1;
    if (runtime.desired == DESIRED_DELETED)
        return error_set(err, ERROR_NOT_FOUND, "no runtime has that session");
    return reply_with_runtime(service, request, &runtime, reply_out, err);
}

static int append_session(struct service *service, const struct front_request *request,
                          const char *id, json_t *list, struct error *err)
{
    const struct front_request one = {.id = id, .tenant = request->tenant};
    json_t *object = NULL;

    if (api_session(service, &one, &object, err) < 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    assert(object != NULL);
    json_push(list, object);
    return 0;
}

/* GET /sessions/batch?ids=a&ids=b -> 200 [runtime, …]; unknown ones are left out */
static int api_batch(struct service *service, const struct front_request *request,
                     json_t **reply_out, struct error *err)
{
    json_auto_t *list = json_array();
    struct query_reader reader = {request->query};
    size_t n = 0;

    for (;;) {
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;

        if (!query_next(&reader, &name, &id))
            break;
        if (!text_equal(name.text, "ids") || id.len == 0)
            continue;
        if (++n > BATCH_MAX)
            return error_set(err, ERROR_INVALID, "ids: there may be at most %d", BATCH_MAX);
        if (append_session(service, request, id.text, list, err) < 0)
            return -1;
    }
    *reply_out = json_incref(list);
    return 0;
}

static int list_rows(struct service *service, const struct front_request *request,
                     struct runtime_list *rows, struct error *err)
{
    if (request->tenant != NULL)
        return runtime_store_list_tenant(service->db, &request->tenant->id, rows, err);
    return runtime_store_list(service->db, rows, err);
}

/* GET /list -> 200 {"runtimes": [runtime, …]}: all that are not stopped */
static int api_list(struct service *service, const struct front_request *request,
                    json_t **reply_out, struct error *err)
{
    CLEANUP(runtime_list_done) struct runtime_list rows = {.items = NULL};
    json_auto_t *list = json_array();

    if (list_rows(service, request, &rows, err) < 0)
        return -1;
    for (size_t i = 0; i < rows.n; i++) {
        json_t *object = NULL;

        if (rows.items[i].desired == DESIRED_DELETED)
            continue;
        if (reply_with_runtime(service, request, &rows.items[i], &object, err) < 0)
            return -1;
        json_push(list, object);
    }
    *reply_out = json_build(err, "{s:O}", "runtimes", list);
    return *reply_out != NULL ? 0 : -1;
}

/* GET /runtime/{id} -> 200 runtime | 404 */
static int api_runtime(struct service *service, const struct front_request *request,
                       json_t **reply_out, struct error *err)
{
    return show_id(service, request, request->id, reply_out, err);
}

/* GET /health -> 200: this process is up; members tell the state of its dependencies */
static int api_health(struct service *service, const struct front_request *request,
                      json_t **reply_out, struct error *err)
{
    struct error why = ERROR_INIT;
    const char *detail = NULL;

    (void)request;
    if (service_check(service, &why) < 0 || service_check_space(service, &why) < 0)
        detail = why.message;
    *reply_out =
        json_build(err, "{s:s, s:s, s:s?, s:s}", "status", "ok", "sandboxes",
                   detail == NULL ? "available" : "unavailable", "detail", detail, "isolation",
                   runtime_has_processes(service->settings) ? "process" : "container");
    return *reply_out != NULL ? 0 : -1;
}

/* GET /metrics -> 200 Prometheus text */
static int api_metrics(struct service *service, const struct front_request *request,
                       json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(tenant_count_list_done) struct tenant_count_list counts = {.items = NULL};
    struct backend_space space = {.free_bytes = -1};
    struct error unseen = ERROR_INIT;

    (void)request;
    if (runtime_count_store_list(service->db, &counts, err) < 0)
        return -1;
    error_ignore(service->backend->functions->space(service->backend, &space, &unseen),
                 "it is then left out of the reply");
    metrics_append(service->metrics, &counts, &space, &text);
    *reply_out = json_text(text.text, text.len);
    return 0;
}

/* clang-format off */
const struct front_route api_routes[] = {
    {"GET", "/health", ACCESS_OPEN, 0, api_health},
    {"POST", "/start", ACCESS_KEY, BODY_MAX_BYTES, api_start},
    {"POST", "/stop", ACCESS_KEY, SMALL_BODY_MAX_BYTES, api_stop},
    {"POST", "/pause", ACCESS_KEY, SMALL_BODY_MAX_BYTES, api_pause},
    {"POST", "/resume", ACCESS_KEY, SMALL_BODY_MAX_BYTES, api_resume},
    {"GET", "/list", ACCESS_KEY, 0, api_list},
    {"GET", "/sessions/batch", ACCESS_KEY, 0, api_batch},
    {"GET", "/sessions/{id}", ACCESS_KEY, 0, api_session},
    {"GET", "/runtime/{id}", ACCESS_KEY, 0, api_runtime},
    {"GET", "/egress_refusals/{id}", ACCESS_KEY, 0, denials_handle_list},
    {"GET", "/registry_prefix", ACCESS_KEY, 0, image_handle_prefix},
    {"GET", "/image_exists", ACCESS_KEY, 0, image_handle_exists},
    {"GET", "/api/warm-runtime-configs", ACCESS_KEY, 0, warm_handle_list},
    {"GET", "/api/admin/challenge", ACCESS_OPEN, 0, admin_handle_challenge},
    {"POST", "/api/admin/login", ACCESS_OPEN, SMALL_BODY_MAX_BYTES, admin_handle_login},
    {"GET", "/api/admin/api-keys", ACCESS_ADMIN, 0, admin_handle_keys},
    {"PUT", "/api/admin/warm-runtime-configs/{id}", ACCESS_ADMIN, SMALL_BODY_MAX_BYTES, warm_handle_put},
    {"DELETE", "/api/admin/warm-runtime-configs/{id}", ACCESS_ADMIN, 0, warm_handle_delete},
    {"GET", "/metrics", ACCESS_HOUSE, 0, api_metrics},
    {"POST", "/build", ACCESS_KEY, 0, build_handle_post},
    {"GET", "/build_status", ACCESS_KEY, 0, build_handle_status},
    {.method = NULL},
};
/* clang-format on */
