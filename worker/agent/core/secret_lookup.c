#include "worker/agent/core/secret_lookup.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "model/conversation/sealed_secrets.h"
#include "model/limits.h"
#include "model/secrets/secret_length.h"
#include "model/secrets/secret_registry.h"
#include "store/user/document_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/model.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/secret_list.h"
#include "worker/context.h"

enum { LOOKUP_TIMEOUT_MS = 30000, VALUE_MAX_BYTES = 65536 };

static json_t *sources_of(const json_t *spec)
{
    return json_object_get(json_object_get(spec, "secret_registry"), "secret_sources");
}

/*
 * A secret that is gone or unreachable is treated as not set: the command's output shows that to
 * the model.
 */
static void report(const char *name, const struct error *err)
{
    log_warning("secret.lookup_failed", LOG_STR("name", name), LOG_ERROR(err));
}

static struct document_scope scope_of(const struct agent *agent)
{
    return (struct document_scope){agent->context->db, &agent->context->keyring,
                                   agent->conversation.user_id};
}

/* A value first known here can no longer be refused, only logged as too short to mask. */
static void keep_value(struct agent *agent, const char *name, const char *value)
{
    if (!text_is_blank(value) && !secret_is_masked(value))
        log_warning("secret.not_masked", LOG_STR("name", name),
                    LOG_INT("min_chars", SECRET_MASKED_MIN_CHARS));
    secret_list_set(&agent->secrets, name, value);
}

static void read_stored(struct agent *agent, const char *name, const char *stored_name)
{
    CLEANUP(document_done) struct document secret = DOCUMENT_INIT;
    const struct document_scope scope = scope_of(agent);
    struct error err = ERROR_INIT;

    if (document_store_get(&scope, COLLECTION_SECRETS, stored_name, &secret, &err) < 0) {
        report(name, &err);
        return;
    }
    keep_value(agent, name, json_text_or(secret.secrets, "value", ""));
}

/*
 * Headers from a map; the array ends with a NULL name. The caller frees the array; names and values
 * are borrowed.
 */
static struct http_header *headers_of(json_t *map)
{
    struct http_header *headers =
        mem_alloc_array(json_object_size(map) + 1, sizeof(struct http_header));
    const char *name = NULL;
    json_t *value = NULL;
    size_t n = 0;

    json_object_foreach (map, name, value) {
        if (json_is_string(value))
            headers[n++] = (struct http_header){name, json_string_value(value)};
    }
    return headers;
}

static void headers_freep(struct http_header **headers)
{
    mem_free(*headers);
}

static void cancel_call(void *call)
{
    http_cancel(call);
}

static int wait_for(struct agent *agent, struct http_call *call, struct error *err)
{
    int rc = -1;

    if (run_control_begin_wait(agent->control, WAIT_SANDBOX, cancel_call, call, err) < 0)
        return -1;
    rc = http_wait(call, err);
    run_control_end_wait(agent->control);
    return rc;
}

/* The reply's body is the value. */
static int fetch(struct agent *agent, json_t *source, struct strbuf *value, struct error *err)
{
    CLEANUP(headers_freep) struct http_header *headers =
        headers_of(json_object_get(source, "headers"));
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    const struct http_request request = {
        .method = "GET",
        .url = json_text_or(source, "url", ""),
        .headers = headers,
        .timeout_ms = LOOKUP_TIMEOUT_MS,
        .max_reply_bytes = VALUE_MAX_BYTES,
        .address_of = model_address_owner(&agent->conversation),
    };
    const char *body = NULL;
    size_t len = 0;

    if (http_start(agent->context->http, &request, &call, err) < 0 ||
        wait_for(agent, call, err) < 0)
        return -1;
    if (http_status(call) != 200)
        return error_set(err, ERROR_UNAVAILABLE, "the address replied with status %ld",
                         http_status(call));
    body = http_body(call, &len);
    strbuf_append_bytes(value, body, len);
    return 0;
}

/* source: with its own secrets decrypted. */
static void read_remote(struct agent *agent, const char *name, json_t *source)
{
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    struct error err = ERROR_INIT;

    if (fetch(agent, source, &value, &err) < 0)
        report(name, &err);
    else
        keep_value(agent, name, value.text);
}

static bool is_remote(const json_t *source)
{
    const char *url = json_text_or(source, "url", "");

    return text_starts_with(url, "http://") || text_starts_with(url, "https://");
}

static bool refers_to_stored(const struct agent *agent)
{
    const char *name = NULL;
    json_t *source = NULL;

    json_object_foreach (sources_of(agent->conversation.spec), name, source) {
        if (secret_source_stored_name(source) != NULL)
            return true;
    }
    return false;
}

void secret_lookup_all(struct agent *agent)
{
    CLEANUP(document_list_done) struct document_list kept = DOCUMENT_LIST_INIT;
    const struct document_scope scope = scope_of(agent);
    struct error err = ERROR_INIT;
    const char *name = NULL;
    json_t *source = NULL;

    if (!refers_to_stored(agent))
        return;
    if (document_store_list(&scope, COLLECTION_SECRETS, &kept, &err) < 0)
        report("all", &err);
    json_object_foreach (sources_of(agent->conversation.spec), name, source) {
        const char *stored_name = secret_source_stored_name(source);
        const struct document *secret =
            stored_name != NULL ? document_list_find(&kept, stored_name) : NULL;

        if (secret != NULL)
            keep_value(agent, name, json_text_or(secret->secrets, "value", ""));
    }
}

/* True if the command names a remote secret, whose headers then have to be decrypted. */
static bool names_remote(const struct agent *agent, const char *command)
{
    const char *name = NULL;
    json_t *source = NULL;

    json_object_foreach (sources_of(agent->conversation.spec), name, source) {
        if (is_remote(source) && secret_is_named(name, command))
            return true;
    }
    return false;
}

static void look_up_remote(struct agent *agent, const char *command)
{
    json_auto_t *secrets = agent_open_secrets(agent);
    json_auto_t *spec = conversation_spec_with_secrets(&agent->conversation, secrets);
    const char *name = NULL;
    json_t *source = NULL;

    json_object_foreach (sources_of(spec), name, source) {
        if (is_remote(source) && secret_is_named(name, command))
            read_remote(agent, name, source);
    }
}

void secret_lookup_named(struct agent *agent, const char *command)
{
    const char *name = NULL;
    json_t *source = NULL;

    json_object_foreach (sources_of(agent->conversation.spec), name, source) {
        const char *stored_name = secret_source_stored_name(source);

        if (stored_name != NULL && secret_is_named(name, command))
            read_stored(agent, name, stored_name);
    }
    if (names_remote(agent, command))
        look_up_remote(agent, command);
}

json_t *agent_open_secrets(const struct agent *agent)
{
    struct error err = ERROR_INIT;
    json_t *secrets = NULL;

    if (sealed_secrets_open(&agent->context->keyring, &agent->conversation, &secrets, &err) < 0)
        log_error("secrets.unreadable", LOG_ERROR(&err));
    return secrets;
}
