#include "runtime/core/sandbox_init.h"

#include <stdio.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/sandbox_variables.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/runtime_api.h"
#include "model/conversation/preview.h"
#include "runtime/core/runtime_record.h"
#include "runtime/core/service.h"
#include "runtime/core/start_spec.h"
#include "store/runtime/runtime_store.h"

#define INIT_TIMEOUT_MS 10000
/* Settings of deft-action itself. */
#define ACTION_SETTINGS "DEFT_ACTION_"

/* Set by the service itself; a request cannot set them. */
static const char *const reserved_names[] = {
    "SESSION_API_KEY", "OH_SESSION_API_KEYS_0", "RUNTIME_ID",
    "LD_PRELOAD",      "LD_LIBRARY_PATH",       "LD_AUDIT",
};

static void init_key_context(const char *id, char context[RUNTIME_RECORD_KEY_CONTEXT_BYTES])
{
    (void)snprintf(context, RUNTIME_RECORD_KEY_CONTEXT_BYTES, "runtimes.init_key:%.16s", id);
}

static bool is_reserved(const char *name)
{
    if (text_starts_with(name, ACTION_SETTINGS))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(reserved_names); i++) {
        if (text_equal(reserved_names[i], name))
            return true;
    }
    return false;
}

/* Tells programs which of their ports are exposed; a request may override these variables. */
static void put_ports(json_t *environment)
{
    for (size_t i = 0; i < PREVIEW_N_NAMED; i++) {
        char port[8] = "";

        (void)snprintf(port, sizeof(port), "%d", preview_ports[i].port);
        if (json_object_get(environment, preview_ports[i].name) == NULL)
            json_put_text(environment, preview_ports[i].name, port);
    }
}

json_t *sandbox_init_environment(json_t *wanted)
{
    json_t *environment = json_object();
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (wanted, name, value) {
        if (!is_reserved(name))
            json_put(environment, name, json_incref(value));
    }
    put_ports(environment);
    return environment;
}

/* Tells the agent what it works in; a request cannot change these variables. */
static void put_facts(json_t *environment, const char *image, const char *egress)
{
    json_put_text(environment, SANDBOX_IMAGE_VARIABLE, image);
    json_put_text(environment, SANDBOX_EGRESS_VARIABLE, egress);
}

int sandbox_init_send(struct service *service, const struct runtime *runtime,
                      const struct dormant_sandbox *sandbox, struct error *err)
{
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    json_auto_t *environment = NULL;
    struct sandbox_init init = {
        .url = sandbox->url, .init_key = sandbox->init_key, .timeout_ms = INIT_TIMEOUT_MS};
    char context[RUNTIME_RECORD_KEY_CONTEXT_BYTES] = "";

    runtime_record_key_context(runtime->id, context);
    if (keyring_open(&service->keyring, context, runtime->session_key, &key, err) < 0 ||
        start_spec_from_row(runtime->spec, &service->keyring, runtime->id, &spec, err) < 0)
        return error_wrap(err, "the runtime's secrets cannot be decrypted");
    environment = sandbox_init_environment(spec.environment);
    put_facts(environment, runtime->image != NULL ? runtime->image : "", sandbox->egress);
    init.session_key = secret_reveal(&key);
    init.environment = environment;
    if (sandbox_initialise(service->http, &init, err) < 0)
        return error_wrap(err, "sending the sandbox's key");
    return 0;
}

int sandbox_init_send_claimed(struct service *service, const struct runtime *runtime,
                              const char *egress, struct error *err)
{
    struct dormant_sandbox sandbox = {.url = runtime->url, .egress = egress};
    CLEANUP(secret_done) struct secret init_key = SECRET_INIT;
    char context[RUNTIME_RECORD_KEY_CONTEXT_BYTES] = "";

    init_key_context(runtime->id, context);
    if (keyring_open(&service->keyring, context, json_text_or(runtime->spec, "init_key", ""),
                     &init_key, err) < 0)
        return error_wrap(err, "the init key of runtime %.16s", runtime->id);
    sandbox.init_key = secret_reveal(&init_key);
    return sandbox_init_send(service, runtime, &sandbox, err);
}

void sandbox_init_seal_key(struct service *service, const char *id, const char *init_key,
                           struct strbuf *sealed)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    char context[RUNTIME_RECORD_KEY_CONTEXT_BYTES] = "";

    init_key_context(id, context);
    secret_set(&key, init_key);
    keyring_seal(&service->keyring, context, &key, sealed);
}
