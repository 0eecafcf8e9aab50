/*
 * /api/settings/secrets: named values for the user's conversations.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/uuid.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/unmasked_secrets.h"
#include "fcgi/settings/user_documents.h"
#include "model/agent/agent_profile.h"

enum { SECRET_NAME_MAX_CHARS = 64, SECRET_VALUE_MAX_CHARS = 131072, DESCRIPTION_MAX_CHARS = 4096 };

#define NAME_PATTERN "^[A-Za-z][A-Za-z0-9_]{0,63}$"

static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char NAME_CHARS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

static bool is_secret_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= SECRET_NAME_MAX_CHARS && strchr(LETTERS, name[0]) != NULL &&
           strspn(name, NAME_CHARS) == len;
}

static json_t *item_of(const struct document *secret)
{
    const char *description = json_text_or(secret->body, "description", NULL);
    json_t *item = json_object();

    json_put_text(item, "name", secret->name);
    json_put(item, "description", json_text_of(description));
    return item;
}

/* secret_refs of the profile in the query; NULL when none is given. A new reference. */
static int read_filter(const struct request *request, json_t **refs_out, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *text = request_query(request, "agent_profile_id");
    struct uuid id = UUID_INIT;

    if (text == NULL)
        return 0;
    if (!uuid_parse(text, &id))
        return error_set(err, ERROR_NOT_FOUND, "Agent profile not found");
    if (document_store_get_by_id(&scope, COLLECTION_AGENT_PROFILES, &id, &profile, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Agent profile not found");
    *refs_out = json_incref(json_object_get(profile.body, "secret_refs"));
    return 0;
}

/* GET ?agent_profile_id= -> 200 {"secrets": [{"name", "description"}]} | 404 profile */
int user_documents_list_secrets(const struct request *request, struct reply *reply,
                                struct error *err)
{
    CLEANUP(document_list_done) struct document_list list = DOCUMENT_LIST_INIT;
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *refs = NULL;
    json_auto_t *json = json_object();
    json_t *items = json_array();

    json_put(json, "secrets", items);
    if (read_filter(request, &refs, err) < 0 ||
        document_store_list(&scope, COLLECTION_SECRETS, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        if (refs_allow(refs, list.items[i].name))
            json_push(items, item_of(&list.items[i]));
    }
    return reply_json(reply, 200, json);
}

/* The body of PUT: validated texts, borrowed from it. */
struct secret_input {
    const char *name;
    const char *value;
    const char *description;
};

static int read_input(const struct request *request, json_t *body, struct secret_input *input,
                      struct error *err)
{
    const struct text_rule name_rule = {0, REQUEST_MAX_BYTES, true};
    const struct text_rule value_rule = {0, SECRET_VALUE_MAX_CHARS, true};
    const struct text_rule description_rule = {0, DESCRIPTION_MAX_CHARS, false};
    json_t *name = json_object_get(body, "name");

    if (request_member_text(request, body, "name", &name_rule, &input->name, err) < 0 ||
        request_member_text(request, body, "value", &value_rule, &input->value, err) < 0 ||
        request_member_text(request, body, "description", &description_rule, &input->description,
                            err) < 0)
        return -1;
    if (!is_secret_name(input->name))
        return request_problem(
            request, REQUEST_JSON_PATH("body", "name"),
            &(struct validation_error){"string_pattern_mismatch",
                                       "String should match pattern '" NAME_PATTERN "'", NULL},
            name, err);
    if (text_is_blank(input->value) || text_equal(input->value, secret_marker))
        return error_set(err, ERROR_INVALID, "Secret value must not be empty or redacted");
    return 0;
}

static int try_put(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document secret = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    struct secret_input input = {NULL, NULL, NULL};
    json_auto_t *body = NULL;
    json_auto_t *item = NULL;
    json_auto_t *update = json_object();

    if (request_json_object(request, &body, err) < 0 ||
        read_input(request, body, &input, err) < 0 ||
        document_store_get_or_new(&scope, COLLECTION_SECRETS, input.name, &secret, err) < 0)
        return -1;
    if (secret.secrets == NULL)
        secret.secrets = json_object();
    json_put_text(secret.secrets, "value", input.value);
    json_put(secret.body, "description", json_text_of(input.description));
    if (document_store_put(&scope, &secret, SECRETS_MAX, err) < 0)
        return -1;
    item = item_of(&secret);
    json_put_text(update, input.name, input.value);
    unmasked_secrets_warn(reply, update, item);
    return reply_json(reply, 200, item);
}

/* PUT {"name", "value", "description"} -> 200 {"name", "description", "warning"?} | 409 limit | 422
 */
static int secret_put(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_put, err);
}

int user_documents_secret_not_found(struct error *err)
{
    return error_reword(err, ERROR_NOT_FOUND, "Secret not found");
}

int user_documents_reply_secret(struct reply *reply, const struct document *secret)
{
    reply_header(reply, "Cache-Control", "no-store");
    return reply_text(reply, 200, json_text_or(secret->secrets, "value", ""));
}

/* GET -> 200 the value as text | 404 */
static int get_secret(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document secret = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *name = request_path_text(request, "name");

    if (document_store_get(&scope, COLLECTION_SECRETS, name, &secret, err) < 0)
        return user_documents_secret_not_found(err);
    return user_documents_reply_secret(reply, &secret);
}

/* DELETE -> 200 {"deleted": true} | 404 */
static int secret_delete(const struct request *request, struct reply *reply, struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);
    const char *name = request_path_text(request, "name");
    json_auto_t *json = json_object();

    if (document_store_delete(&scope, COLLECTION_SECRETS, name, err) < 0)
        return user_documents_secret_not_found(err);
    json_put(json, "deleted", json_true());
    return reply_json(reply, 200, json);
}

#define SECRETS "/api/settings/secrets"

const struct route secret_routes[] = {
    {HTTP_GET, SECRETS, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, user_documents_list_secrets},
    {HTTP_PUT, SECRETS, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_LARGE_BYTES, secret_put},
    {HTTP_GET, SECRETS "/{name}", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, get_secret},
    {HTTP_DELETE, SECRETS "/{name}", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, secret_delete},
    {.handle = NULL},
};
