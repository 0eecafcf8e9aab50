/*
 * Assembles the OpenAPI document from the route tables.
 */
#include "fcgi/openapi/openapi_document.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/openapi/operation.h"
#include "fcgi/openapi/operation_object.h"
#include "fcgi/openapi/schema_object.h"

/* The document under construction. Borrowed from the root. */
struct openapi_build {
    json_t *paths;
    json_t *schemas;
};

/* In lower case, as in OpenAPI; HTTP's methods are ASCII capitals. */
static void append_method(enum http_method method, struct strbuf *out)
{
    for (const char *p = http_method_to_string(method); *p != '\0'; p++)
        strbuf_append_char(out, (char)(*p - 'A' + 'a'));
}

/* Appends "/a/{rest*}" as "/a/{rest}", OpenAPI's form. */
static void append_path(const char *pattern, struct strbuf *out)
{
    for (const char *p = pattern; *p != '\0'; p++) {
        if (*p != '*')
            strbuf_append_char(out, *p);
    }
}

/* The parts of the path joined by "_": "get_api_conversations_conversation_id". */
static void put_operation_id(const struct route *route, json_t *json)
{
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;

    append_method(route->method, &id);
    for (const char *p = route->pattern; *p != '\0'; p++) {
        if (*p == '/' || *p == '-' || *p == '.')
            strbuf_append_char(&id, '_');
        else if (*p != '{' && *p != '}' && *p != '*')
            strbuf_append_char(&id, *p);
    }
    json_put_text(json, "operationId", id.text);
}

static json_t *operation_to_json(struct openapi_build *document, const struct route *route)
{
    static const struct operation undescribed = {.answer_form = ANSWER_OBJECT};
    const struct operation *operation = operation_find(route);
    json_t *json = json_object();

    if (operation == NULL)
        operation = &undescribed;
    put_operation_id(route, json);
    json_put_text(json, "summary", operation->summary);
    json_put(json, "parameters", operation_object_parameters(route, operation));
    json_put(json, "requestBody", operation_object_body(document->schemas, operation));
    json_put(json, "responses", operation_object_responses(document->schemas, route, operation));
    if (route->access == ACCESS_PUBLIC)
        json_put(json, "security", json_array());
    return json;
}

static void add_route(struct openapi_build *document, const struct route *route)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf method = STRBUF_INIT;
    json_t *item = NULL;

    append_path(route->pattern, &path);
    append_method(route->method, &method);
    item = json_object_get(document->paths, path.text);
    if (item == NULL) {
        item = json_object();
        json_put(document->paths, path.text, item);
    }
    json_put(item, method.text, operation_to_json(document, route));
}

static json_t *security_schemes(void)
{
    json_t *schemes = json_object();
    json_t *key = schema_of_type("apiKey");

    json_put_text(key, "in", "header");
    json_put_text(key, "name", "X-Session-API-Key");
    json_put(schemes, "key", key);
    return schemes;
}

static json_t *info_of(const char *version)
{
    json_t *info = json_object();

    json_put_text(info, "title", "deft: the agent-server API");
    json_put_text(info, "version", version);
    return info;
}

/* [{"key": []}]: the default for all routes that do not override it. */
static json_t *security(void)
{
    json_t *list = json_array();
    json_t *key = json_object();

    json_put(key, "key", json_array());
    json_push(list, key);
    return list;
}

json_t *openapi_document(const char *version, const struct route *const *tables)
{
    struct openapi_build document = {json_object(), json_object()};
    json_t *components = json_object();
    json_t *root = json_object();

    operation_object_put_refusals(document.schemas);
    for (const struct route *const *table = tables; *table != NULL; table++) {
        for (const struct route *route = *table; route->handle != NULL; route++) {
            if ((route->origins & ORIGIN_AGENT) != 0)
                add_route(&document, route);
        }
    }
    json_put(components, "schemas", document.schemas);
    json_put(components, "securitySchemes", security_schemes());
    json_put_text(root, "openapi", "3.1.0");
    json_put(root, "info", info_of(version));
    json_put(root, "security", security());
    json_put(root, "paths", document.paths);
    json_put(root, "components", components);
    return root;
}
