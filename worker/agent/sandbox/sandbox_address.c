#include "worker/agent/sandbox/sandbox_address.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/http.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/run_control.h"
#include "worker/context.h"

/* How long to retry an unavailable service: its restart takes a second or two. */
#define SERVICE_PATIENCE_MS 20000
#define RETRY_MS 500

void sandbox_address_init(struct sandbox_address *address, const struct agent *agent)
{
    *address = (struct sandbox_address){.agent = agent, .endpoint = SANDBOX_ENDPOINT_INIT};
}

void sandbox_address_done(struct sandbox_address *address)
{
    http_call_free(TAKE_PTR(address->call));
    sandbox_endpoint_done(&address->endpoint);
}

bool sandbox_address_is_known(const struct sandbox_address *address)
{
    return address->endpoint.url != NULL;
}

void sandbox_address_forget(struct sandbox_address *address)
{
    char runtime_id[RUNTIME_ID_MAX_BYTES] = "";

    /* Kept, to detect that another sandbox is found next. */
    memcpy(runtime_id, address->endpoint.runtime_id, sizeof(runtime_id));
    sandbox_endpoint_done(&address->endpoint);
    memcpy(address->endpoint.runtime_id, runtime_id, sizeof(runtime_id));
    address->is_doubted = true;
}

static struct runtime_api api_of(const struct sandbox_address *address)
{
    const struct worker_context *context = address->agent->context;
    const struct worker_settings *settings = &context->settings;

    return (struct runtime_api){
        .http = context->http,
        .url = settings->runtime_url,
        .socket = settings->runtime_socket[0] != '\0' ? settings->runtime_socket : NULL,
        .key = &settings->runtime_key,
    };
}

static int begin(struct sandbox_address *address, struct error *err)
{
    const struct worker_settings *settings = &address->agent->context->settings;
    const struct conversation *conversation = &address->agent->conversation;
    struct runtime_api api = api_of(address);
    struct sandbox_start start = {
        .session_id = conversation->runtime_session,
        .owner_id = conversation->user_id.text,
        .image = settings->sandbox_image,
        .wait_ms = settings->sandbox_start_ms,
        .container = json_object_get(conversation->spec, "container"),
        .is_doubted = address->is_doubted,
    };

    if (conversation->runtime_kind == RUNTIME_DOCKER)
        start.conversation_id = conversation->id.text;
    return runtime_api_begin_start(&api, &start, &address->call, err);
}

void sandbox_address_begin(struct sandbox_address *address)
{
    struct error err = ERROR_INIT;

    if (address->call != NULL || sandbox_address_is_known(address))
        return;
    if (begin(address, &err) < 0)
        log_warning("sandbox.start_failed", LOG_ERROR(&err));
}

bool sandbox_address_take(struct sandbox_address *address)
{
    struct error ignored = ERROR_INIT;

    if (sandbox_address_is_known(address))
        return true;
    /* After a failure the call stays: sandbox_address_wait() reads it again, and retries. */
    if (address->call == NULL || !http_is_over_within(address->call, 0) ||
        http_wait(address->call, &ignored) < 0 ||
        runtime_api_read_start(address->call, &address->endpoint, &ignored) < 0)
        return false;
    http_call_free(TAKE_PTR(address->call));
    address->is_doubted = false;
    return true;
}

static void cancel_call(void *call)
{
    http_cancel(call);
}

/* One request and its reply. *is_heard_out: the service replied, whatever the status. */
static int ask_once(struct sandbox_address *address, bool *is_heard_out, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct run_control *control = address->agent->control;
    int rc = 0;

    *is_heard_out = false;
    if (address->call == NULL && begin(address, err) < 0)
        return -1;
    call = TAKE_PTR(address->call);
    if (run_control_begin_wait(control, WAIT_SANDBOX, cancel_call, call, err) < 0) {
        address->call = TAKE_PTR(call); /* kept: a stop can be followed by a run that uses it */
        return -1;
    }
    rc = http_wait(call, err);
    run_control_end_wait(control);
    if (rc < 0)
        return -1;
    /* 5xx comes from a gateway in front of an unavailable service. */
    *is_heard_out = http_status(call) < 500;
    if (runtime_api_read_start(call, &address->endpoint, err) < 0)
        return -1;
    address->is_doubted = false;
    return 0;
}

/* Turns the last failure into a message for a person. */
static int give_up(struct error *err)
{
    if (err->code == ERROR_CANCELLED || err->code == ERROR_STALE)
        return -1;
    err->code = ERROR_UNAVAILABLE;
    return error_wrap(err, "The sandbox could not be started");
}

int sandbox_address_wait(struct sandbox_address *address, struct error *err)
{
    int64_t began_ms = clock_monotonic_ms();
    int64_t start_ms = address->agent->context->settings.sandbox_start_ms;
    bool is_heard = false;

    while (!sandbox_address_is_known(address)) {
        int64_t patience_ms = 0;

        if (ask_once(address, &is_heard, err) == 0)
            return 0;
        patience_ms = is_heard ? start_ms : SERVICE_PATIENCE_MS;
        /* A refusal by the service is final; "still starting" is not. */
        if (!error_is_transient(err) || (is_heard && err->code == ERROR_UNAVAILABLE) ||
            clock_monotonic_ms() - began_ms > patience_ms)
            return give_up(err);
        if (run_control_sleep(address->agent->control, RETRY_MS, err) < 0)
            return -1;
    }
    return 0;
}

int sandbox_address_find(struct sandbox_address *address, int64_t timeout_ms, struct error *err)
{
    struct runtime_api api = api_of(address);

    if (sandbox_address_is_known(address))
        return 0;
    return runtime_api_find(&api, address->agent->conversation.runtime_session, timeout_ms,
                            &address->endpoint, err);
}
