/*
 * Deferred start: a server configured for it stays dormant until a caller with the operator's key
 * initializes it.
 */
#include <stdatomic.h>
#include <string.h>

#include "auth/credential.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/deferred_init.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "model/conversation/webhook.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "store/user/init_store.h"
#include "store/user/user_store.h"
#include "web/reply_status.h"

enum { KEYS_MAX = 16, WEBHOOKS_MAX = 4 };

static const struct field init_fields[] = {
    {.name = "session_api_keys", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "secret_key", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "previous_secret_keys", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "conversations_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "bash_events_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "conversation_worktree_root", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "webhooks", .kind = FIELD_LIST, .rules = FIELD_NULLABLE},
    {.name = "web_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "allow_cors_origins", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "max_concurrent_runs", .kind = FIELD_INT, .rules = FIELD_NULLABLE | FIELD_FROM_1},
    {.name = "env", .kind = FIELD_TEXT_MAP, .rules = FIELD_NULLABLE},
    {.name = "telemetry", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
const struct object_schema init_request_schema = CLOSED_SCHEMA(init_fields);

static int reply_state(struct reply *reply, const char *state)
{
    json_auto_t *json = json_object();

    json_put_text(json, "state", state);
    json_put(json, "error", json_null());
    return reply_json(reply, 200, json);
}

/* Without a deferred start there is nothing to initialize, so the route does not exist. */
static int check_deferred(const struct request *request, struct error *err)
{
    if (request->context->settings->deferred_init != 0)
        return 0;
    return error_set(err, ERROR_NOT_FOUND, "%s", reply_phrase(404));
}

/* GET -> 200 {"state": dormant | ready, "error": null} | 404 */
static int init_get(const struct request *request, struct reply *reply, struct error *err)
{
    bool is_dormant = false;

    if (check_deferred(request, err) < 0 ||
        deferred_init_is_dormant(request->context, &is_dormant, err) < 0)
        return -1;
    return reply_state(reply, is_dormant ? "dormant" : "ready");
}

static int check_init_key(const struct request *request, struct error *err)
{
    const char *key = request_param(request, "HTTP_X_INIT_API_KEY");

    if (key != NULL && text_equal_secret(key, secret_reveal(&request->context->settings->init_key)))
        return 0;
    error_set(err, ERROR_UNAUTHENTICATED, "wrong X-Init-API-Key");
    return key != NULL ? request_refuse_key(request, err) : -1;
}

static int refuse_member(const struct request *request, const char *name, const char *words,
                         struct error *err)
{
    const struct validation_error problem = {"value_error", words, NULL};

    return request_problem(request, REQUEST_JSON_PATH("body", name), &problem, json_null(), err);
}

/* An empty key would let every client in. */
static int check_keys(const struct request *request, const json_t *keys, struct error *err)
{
    json_t *key = NULL;
    size_t i = 0;

    if (json_array_size(keys) > KEYS_MAX)
        return refuse_member(request, "session_api_keys", "Value error, too many keys", err);
    json_array_foreach (keys, i, key) {
        if (text_is_blank(json_string_value(key)))
            return refuse_member(request, "session_api_keys", "Value error, a key is empty", err);
    }
    return 0;
}

static int check_webhooks(const struct request *request, const json_t *webhooks, struct error *err)
{
    json_t *spec = NULL;
    size_t i = 0;

    if (json_array_size(webhooks) > WEBHOOKS_MAX)
        return refuse_member(request, "webhooks", "Value error, too many webhooks", err);
    json_array_foreach (webhooks, i, spec) {
        CLEANUP(webhook_done) struct webhook webhook = WEBHOOK_INIT;
        CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
        struct error why = ERROR_INIT;

        if (webhook_read(spec, "init", &webhook, &why) == 0)
            continue;
        strbuf_appendf(&words, "Value error, %s", why.message);
        return refuse_member(request, "webhooks", words.text, err);
    }
    return 0;
}

static int check_plan(const struct request *request, const json_t *values, struct error *err)
{
    if (check_keys(request, json_object_get(values, "session_api_keys"), err) < 0 ||
        check_webhooks(request, json_object_get(values, "webhooks"), err) < 0)
        return -1;
    /* Work runs in sandboxes, which share no environment with the server. */
    if (json_object_size(json_object_get(values, "env")) > 0)
        return refuse_member(request, "env",
                             "Value error, this server does not pass an environment to its "
                             "sandboxes: use the secrets of a conversation",
                             err);
    return 0;
}

/* Seals the data that workers need later: the webhook receivers and their key. */
static void seal_settings(const struct fcgi_context *context, const json_t *values,
                          struct strbuf *sealed)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    json_auto_t *kept = json_object();
    json_t *webhooks = json_object_get(values, "webhooks");
    json_t *keys = json_object_get(values, "session_api_keys");

    json_put(kept, "webhooks", json_is_array(webhooks) ? json_incref(webhooks) : json_array());
    json_put(kept, "session_key", json_incref(json_array_get(keys, 0)));
    text = json_to_text(kept);
    secret_set(&plain, text);
    keyring_seal(&context->keyring, INIT_SEAL_CONTEXT, &plain, sealed);
}

static int begin(const struct request *request, const json_t *values, struct error *err)
{
    const struct fcgi_context *context = request->context;
    CLEANUP(user_done) struct user owner = USER_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    char hashes[KEYS_MAX][CRYPTO_HASH_HEX_BYTES];
    const char *list[KEYS_MAX] = {NULL};
    struct init_plan plan = {.key_hashes = list};
    json_t *key = NULL;
    size_t i = 0;

    if (user_store_ensure(context->db, CREDENTIAL_OWNER_EMAIL, &owner, err) < 0)
        return -1;
    json_array_foreach (json_object_get(values, "session_api_keys"), i, key) {
        keyring_hash_token(&context->keyring, json_string_value(key), hashes[i]);
        list[plan.n_keys++] = hashes[i];
    }
    seal_settings(context, values, &sealed);
    plan.user_id = &owner.id;
    plan.n_run_slots = json_int_or(values, "max_concurrent_runs", 0);
    plan.settings = sealed.text;
    return init_store_begin(context->db, &plan, err);
}

/* POST InitRequest -> 200 {"state": "ready"} | 400 already initialized | 401 | 404 | 422 */
static int init_post(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *values = NULL;
    bool is_dormant = false;

    if (check_deferred(request, err) < 0 || check_init_key(request, err) < 0 ||
        deferred_init_is_dormant(request->context, &is_dormant, err) < 0)
        return -1;
    if (!is_dormant)
        return reply_detail(reply, 400, "server already in state: ready");
    if (request_json_schema(request, &init_request_schema, &values, err) < 0 ||
        check_plan(request, values, err) < 0)
        return -1;
    if (begin(request, values, err) < 0) {
        if (err->code == ERROR_CONFLICT)
            return reply_detail(reply, 400, "server already in state: ready");
        return -1;
    }
    atomic_store(request->context->has_begun, true);
    return reply_state(reply, "ready");
}

const struct route init_routes[] = {
    {HTTP_GET, "/api/init", ORIGIN_AGENT, ACCESS_PUBLIC, SANDBOX_OPEN, 0, init_get},
    {HTTP_POST, "/api/init", ORIGIN_AGENT, ACCESS_PUBLIC, SANDBOX_OPEN, BODY_SMALL_BYTES,
     init_post},
    {.handle = NULL},
};
