#include "runtime/api/runtime_json.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "client/sandbox_call.h"
#include "model/conversation/preview.h"
#include "runtime/backend/failure_reason.h"
#include "runtime/core/runtime_record.h"
#include "store/runtime/runtime_store.h"

/* Older clients read only this member, which must never be null. */
static const char *const pod_statuses[RUNTIME_N_STATUSES] = {
    [RUNTIME_STARTING] = "pending",  [RUNTIME_RUNNING] = "ready", [RUNTIME_PAUSED] = "not found",
    [RUNTIME_STOPPED] = "not found", [RUNTIME_ERROR] = "failed",
};

static const char *pod_status_of(const struct runtime *runtime)
{
    if (runtime->status == RUNTIME_ERROR && runtime->restart_count > 0)
        return "crashloopbackoff";
    /* A claimed warm sandbox: it is up and about to get its key. */
    if (runtime->status == RUNTIME_STARTING && runtime->url != NULL)
        return "running";
    return pod_statuses[runtime->status];
}

/* The current failure; or else that it was restarted, the reason of which is not stored. */
static json_t *create_reasons(const struct runtime *runtime)
{
    json_t *reasons = json_array();
    const char *reason =
        runtime->status_detail != NULL ? failure_reason_find(runtime->status_detail) : NULL;

    if (reason != NULL)
        json_push(reasons, json_text_of(reason));
    else if (runtime->restart_count > 0)
        json_push(reasons, json_text_of("the sandbox had ended"));
    return reasons;
}

/* URL and key are always present; the URL is "" until the sandbox runs. */
static json_t *create_object(const struct runtime *runtime, const char *key, struct error *err)
{
    json_auto_t *reasons = create_reasons(runtime);
    char created_at[CLOCK_TEXT_BYTES] = "";

    clock_format_z(runtime->created_at_us, created_at);
    return json_build(
        err, "{s:s, s:s, s:s, s:s, s:{}, s:s, s:s, s:s?, s:I, s:O, s:s, s:O?, s:s, s:s}",
        "runtime_id", runtime->id, "session_id", runtime->session_id, "url",
        runtime->url != NULL ? runtime->url : "", "session_api_key", key, "work_hosts", "status",
        runtime_status_to_string(runtime->status), "pod_status", pod_status_of(runtime),
        "status_detail", runtime->status_detail, "restart_count",
        (json_int_t)runtime->restart_count, "restart_reasons", reasons, "image", runtime->image,
        "command", json_object_get(runtime->spec, "command"), "working_dir",
        json_text_or(runtime->spec, "working_dir", ""), "created_at", created_at);
}

json_t *runtime_to_tenant_json(const struct runtime *runtime, const struct keyring *keyring,
                               const char *url, struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    json_t *object = NULL;

    if (runtime_record_open_endpoint(runtime, keyring, &endpoint, err) < 0)
        return NULL;
    object = create_object(runtime, secret_reveal(&endpoint.session_key), err);
    if (object == NULL)
        return NULL;
    json_put_text(object, "url", url);
    if (runtime->tenant_session != NULL)
        json_put_text(object, "session_id", runtime->tenant_session);
    return object;
}

/* deft's own processes call the sandbox's server directly. */
json_t *runtime_to_json(const struct runtime *runtime, const struct keyring *keyring,
                        struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    json_t *object = NULL;

    if (runtime_record_open_endpoint(runtime, keyring, &endpoint, err) < 0)
        return NULL;
    object = create_object(runtime, secret_reveal(&endpoint.session_key), err);
    if (object == NULL)
        return NULL;
    json_put_text(object, "call_key", secret_reveal(&endpoint.call_key));
    json_put_text(object, "proof_key",
                  secret_is_set(&endpoint.proof_key) ? secret_reveal(&endpoint.proof_key) : NULL);
    return object;
}

void runtime_put_hosts(json_t *object, const struct runtime *runtime, const char *app_url)
{
    json_t *hosts = json_object();

    for (size_t i = 0; i < PREVIEW_N_NAMED; i++) {
        CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;

        preview_append_url(&url, app_url, runtime->id, preview_ports[i].port);
        if (preview_ports[i].port == PREVIEW_EDITOR_PORT)
            json_put_text(object, "vscode_url", url.text);
        else
            json_put(hosts, url.text, json_integer(preview_ports[i].port));
    }
    json_put(object, "work_hosts", hosts);
}
