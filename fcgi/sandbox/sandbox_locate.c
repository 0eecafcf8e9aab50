#include "fcgi/sandbox/sandbox_locate.h"

#include <string.h>

#include "auth/principal.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/runtime_api.h"
#include "fcgi/core/fcgi_context.h"
#include "model/conversation/conversation.h"
#include "store/runtime/runtime_store.h"

/* The time of a cold start with the image present. */
enum { START_WAIT_MS = 120000 };

const char *sandbox_session(const struct sandbox_owner *owner)
{
    return owner->conversation != NULL ? owner->conversation->runtime_session
                                       : owner->principal->runtime_session;
}

int sandbox_load_row(const struct fcgi_context *context, const struct sandbox_owner *owner,
                     struct runtime *runtime_out, struct error *err)
{
    return runtime_store_get_session(context->db, sandbox_session(owner), runtime_out, err);
}

int sandbox_open(const struct fcgi_context *context, const struct runtime *runtime,
                 struct sandbox_endpoint *endpoint_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf seal_context = STRBUF_INIT;
    CLEANUP(secret_done) struct secret session_key = SECRET_INIT;
    struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;

    strbuf_appendf(&seal_context, "runtimes.session_key:%s", runtime->id);
    if (keyring_open(&context->keyring, seal_context.text, runtime->session_key, &session_key,
                     err) < 0)
        return error_wrap(err, "the key of sandbox %s", runtime->id);
    sandbox_endpoint_set_keys(&endpoint, secret_reveal(&session_key),
                              runtime->proves ? SANDBOX_KEYS_DERIVED : SANDBOX_KEYS_OLD);
    memcpy(endpoint.runtime_id, runtime->id, sizeof(endpoint.runtime_id));
    endpoint.url = runtime->url != NULL ? mem_dup_text(runtime->url) : NULL;
    *endpoint_out = endpoint;
    return 0;
}

int sandbox_find(const struct fcgi_context *context, const struct sandbox_owner *owner,
                 struct sandbox_endpoint *endpoint_out, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    bool is_awake = false;

    if (sandbox_load_row(context, owner, &runtime, err) < 0)
        return -1;
    if (runtime.status != RUNTIME_RUNNING || runtime.desired != DESIRED_RUNNING ||
        runtime.url == NULL || runtime.session_key == NULL)
        return error_set(err, ERROR_NOT_FOUND, "the sandbox is not running");
    /*
     * It may have been paused for idleness since the row was read; marking it used prevents that
     * from here on.
     */
    if (runtime_store_use(context->db, runtime.id, &is_awake, err) < 0)
        return -1;
    if (!is_awake)
        return error_set(err, ERROR_NOT_FOUND, "the sandbox is not running");
    return sandbox_open(context, &runtime, endpoint_out, err);
}

static struct runtime_api runtime_api(const struct fcgi_context *context)
{
    const struct fcgi_settings *settings = context->settings;

    return (struct runtime_api){
        .http = context->http,
        .url = settings->runtime_url,
        .socket = settings->runtime_socket[0] != '\0' ? settings->runtime_socket : NULL,
        .key = &settings->runtime_key};
}

static struct sandbox_start start_of(const struct fcgi_context *context,
                                     const struct sandbox_owner *owner)
{
    const struct conversation *conversation = owner->conversation;
    struct sandbox_start start = {.session_id = sandbox_session(owner),
                                  .owner_id = owner->principal->user_id.text,
                                  .image = context->settings->sandbox_image,
                                  .wait_ms = START_WAIT_MS};

    if (conversation != NULL && conversation->runtime_kind == RUNTIME_DOCKER) {
        start.conversation_id = conversation->id.text;
        start.container = json_object_get(conversation->spec, "container");
    }
    return start;
}

int sandbox_start(const struct fcgi_context *context, const struct sandbox_owner *owner,
                  struct sandbox_endpoint *endpoint_out, struct error *err)
{
    const struct runtime_api api = runtime_api(context);
    const struct sandbox_start start = start_of(context, owner);

    return runtime_api_start(&api, &start, endpoint_out, err);
}

int sandbox_start_doubted(const struct fcgi_context *context, const struct sandbox_owner *owner,
                          struct sandbox_endpoint *endpoint_out, struct error *err)
{
    const struct runtime_api api = runtime_api(context);
    struct sandbox_start start = start_of(context, owner);

    start.is_doubted = true;
    return runtime_api_start(&api, &start, endpoint_out, err);
}

int sandbox_wake(const struct fcgi_context *context, const char *runtime_id, struct error *err)
{
    const struct runtime_api api = runtime_api(context);

    return runtime_api_resume(&api, runtime_id, START_WAIT_MS, err);
}

int sandbox_create(const struct fcgi_context *context, const struct sandbox_start *start,
                   char id_out[RUNTIME_ID_MAX_BYTES], struct error *err)
{
    const struct runtime_api api = runtime_api(context);

    return runtime_api_create(&api, start, id_out, err);
}

int sandbox_order(const struct fcgi_context *context, enum runtime_order order,
                  const char *runtime_id, struct error *err)
{
    const struct runtime_api api = runtime_api(context);

    return runtime_api_order(&api, order, runtime_id, err);
}

int sandbox_stop(const struct fcgi_context *context, const struct sandbox_owner *owner,
                 struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (sandbox_load_row(context, owner, &runtime, err) < 0)
        return -1;
    return sandbox_order(context, RUNTIME_ORDER_STOP, runtime.id, err);
}

int sandbox_refusals(const struct fcgi_context *context, const struct sandbox_owner *owner,
                     json_t **refusals_out, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    const struct runtime_api api = runtime_api(context);

    if (sandbox_load_row(context, owner, &runtime, err) < 0)
        return -1;
    return runtime_api_refusals(&api, runtime.id, refusals_out, err);
}
