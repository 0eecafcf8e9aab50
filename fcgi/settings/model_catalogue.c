/*
 * /api/llm: the models to choose from, subscriptions, models of ACP agents.
 *
 * The names are in a file of {provider: {"verified": [name], "others": [name]}}, read for each
 * request, so that an operator may change it at any time. Any other name works as well.
 */
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request_defaults.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/user_documents.h"
#include "model/agent/agent_settings.h"
#include "model/schema/object_schema.h"

enum { CATALOGUE_MAX_BYTES = 1048576 };

static const struct json_path body_place = {NULL, "body", 0};

static int read_catalogue(const struct request *request, json_t **catalogue_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *path = request->context->settings->models_file;

    if (file_read(path, CATALOGUE_MAX_BYTES, &text, err) < 0 ||
        json_parse(text.text, text.len, catalogue_out, err) < 0)
        return error_set(err, ERROR_INTERNAL, "the model catalogue %s cannot be read", path);
    return 0;
}

/* GET -> 200 {"providers": [name]} */
static int providers_list(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *catalogue = NULL;
    json_auto_t *json = json_object();
    json_t *names = json_array();
    const char *provider = NULL;
    json_t *models = NULL;

    json_put(json, "providers", names);
    if (read_catalogue(request, &catalogue, err) < 0)
        return -1;
    json_object_foreach (catalogue, provider, models)
        json_push(names, json_text_of(provider));
    return reply_json(reply, 200, json);
}

/* "provider/name" of each. */
static void add_models(json_t *list, const char *provider, const json_t *names)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        CLEANUP(strbuf_done) struct strbuf model = STRBUF_INIT;

        strbuf_appendf(&model, "%s/%s", provider, json_string_value(json_array_get(names, i)));
        json_push(list, json_text_of(model.text));
    }
}

/* GET ?provider= -> 200 {"models": ["provider/name"]}; empty for an unknown provider */
static int models_list(const struct request *request, struct reply *reply, struct error *err)
{
    const char *wanted = request_query(request, "provider");
    json_auto_t *catalogue = NULL;
    json_auto_t *json = json_object();
    json_t *list = json_array();
    const char *provider = NULL;
    json_t *models = NULL;

    json_put(json, "models", list);
    if (read_catalogue(request, &catalogue, err) < 0)
        return -1;
    json_object_foreach (catalogue, provider, models) {
        if (wanted != NULL && !text_equal(wanted, provider))
            continue;
        add_models(list, provider, json_object_get(models, "verified"));
        add_models(list, provider, json_object_get(models, "others"));
    }
    return reply_json(reply, 200, json);
}

/* GET -> 200 {"models": {provider: [name]}} */
static int models_verified(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *catalogue = NULL;
    json_auto_t *json = json_object();
    json_t *verified = json_object();
    const char *provider = NULL;
    json_t *models = NULL;

    json_put(json, "models", verified);
    if (read_catalogue(request, &catalogue, err) < 0)
        return -1;
    json_object_foreach (catalogue, provider, models) {
        json_t *names = json_object_get(models, "verified");

        if (json_array_size(names) > 0)
            json_put(verified, provider, json_incref(names));
    }
    return reply_json(reply, 200, json);
}

/* GET, POST -> 200: no account is connected, and none can be */
static int subscription_status(const struct request *request, struct reply *reply,
                               struct error *err)
{
    json_auto_t *json = json_object();

    (void)request;
    (void)err;
    json_put_text(json, "vendor", "openai");
    json_put(json, "connected", json_false());
    json_put(json, "account_email", json_null());
    json_put(json, "expires_at", json_null());
    return reply_json(reply, 200, json);
}

/* POST {"device_code"} -> 200 not connected | 422 */
static int subscription_poll(const struct request *request, struct reply *reply, struct error *err)
{
    const struct text_rule rule = {0, BODY_SMALL_BYTES, true};
    const char *code = NULL;
    json_auto_t *body = NULL;

    if (request_json_object(request, &body, err) < 0 ||
        request_member_text(request, body, "device_code", &rule, &code, err) < 0)
        return -1;
    return subscription_status(request, reply, err);
}

/* GET -> 200 no models: none can be used without an account */
static int subscription_models(const struct request *request, struct reply *reply,
                               struct error *err)
{
    json_auto_t *json = json_object();

    (void)request;
    (void)err;
    json_put_text(json, "vendor", "openai");
    json_put(json, "models", json_array());
    return reply_json(reply, 200, json);
}

/* POST -> 501: a personal account cannot be used by a multi-user server */
static int subscription_start(const struct request *request, struct reply *reply, struct error *err)
{
    (void)request;
    (void)reply;
    return error_set(err, ERROR_UNSUPPORTED, "this server does not connect subscriptions");
}

static const struct field discovery_fields[] = {
    {.name = "agent_settings", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
    {.name = "secrets", .kind = FIELD_MAP, .fallback = "{}"},
    {.name = "refresh", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema discovery_schema = SCHEMA(discovery_fields);

static int check_discovery(const struct request *request, struct error *err)
{
    static const struct json_path where = {&body_place, "agent_settings", 0};
    const struct conversation_defaults defaults = request_conversation_defaults(request);
    json_auto_t *body = NULL;
    json_auto_t *read = NULL;
    json_auto_t *settings = NULL;
    json_t *input = NULL;

    if (request_json_object(request, &body, err) < 0)
        return -1;
    read = object_schema_read(&discovery_schema, body, &body_place, request->problems);
    input = json_object_get(read, "agent_settings");
    if (input != NULL && !agent_settings_are_acp(input))
        validation_error_add_value(request->problems, &where, "agent_kind must be 'acp'", input);
    else if (input != NULL)
        settings = agent_settings_read(input, &defaults, &where, request->problems);
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

/* POST -> 200 with the failure in `error` | 422 */
static int acp_models(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *json = json_object();
    json_t *error = json_object();

    json_put(json, "error", error);
    if (check_discovery(request, err) < 0)
        return -1;
    json_put_text(error, "code", "ACPSpawnError");
    json_put_text(error, "detail", "This server does not run external agents");
    json_put(json, "agent_name", json_null());
    json_put(json, "agent_version", json_null());
    json_put(json, "current_model_id", json_null());
    json_put(json, "available_models", json_array());
    json_put(json, "supports_runtime_model_switch", json_false());
    return reply_json(reply, 200, json);
}

#define SUBSCRIPTION "/api/llm/subscription/openai"

const struct route model_catalogue_routes[] = {
    {HTTP_GET, "/api/llm/providers", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, 0, providers_list},
    {HTTP_GET, "/api/llm/models", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, 0, models_list},
    {HTTP_GET, "/api/llm/models/verified", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, 0,
     models_verified},
    {HTTP_GET, SUBSCRIPTION "/models", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, 0,
     subscription_models},
    {HTTP_GET, SUBSCRIPTION "/status", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED, 0,
     subscription_status},
    {HTTP_POST, SUBSCRIPTION "/device/start", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED, 0,
     subscription_start},
    {HTTP_POST, SUBSCRIPTION "/device/poll", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED,
     BODY_SMALL_BYTES, subscription_poll},
    {HTTP_POST, SUBSCRIPTION "/logout", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED, 0,
     subscription_status},
    {HTTP_POST, "/api/acp/models", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     acp_models},
    {.handle = NULL},
};
