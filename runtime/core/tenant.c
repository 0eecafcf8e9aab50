#include "runtime/core/tenant.h"

#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/core/service.h"
#include "runtime/core/start_spec.h"
#include "store/runtime/runtime_key_store.h"
#include "store/runtime/runtime_store.h"

/* No valid key is longer; longer ones are not hashed. */
#define KEY_MAX_BYTES 512
#define NAME_HEX_DIGITS 32
/* Clients poll every two seconds: this wait lets /start report a claimed warm sandbox at once. */
#define CLAIM_WAIT_MS 250

int tenant_find(struct service *service, const char *key, struct tenant *tenant_out,
                struct error *err)
{
    char hash[CRYPTO_HASH_HEX_BYTES];

    if (key == NULL || key[0] == '\0' || strnlen(key, KEY_MAX_BYTES + 1) > KEY_MAX_BYTES)
        return error_set(err, ERROR_UNAUTHENTICATED, "provide a valid API key");
    keyring_hash_token(&service->keyring, key, hash);
    if (runtime_key_store_find(service->db, hash, tenant_out, err) < 0)
        return -1;
    if (tenant_out->max_runtimes == 0)
        tenant_out->max_runtimes = service->settings->tenant_runtimes;
    return 0;
}

int tenant_load_most(struct service *service, const struct runtime *runtime, int64_t *most_out,
                     struct error *err)
{
    int64_t most = 0;

    if (!uuid_is_set(&runtime->tenant_id)) {
        *most_out = 0;
        return 0;
    }
    if (runtime_key_store_load_most(service->db, &runtime->tenant_id, &most, err) < 0)
        return -1;
    *most_out = most > 0 ? most : service->settings->tenant_runtimes;
    return 0;
}

void tenant_name_session(const struct keyring *keyring, const struct tenant *tenant,
                         const char *session, char name_out[TENANT_SESSION_BYTES])
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES];

    strbuf_appendf(&name, "%s/%s", tenant->id.text, session);
    keyring_hash_token(keyring, name.text, hash);
    (void)snprintf(name_out, TENANT_SESSION_BYTES, "t-%.*s", NAME_HEX_DIGITS, hash);
}

void tenant_own_start(const struct keyring *keyring, const struct tenant *tenant,
                      struct start_spec *spec)
{
    char name[TENANT_SESSION_BYTES];

    tenant_name_session(keyring, tenant, spec->session_id, name);
    spec->tenant = *tenant;
    mem_free(spec->tenant_session);
    spec->tenant_session = TAKE_PTR(spec->session_id);
    spec->session_id = mem_dup_text(name);
    spec->owner_id = tenant->user_id;
    spec->conversation_id[0] = '\0';
    spec->is_doubted = false;
    if (spec->wait_ms < CLAIM_WAIT_MS)
        spec->wait_ms = CLAIM_WAIT_MS;
}

int tenant_check(const struct tenant *tenant, const struct runtime *runtime, struct error *err)
{
    if (tenant == NULL)
        return 0;
    if (!text_equal(tenant->id.text, runtime->tenant_id.text) ||
        runtime->desired == DESIRED_DELETED)
        return error_set(err, ERROR_NOT_FOUND, "no such runtime");
    return 0;
}
