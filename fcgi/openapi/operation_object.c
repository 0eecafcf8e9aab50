#include "fcgi/openapi/operation_object.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/reply.h"
#include "fcgi/openapi/operation.h"
#include "fcgi/openapi/schema_object.h"
#include "model/schema/object_schema.h"
#include "web/reply_status.h"

/* Adds a component under its name; returns a new reference to it. */
static json_t *use_schema(json_t *schemas, const struct named_schema *named)
{
    if (named->schema == NULL)
        return schema_of_type("object");
    if (json_object_get(schemas, named->name) == NULL)
        json_put(schemas, named->name, schema_of_object(named->schema));
    return schema_reference(named->name);
}

static json_t *parameter(const char *where, const char *name, json_t *schema, bool is_required)
{
    json_t *json = json_object();

    json_put_text(json, "name", name);
    json_put_text(json, "in", where);
    json_put(json, "required", json_boolean(is_required));
    json_put(json, "schema", schema);
    return json;
}

static json_t *path_schema(const char *name)
{
    json_t *schema = schema_of_type("string");

    if (text_equal(name, "conversation_id") || text_equal(name, "runtime_conversation_id"))
        json_put_text(schema, "format", "uuid");
    return schema;
}

static void push_path_parameters(const char *pattern, json_t *parameters)
{
    const char *open = strchr(pattern, '{');

    while (open != NULL) {
        size_t len = strcspn(open + 1, "*}");
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

        strbuf_append_bytes(&name, open + 1, len);
        json_push(parameters, parameter("path", name.text, path_schema(name.text), true));
        open = strchr(open + len, '{');
    }
}

json_t *operation_object_parameters(const struct route *route, const struct operation *operation)
{
    json_t *parameters = json_array();

    push_path_parameters(route->pattern, parameters);
    for (size_t i = 0; operation->query != NULL && i < operation->query->n; i++) {
        const struct field *field = &operation->query->fields[i];

        json_push(parameters, parameter("query", field->name, schema_of_field(field),
                                        (field->rules & FIELD_REQUIRED) != 0));
    }
    return parameters;
}

/* {"content": {type: {"schema": schema}}}; takes over the schema */
static json_t *content_of(const char *type, json_t *schema)
{
    json_t *json = json_object();
    json_t *content = json_object();
    json_t *media = json_object();

    json_put(media, "schema", schema);
    json_put(content, type, media);
    json_put(json, "content", content);
    return json;
}

static json_t *upload_schema(void)
{
    json_t *schema = schema_of_type("object");
    json_t *properties = json_object();
    json_t *file = schema_of_type("string");
    json_t *required = json_array();

    json_put_text(file, "contentMediaType", "application/octet-stream");
    json_put(properties, "file", file);
    json_push(required, json_text_of("file"));
    json_put(schema, "properties", properties);
    json_put(schema, "required", required);
    return schema;
}

json_t *operation_object_body(json_t *schemas, const struct operation *operation)
{
    json_t *body = NULL;

    if (operation->body_form == BODY_FORM_UPLOAD)
        body = content_of("multipart/form-data", upload_schema());
    else if (operation->body_form == BODY_FORM_IDS)
        body = content_of("application/json", schema_of_list(schema_of_type("string")));
    else if (operation->body.schema != NULL)
        body = content_of("application/json", use_schema(schemas, &operation->body));
    if (body != NULL)
        json_put(body, "required", json_boolean(operation->body_form != BODY_FORM_OPTIONAL));
    return body;
}

static json_t *answer_schema(json_t *schemas, const struct operation *operation)
{
    json_t *schema = NULL;

    switch (operation->answer_form) {
    case ANSWER_NUMBER:
        return schema_of_type("integer");
    case ANSWER_TEXTS:
        return schema_of_list(schema_of_type("string"));
    case ANSWER_LIST:
        return schema_of_list(use_schema(schemas, &operation->answer));
    case ANSWER_LIST_OR_NULLS:
        schema = use_schema(schemas, &operation->answer);
        return schema_of_list(schema_or_null(schema));
    case ANSWER_OBJECT:
    case ANSWER_TEXT:
    case ANSWER_BYTES:
    case ANSWER_NOTHING:
    case ANSWER_UNSUPPORTED:
        break;
    }
    return use_schema(schemas, &operation->answer);
}

