/*
 * /api/llm/provider-connections: provider keys shared by several LLM profiles.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/uuid.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/user_documents.h"
#include "model/schema/object_schema.h"

enum { LABEL_MAX_CHARS = 128, URL_MAX_CHARS = 2048, KEY_MAX_CHARS = 16384, US_PER_S = 1000000 };

static const struct json_path body_place = {NULL, "body", 0};

static const struct field create_fields[] = {
    {.name = "display_name",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .max_chars = LABEL_MAX_CHARS},
    {.name = "provider",
     .kind = FIELD_TEXT,
     .fallback = "\"custom\"",
     .max_chars = LABEL_MAX_CHARS},
    {.name = "api_key", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .max_chars = KEY_MAX_CHARS},
    {.name = "base_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = URL_MAX_CHARS},
};
static const struct object_schema create_schema = CLOSED_SCHEMA(create_fields);

/* Members that are null or absent stay unchanged, except base_url, which null clears. */
static const struct field change_fields[] = {
    {.name = "display_name",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .max_chars = LABEL_MAX_CHARS},
    {.name = "provider", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = LABEL_MAX_CHARS},
    {.name = "api_key", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = KEY_MAX_CHARS},
    {.name = "base_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = URL_MAX_CHARS},
};
static const struct object_schema change_schema = CLOSED_SCHEMA(change_fields);

static json_t *connection_to_json(const struct document *connection)
{
    json_t *json = json_deep_copy(connection->body);

    json_put_text(json, "id", connection->name);
    json_put(json, "created_at", json_integer(connection->created_at_us / US_PER_S));
    json_put(json, "updated_at", json_integer(connection->updated_at_us / US_PER_S));
    json_put(json, "api_key_set",
             json_boolean(json_text_or(connection->secrets, "api_key", NULL) != NULL));
    return json;
}

/* Replies with the stored connection and its times. */
static int reply_connection(const struct request *request, struct reply *reply, int status,
                            const char *id, struct error *err)
{
    CLEANUP(document_done) struct document connection = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *json = NULL;

    if (document_store_get(&scope, COLLECTION_CONNECTIONS, id, &connection, err) < 0)
        return -1;
    json = connection_to_json(&connection);
    return reply_json(reply, status, json);
}

/* GET -> 200 list */
static int connections_list(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_list_done) struct document_list list = DOCUMENT_LIST_INIT;
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *json = json_array();

    if (document_store_list(&scope, COLLECTION_CONNECTIONS, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++)
        json_push(json, connection_to_json(&list.items[i]));
    return reply_json(reply, 200, json);
}

static int read_members(const struct request *request, const struct object_schema *schema,
                        json_t **members_out, struct error *err)
{
    static const char *const filled[] = {"display_name", "provider"};
    json_auto_t *body = NULL;
    json_auto_t *members = NULL;

    if (request_json_object(request, &body, err) < 0)
        return -1;
    secrets_open(&llm_secrets, body, request->context->keyring.fernet, request->problems);
    members = object_schema_read(schema, body, &body_place, request->problems);
    for (size_t i = 0; i < ARRAY_SIZE(filled); i++) {
        const struct json_path at = {&body_place, filled[i], 0};
        const char *text = json_text_or(members, filled[i], NULL);

        if (text != NULL && text_is_blank(text))
            validation_error_add_value(request->problems, &at, "a name must not be blank",
                                       json_object_get(members, filled[i]));
    }
    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    *members_out = json_incref(members);
    return 0;
}

/* Moves the key out of the members; a masked or blank one counts as absent. */
static void take_key(struct document *connection, json_t *members)
{
    const char *key = json_text_or(members, "api_key", "");

    if (!text_is_blank(key) && !text_equal(key, secret_marker)) {
        json_decref(connection->secrets);
        connection->secrets = json_object();
        json_put_text(connection->secrets, "api_key", key);
    }
    (void)json_object_del(members, "api_key");
}

/* POST {"display_name", "provider", "api_key", "base_url"} -> 201 | 409 limit | 422 */
static int connection_add(const struct request *request, struct reply *reply, struct error *err)
{
    struct uuid id = uuid_random();
    CLEANUP(document_done) struct document connection =
        document_new(COLLECTION_CONNECTIONS, id.text);
    const struct json_path key_place = {&body_place, "api_key", 0};
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *members = NULL;

    if (read_members(request, &create_schema, &members, err) < 0)
        return -1;
    take_key(&connection, members);
    if (connection.secrets == NULL) {
        validation_error_add_value(request->problems, &key_place,
                                   "a key must not be blank or masked", NULL);
        return request_problems_noted(err);
    }
    json_decref(connection.body);
    connection.body = json_incref(members);
    if (document_store_put(&scope, &connection, CONNECTIONS_MAX, err) < 0)
        return -1;
    return reply_connection(request, reply, 201, id.text, err);
}

static int load_connection(const struct request *request, struct document *connection_out,
                           struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);
    const char *id = request_path_text(request, "connection_id");

    if (document_store_get(&scope, COLLECTION_CONNECTIONS, id, connection_out, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Provider connection '%s' not found", id);
    return 0;
}

/* Overwrites existing members; absent ones, and names that are null, stay. */
static void change_members(struct document *connection, const json_t *members, const json_t *given)
{
    static const char *const names[] = {"display_name", "provider", "base_url"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        json_t *value = json_object_get(members, names[i]);
        bool may_be_null = text_equal(names[i], "base_url");

        if (json_object_get(given, names[i]) != NULL && (may_be_null || !json_is_null(value)))
            json_put(connection->body, names[i], json_incref(value));
    }
}

static int try_change(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document connection = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *given = NULL;
    json_auto_t *members = NULL;

    if (request_json_object(request, &given, err) < 0 ||
        read_members(request, &change_schema, &members, err) < 0 ||
        load_connection(request, &connection, err) < 0)
        return -1;
    take_key(&connection, members);
    change_members(&connection, members, given);
    if (document_store_put(&scope, &connection, 0, err) < 0)
        return -1;
    return reply_connection(request, reply, 200, connection.name, err);
}

/* PATCH -> 200 connection | 404 | 422 */
static int connection_change(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_change, err);
}

/* DELETE -> 200 the deleted connection | 404 */
static int connection_delete(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document connection = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *json = NULL;

    if (load_connection(request, &connection, err) < 0 ||
        document_store_delete(&scope, COLLECTION_CONNECTIONS, connection.name, err) < 0)
        return -1;
    json = connection_to_json(&connection);
    return reply_json(reply, 200, json);
}

#define CONNECTIONS "/api/llm/provider-connections"

const struct route connection_routes[] = {
    {HTTP_GET, CONNECTIONS, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, connections_list},
    {HTTP_POST, CONNECTIONS, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     connection_add},
    {HTTP_PATCH, CONNECTIONS "/{connection_id}", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED,
     BODY_SMALL_BYTES, connection_change},
    {HTTP_DELETE, CONNECTIONS "/{connection_id}", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0,
     connection_delete},
    {.handle = NULL},
};
