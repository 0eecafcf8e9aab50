/*
 * /api/workspaces: the folders that the page offers a user to work in. One document.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/user_documents.h"
#include "model/schema/object_schema.h"

enum { PATH_MAX_CHARS = 4096, LABEL_MAX_CHARS = 256, PLACES_MAX = 1000 };

static const char DOCUMENT_NAME[] = "workspaces";
static const struct json_path body_place = {NULL, "body", 0};

static const struct field workspace_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .max_chars = PATH_MAX_CHARS},
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .max_chars = LABEL_MAX_CHARS},
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .max_chars = PATH_MAX_CHARS},
    {.name = "parentPath",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .max_chars = PATH_MAX_CHARS},
};
/* A parent has no parent. */
static const struct object_schema workspace_schema = SCHEMA(workspace_fields);
static const struct object_schema parent_schema = {workspace_fields,
                                                   ARRAY_SIZE(workspace_fields) - 1, false};

/* The two lists: their names in bodies, and in the document and replies. */
struct place_list {
    const char *pattern;
    const char *body_name;
    const char *name;
    const struct object_schema *schema;
};

static const struct place_list workspaces = {"/api/workspaces", "workspaces", "workspaces",
                                             &workspace_schema};
static const struct place_list parents = {"/api/workspaces/parents", "parents", "workspaceParents",
                                          &parent_schema};

static const struct place_list *list_of(const struct request *request)
{
    return text_equal(request->route->pattern, parents.pattern) ? &parents : &workspaces;
}

static int load_places(const struct request *request, struct document *places_out,
                       struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);

    if (document_store_get_or_new(&scope, COLLECTION_SETTINGS, DOCUMENT_NAME, places_out, err) < 0)
        return -1;
    if (places_out->revision > 0)
        return 0;
    json_put(places_out->body, workspaces.name, json_array());
    json_put(places_out->body, parents.name, json_array());
    return 0;
}

/* GET -> 200 {"workspaces", "workspaceParents"} */
static int places_get(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document places = DOCUMENT_INIT;

    if (load_places(request, &places, err) < 0)
        return -1;
    return reply_json(reply, 200, places.body);
}

/* Position of the place with that path, or the list's length. */
static size_t position_of(const json_t *list, const char *path)
{
    size_t i = 0;

    while (i < json_array_size(list) &&
           !text_equal(json_text_or(json_array_get(list, i), "path", ""), path))
        i++;
    return i;
}

static void refuse_empty_members(json_t *item, const struct json_path *where, json_t *problems)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (item, name, value) {
        const struct json_path at = {where, name, 0};

        if (json_is_string(value) && json_string_length(value) == 0)
            validation_error_add(
                problems, &at,
                &(struct validation_error){"string_too_short",
                                           "String should have at least 1 character", NULL},
                value);
    }
}

/* The places of the body, checked. A new reference. */
static int read_places(const struct request *request, json_t **items_out, struct error *err)
{
    const struct place_list *kind = list_of(request);
    const struct json_path list_place = {&body_place, kind->body_name, 0};
    const struct field field = {.name = kind->body_name,
                                .kind = FIELD_OBJECTS,
                                .rules = FIELD_REQUIRED,
                                .items = kind->schema};
    const struct object_schema schema = {&field, 1, false};
    json_auto_t *body = NULL;
    json_auto_t *read = NULL;
    json_t *items = NULL;
    json_t *item = NULL;
    size_t i = 0;

    if (request_json_object(request, &body, err) < 0)
        return -1;
    read = object_schema_read(&schema, body, &body_place, request->problems);
    items = json_object_get(read, kind->body_name);
    json_array_foreach (items, i, item) {
        const struct json_path at = {&list_place, NULL, (json_int_t)i};

        refuse_empty_members(item, &at, request->problems);
    }
    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    *items_out = json_incref(items);
    return 0;
}

static int try_add(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document places = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *added = NULL;
    json_t *list = NULL;
    json_t *item = NULL;
    size_t i = 0;

    if (read_places(request, &added, err) < 0 || load_places(request, &places, err) < 0)
        return -1;
    list = json_object_get(places.body, list_of(request)->name);
    json_array_foreach (added, i, item) {
        size_t at = position_of(list, json_text_or(item, "path", ""));

        (void)json_array_remove(list, at);
        json_push(list, json_incref(item));
    }
    if (json_array_size(list) > PLACES_MAX)
        return error_set(err, ERROR_CONFLICT, "the limit of %d is reached", (int)PLACES_MAX);
    if (document_store_put(&scope, &places, 0, err) < 0)
        return -1;
    return reply_json(reply, 200, places.body);
}

/*
 * POST {"workspaces"} or {"parents"} -> 200 both lists | 409 limit | 422. Replaces a place with the
 * same path.
 */
static int places_add(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_add, err);
}

static int try_remove(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document places = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *path = request_query(request, "path");
    json_auto_t *json = json_object();
    json_t *list = NULL;

    if (path == NULL)
        return request_problem(request, REQUEST_JSON_PATH("query", "path"),
                               &(struct validation_error){"missing", "Field required", NULL}, NULL,
                               err);
    if (load_places(request, &places, err) < 0)
        return -1;
    list = json_object_get(places.body, list_of(request)->name);
    if (json_array_remove(list, position_of(list, path)) < 0)
        return error_set(err, ERROR_NOT_FOUND, "Workspace not found");
    if (document_store_put(&scope, &places, 0, err) < 0)
        return -1;
    json_put(json, "deleted", json_true());
    return reply_json(reply, 200, json);
}

/* DELETE ?path= -> 200 {"deleted": true} | 404 | 422 */
static int places_remove(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_remove, err);
}

const struct route workspace_place_routes[] = {
    {HTTP_GET, "/api/workspaces", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, places_get},
    {HTTP_POST, "/api/workspaces", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     places_add},
    {HTTP_DELETE, "/api/workspaces", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, places_remove},
    {HTTP_POST, "/api/workspaces/parents", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED,
     BODY_SMALL_BYTES, places_add},
    {HTTP_DELETE, "/api/workspaces/parents", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0,
     places_remove},
    {.handle = NULL},
};
