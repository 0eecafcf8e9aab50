#include "fcgi/app/sandbox_info.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/core/wait_slots.h"
#include "fcgi/preview/preview_origin.h"
#include "fcgi/sandbox/sandbox_locate.h"
#include "model/conversation/preview.h"
#include "store/runtime/runtime_store.h"

#define US_PER_S 1000000

/* A sandbox that is merely slow, on a busy host, must not be reported as failed. */
enum { PROBE_MS = 5000 };

#define SANDBOX_STATUSES(X)                                                                        \
    X(SANDBOX_STARTING, "STARTING")                                                                \
    X(SANDBOX_RUNNING, "RUNNING")                                                                  \
    X(SANDBOX_PAUSED, "PAUSED")                                                                    \
    X(SANDBOX_ERROR, "ERROR")                                                                      \
    X(SANDBOX_MISSING, "MISSING")

#define X(constant, text) constant,
enum sandbox_status { SANDBOX_STATUSES(X) SANDBOX_N_STATUSES };
#undef X

static const char *const status_names[SANDBOX_N_STATUSES] = {
#define X(constant, text) [constant] = (text),
    SANDBOX_STATUSES(X)
#undef X
};

static const enum sandbox_status status_of[RUNTIME_N_STATUSES] = {
    [RUNTIME_STARTING] = SANDBOX_STARTING, [RUNTIME_RUNNING] = SANDBOX_RUNNING,
    [RUNTIME_PAUSED] = SANDBOX_PAUSED,     [RUNTIME_STOPPED] = SANDBOX_MISSING,
    [RUNTIME_ERROR] = SANDBOX_ERROR,
};

/* The reply's data about one runtime. */
struct view {
    const struct runtime *runtime;
    enum sandbox_status status;
    const char *detail;
    struct http_call *probe; /* NULL: not probed */
};

static bool was_removed(const struct runtime *runtime)
{
    return runtime->status == RUNTIME_ERROR && runtime->status_detail != NULL &&
           text_equal(runtime->status_detail, RUNTIME_DETAIL_REMOVED);
}

/* A pending request is shown as done: after a pause request the status is paused. */
static enum sandbox_status read_status(const struct runtime *runtime)
{
    bool is_up = runtime->status == RUNTIME_STARTING || runtime->status == RUNTIME_RUNNING;

    if (was_removed(runtime) || runtime->desired == DESIRED_STOPPED)
        return SANDBOX_MISSING;
    if (is_up && runtime->desired == DESIRED_PAUSED)
        return SANDBOX_PAUSED;
    if (runtime->status == RUNTIME_PAUSED && runtime->desired == DESIRED_RUNNING)
        return SANDBOX_STARTING;
    if (runtime->status == RUNTIME_RUNNING && runtime->url == NULL)
        return SANDBOX_STARTING;
    return status_of[runtime->status];
}

static void begin_probe(const struct request *request, struct view *view)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    struct error why = ERROR_INIT;

    if (sandbox_open(request->context, view->runtime, &endpoint, &why) < 0 ||
        sandbox_probe_start(request->context->http, &endpoint, PROBE_MS, &view->probe, &why) < 0)
        log_warning("sandbox.probe_failed", LOG_STR("runtime_id", view->runtime->id),
                    LOG_ERROR(&why));
}

/*
 * A server that does not respond is starting during the grace period after a start, and has failed
 * after it.
 */
static void end_probe(const struct request *request, struct view *view)
{
    int64_t grace_us = request->context->settings->sandbox_grace_s * US_PER_S;
    struct error why = ERROR_INIT;
    bool is_healthy = http_wait(view->probe, &why) == 0 && http_status(view->probe) == 200;

    http_call_free(view->probe);
    view->probe = NULL;
    if (is_healthy)
        return;
    if (clock_utc_us() - view->runtime->since_us < grace_us) {
        view->status = SANDBOX_STARTING;
        return;
    }
    view->status = SANDBOX_ERROR;
    view->detail = "the sandbox's server does not respond";
}

/* Probes all at once. If too many requests wait already, the rows' status is used. */
static void probe(const struct request *request, struct view *views, size_t n)
{
    struct error busy = ERROR_INIT;

    if (wait_slot_take(request->context->wait_slots, &request->principal.user_id, &busy) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (views[i].status == SANDBOX_RUNNING)
            begin_probe(request, &views[i]);
    }
    for (size_t i = 0; i < n; i++) {
        if (views[i].probe != NULL)
            end_probe(request, &views[i]);
    }
    wait_slot_return(request->context->wait_slots, &request->principal.user_id);
}

/* Adds what only a running sandbox has: its key, and its URLs. */
static int put_access(const struct request *request, const struct runtime *runtime, json_t *info,
                      struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    char token[PREVIEW_EDITOR_TOKEN_BYTES] = "";
    json_t *urls = NULL;

    if (sandbox_open(request->context, runtime, &endpoint, err) < 0)
        return -1;
    urls = json_array();
    preview_editor_token(secret_reveal(&endpoint.call_key), token);
    preview_push_named(request, runtime->id, &(struct preview_editor){token, PREVIEW_EDITOR_FOLDER},
                       urls);
    json_put_text(info, "session_api_key", secret_reveal(&endpoint.session_key));
    json_put(info, "exposed_urls", urls);
    return 0;
}

static json_t *info_of(const struct view *view)
{
    const struct runtime *runtime = view->runtime;
    char created_at[CLOCK_TEXT_BYTES] = "";
    json_t *info = json_object();

    clock_format_z(runtime->created_at_us, created_at);
    json_put_text(info, "id", runtime->id);
    json_put_text(info, "created_by_user_id", runtime->owner_id.text);
    json_put_text(info, "sandbox_spec_id", runtime->image);
    json_put_text(info, "status", status_names[view->status]);
    json_put(info, "session_api_key", json_null());
    json_put(info, "exposed_urls", json_null());
    json_put_text(info, "created_at", created_at);
    json_put(info, "status_detail",
             view->detail != NULL ? json_text(view->detail, strlen(view->detail)) : json_null());
    return info;
}

static int push_info(const struct request *request, const struct view *view, json_t *list,
                     struct error *err)
{
    json_t *info = info_of(view);

    json_push(list, info);
    return view->status == SANDBOX_RUNNING ? put_access(request, view->runtime, info, err) : 0;
}

json_t *sandbox_infos(const struct request *request, const struct runtime *runtimes, size_t n,
                      struct error *err)
{
    struct view views[SANDBOX_BATCH_MAX] = {{.runtime = NULL}};
    json_auto_t *list = json_array();

    assert(n <= SANDBOX_BATCH_MAX);
    for (size_t i = 0; i < n; i++)
        views[i] = (struct view){.runtime = &runtimes[i],
                                 .status = read_status(&runtimes[i]),
                                 .detail = runtimes[i].status_detail};
    probe(request, views, n);
    for (size_t i = 0; i < n; i++) {
        if (push_info(request, &views[i], list, err) < 0)
            return NULL;
    }
    return json_incref(list);
}

json_t *sandbox_info_made(const struct runtime *runtime)
{
    const struct view view = {.runtime = runtime, .status = SANDBOX_STARTING};

    return info_of(&view);
}
