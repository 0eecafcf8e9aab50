#include "runtime/core/runtime_record.h"

#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "client/sandbox_call.h"
#include "runtime/core/service.h"

void runtime_record_make_id(char id[RUNTIME_RECORD_ID_BYTES])
{
    unsigned char bytes[RUNTIME_RECORD_ID_BYTES - 1];

    crypto_random(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        id[i] = (char)('a' + bytes[i] % 26);
    id[sizeof(bytes)] = '\0';
}

void runtime_record_set_text(char **field, const char *text)
{
    mem_free(*field);
    *field = text != NULL && text[0] != '\0' ? mem_dup_text(text) : NULL;
}

void runtime_record_key_context(const char *id, char context[RUNTIME_RECORD_KEY_CONTEXT_BYTES])
{
    (void)snprintf(context, RUNTIME_RECORD_KEY_CONTEXT_BYTES, "runtimes.session_key:%.16s", id);
}

int runtime_record_open_endpoint(const struct runtime *runtime, const struct keyring *keyring,
                                 struct sandbox_endpoint *endpoint_out, struct error *err)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    char context[RUNTIME_RECORD_KEY_CONTEXT_BYTES] = "";

    runtime_record_key_context(runtime->id, context);
    if (keyring_open(keyring, context, runtime->session_key, &key, err) < 0)
        return error_wrap(err, "session key of runtime %.16s", runtime->id);
    sandbox_endpoint_set_keys(&endpoint, secret_reveal(&key),
                              runtime->proves ? SANDBOX_KEYS_DERIVED : SANDBOX_KEYS_OLD);
    memcpy(endpoint.runtime_id, runtime->id, sizeof(endpoint.runtime_id));
    if (runtime->url != NULL)
        endpoint.url = mem_dup_text(runtime->url);
    *endpoint_out = endpoint;
    return 0;
}

bool runtime_record_has_no_container(const struct runtime *runtime)
{
    return runtime->status != RUNTIME_RUNNING && runtime->status != RUNTIME_STARTING;
}

void runtime_record_clear_container(struct runtime *runtime)
{
    runtime_record_set_text(&runtime->container_id, NULL);
    runtime_record_set_text(&runtime->network, NULL);
    runtime_record_set_text(&runtime->url, NULL);
}

int runtime_record_change_status(struct service *service, struct runtime *runtime,
                                 enum runtime_status next, const char *detail, struct error *err)
{
    enum runtime_status from = runtime->status;

    runtime->status = next;
    runtime_record_set_text(&runtime->status_detail, detail);
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
