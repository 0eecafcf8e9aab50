/*
 * POST /api/plugins/fetch: inspects a plugin's repository without installing it.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/plugins/source_fetch.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/settings/user_documents.h"
#include "model/schema/object_schema.h"
#include "model/secrets/secret_registry.h"

static const struct field request_fields[] = {
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .max_chars = 4096},
    {.name = "ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = 255},
    {.name = "repo_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = 1024},
    {.name = "secrets", .kind = FIELD_MAP, .fallback = "{}"},
    {.name = "timeout", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "60"},
};
static const struct object_schema request_schema = SCHEMA(request_fields);

/* The status and name that clients get for an error code. */
struct fetch_refusal {
    enum error_code code;
    int status;
    const char *name;
};

static const struct fetch_refusal refusals[] = {
    {ERROR_INVALID, 422, "invalid_plugin"},  {ERROR_NOT_FOUND, 502, "fetch_failed"},
    {ERROR_UNAVAILABLE, 502, "no_sandbox"},  {ERROR_TIMEOUT, 504, "timeout"},
    {ERROR_TOO_LARGE, 422, "too_large"},     {ERROR_UNAUTHENTICATED, 502, "no_sandbox"},
    {ERROR_RATE_LIMITED, 502, "no_sandbox"},
};

/* Replies {"detail": {"code", "message"}}; errors not in the table are passed on. */
static int refuse(struct reply *reply, const struct error *err)
{
    json_auto_t *answer = json_object();
    json_t *detail = json_object();

    json_put(answer, "detail", detail);
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        if (refusals[i].code != err->code)
            continue;
        json_put_text(detail, "code", refusals[i].name);
        json_put_text(detail, "message", err->message);
        return reply_json(reply, refusals[i].status, answer);
    }
    return -1;
}

/* Reads one secret as text; a reference to a stored secret of the user is looked up. */
static int read_secret(const struct request *request, const char *name, const json_t *source,
                       json_t *texts, struct error *err)
{
    CLEANUP(document_done) struct document document = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *stored = secret_source_stored_name(source);

    if (json_is_string(source)) {
        json_put_text(texts, name, json_string_value(source));
        return 0;
    }
    if (stored == NULL) {
        json_put_text(texts, name, json_text_or(source, "value", NULL));
        return 0;
    }
    if (document_store_get(&scope, COLLECTION_SECRETS, stored, &document, err) < 0)
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_INVALID, "There is no secret %s", stored)
                   : -1;
    json_put_text(texts, name, json_text_or(document.secrets, "value", NULL));
    return 0;
}

/* Reads the secrets of the body as name → text. A new reference. */
static int read_secrets(const struct request *request, json_t *body, json_t **texts_out,
                        struct error *err)
{
    json_auto_t *texts = json_object();
    const char *name = NULL;
    json_t *source = NULL;

    secrets_open(&start_request_secrets, body, request->context->keyring.fernet, request->problems);
    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    json_object_foreach (json_object_get(body, "secrets"), name, source) {
        if (read_secret(request, name, source, texts, err) < 0)
            return -1;
    }
    *texts_out = json_incref(texts);
    return 0;
}

static int read_timeout(const struct request *request, const json_t *body, int64_t *timeout_s_out,
                        struct error *err)
{
    static const struct validation_error problem = {
        "less_than_equal", "Input should be less than or equal to 600", NULL};

    *timeout_s_out = json_int_or(body, "timeout", FETCH_DEFAULT_S);
    if (*timeout_s_out > FETCH_MAX_S)
        return request_problem(request, REQUEST_JSON_PATH("body", "timeout"), &problem,
                               json_object_get(body, "timeout"), err);
    return 0;
}

static json_t *names_of(const json_t *skills)
{
    json_t *names = json_array();
    const json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (skills, i, skill)
        json_push(names, json_incref(json_object_get(skill, "name")));
    return names;
}

static int answer_plugin(const struct source_fetch *fetch, const struct fetched *fetched,
                         struct reply *reply, struct error *err)
{
    const struct plugin_folder folder = fetched_folder(fetched);
    const char *part = fetched->source.repo_path;
    json_auto_t *package = NULL;
    json_auto_t *answer = json_object();

    if (plugin_folder_read_plugin(&folder, &package, err) < 0)
        return refuse(reply, err);
    json_put_text(answer, "path", folder.path);
    json_put(answer, "resolved_ref", fetched_ref(fetched));
    json_put_text(answer, "source", fetched_source(fetched, fetch));
    json_put(answer, "repo_path", json_text_of(part));
    json_put(answer, "manifest", json_incref(json_object_get(package, "manifest")));
    json_put(answer, "skills", names_of(json_object_get(package, "skills")));
    json_put(answer, "commands", json_incref(json_object_get(package, "commands")));
    return reply_json(reply, 200, answer);
}

/* POST {"source","ref","repo_path","secrets","timeout"} -> 200 | 422 | 502 | 504 */
static int plugin_fetch(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(fetched_done) struct fetched fetched = FETCHED_INIT;
    json_auto_t *body = NULL;
    json_auto_t *secrets = NULL;
    struct source_fetch fetch = {.source = NULL};

    if (request_json_schema(request, &request_schema, &body, err) < 0 ||
        read_timeout(request, body, &fetch.timeout_s, err) < 0 ||
        read_secrets(request, body, &secrets, err) < 0)
        return -1;
    fetch.source = json_text_or(body, "source", "");
    fetch.ref = json_text_or(body, "ref", NULL);
    fetch.repo_path = json_text_or(body, "repo_path", NULL);
    fetch.secrets = secrets;
    if (source_fetch_run(request, &fetch, &fetched, err) < 0)
        return refuse(reply, err);
    return answer_plugin(&fetch, &fetched, reply, err);
}

const struct route plugin_fetch_routes[] = {
    {HTTP_POST, "/api/plugins/fetch", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     plugin_fetch},
    {.handle = NULL},
};