static json_t *success_of(json_t *schemas, const struct operation *operation)
{
    switch (operation->answer_form) {
    case ANSWER_NOTHING:
    case ANSWER_UNSUPPORTED:
        return json_object();
    case ANSWER_TEXT:
        return content_of("text/plain", schema_of_type("string"));
    case ANSWER_BYTES:
        return content_of("application/octet-stream", json_object());
    case ANSWER_OBJECT:
    case ANSWER_LIST:
    case ANSWER_LIST_OR_NULLS:
    case ANSWER_TEXTS:
    case ANSWER_NUMBER:
        break;
    }
    return content_of("application/json", answer_schema(schemas, operation));
}

static void put_response(json_t *responses, int status, json_t *response)
{
    CLEANUP(strbuf_done) struct strbuf code = STRBUF_INIT;

    strbuf_appendf(&code, "%d", status);
    json_put_text(response, "description", reply_phrase(status));
    json_put(responses, code.text, response);
}

static void put_refusal(json_t *responses, int status, const char *schema)
{
    put_response(responses, status, content_of("application/json", schema_reference(schema)));
}

/* Error responses of any route of this kind. */
static void put_refusals(const struct route *route, const struct operation *operation,
                         json_t *responses)
{
    bool has_path = strchr(route->pattern, '{') != NULL;
    bool has_body = route->body_max_bytes != 0;

    if (route->access != ACCESS_PUBLIC)
        put_refusal(responses, 401, "Refusal");
    if (has_path)
        put_refusal(responses, 404, "Refusal");
    if (has_body)
        put_refusal(responses, 413, "Refusal");
    if (has_path || has_body || operation->query != NULL)
        put_refusal(responses, 422, "InvalidRequest");
    if (operation->answer_form == ANSWER_UNSUPPORTED)
        put_refusal(responses, 501, "Refusal");
}

json_t *operation_object_responses(json_t *schemas, const struct route *route,
                                   const struct operation *operation)
{
    json_t *responses = json_object();

    if (operation->answer_form != ANSWER_UNSUPPORTED)
        put_response(responses, operation->status != 0 ? operation->status : 200,
                     success_of(schemas, operation));
    put_refusals(route, operation, responses);
    return responses;
}

/* {"detail": text}, for a deliberate 5xx also {"exception": text} */
static json_t *refusal_schema(void)
{
    static const struct field fields[] = {
        {.name = "detail", .kind = FIELD_ANY, .rules = FIELD_REQUIRED},
        {.name = "exception", .kind = FIELD_TEXT},
        {.name = "error_id", .kind = FIELD_TEXT},
    };
    static const struct object_schema schema = SCHEMA(fields);

    return schema_of_object(&schema);
}

/* A list of problems with location and message, or a single text. */
static json_t *invalid_request_schema(void)
{
    static const struct field problem_fields[] = {
        {.name = "type", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
        {.name = "loc", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
        {.name = "msg", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
        {.name = "input", .kind = FIELD_ANY},
        {.name = "ctx", .kind = FIELD_MAP},
    };
    static const struct object_schema problem = SCHEMA(problem_fields);
    json_t *schema = schema_of_type("object");
    json_t *choices = json_array();
    json_t *detail = json_object();
    json_t *properties = json_object();
    json_t *required = json_array();

    json_push(choices, schema_of_list(schema_of_object(&problem)));
    json_push(choices, schema_of_type("string"));
    json_push(choices, schema_of_type("object"));
    json_put(detail, "anyOf", choices);
    json_put(properties, "detail", detail);
    json_push(required, json_text_of("detail"));
    json_put(schema, "properties", properties);
    json_put(schema, "required", required);
    return schema;
}

void operation_object_put_refusals(json_t *schemas)
{
    json_put(schemas, "Refusal", refusal_schema());
    json_put(schemas, "InvalidRequest", invalid_request_schema());
}
