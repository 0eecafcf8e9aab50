/*
 * The body as JSON, and its members.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/core/request.h"
#include "model/schema/object_schema.h"

bool request_has_body(const struct request *request)
{
    return !text_is_blank(request->body.text);
}

static const struct json_path whole_body = {NULL, "body", 0};

int request_json(const struct request *request, json_t **json_out, struct error *err)
{
    struct error why = ERROR_INIT;
    json_t *ctx = NULL;

    if (request->body.len == 0)
        return request_problem(request, &whole_body,
                               &(struct validation_error){"missing", "Field required", NULL}, NULL,
                               err);
    if (json_parse(request->body.text, request->body.len, json_out, &why) == 0)
        return 0;
    ctx = json_object();
    json_put_text(ctx, "error", why.message);
    return request_problem(request, REQUEST_JSON_PATH("body", NULL),
                           &(struct validation_error){"json_invalid", "JSON decode error", ctx},
                           NULL, err);
}

int request_json_object(const struct request *request, json_t **json_out, struct error *err)
{
    static const char words[] =
        "Input should be a valid dictionary or object to extract fields from";
    json_auto_t *json = NULL;

    if (request_json(request, &json, err) < 0)
        return -1;
    if (!json_is_object(json))
        return request_problem(request, &whole_body,
                               &(struct validation_error){"model_attributes_type", words, NULL},
                               json, err);
    *json_out = json_incref(json);
    return 0;
}

int request_json_object_or_empty(const struct request *request, json_t **json_out,
                                 struct error *err)
{
    if (request_has_body(request))
        return request_json_object(request, json_out, err);
    *json_out = json_object();
    return 0;
}

static int check_length(const struct request *request, const char *name, json_t *value,
                        const struct text_rule *rule, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    size_t n_chars = utf8_length(json_string_value(value), json_string_length(value));
    bool is_short = n_chars < rule->min_chars;
    size_t bound = is_short ? rule->min_chars : rule->max_chars;
    json_t *ctx = NULL;

    if (!is_short && n_chars <= rule->max_chars)
        return 0;
    strbuf_appendf(&message, "String should have at %s %zu character%s",
                   is_short ? "least" : "most", bound, bound == 1 ? "" : "s");
    ctx = json_object();
    json_put(ctx, is_short ? "min_length" : "max_length", json_integer((json_int_t)bound));
    return request_problem(
        request, REQUEST_JSON_PATH("body", name),
        &(struct validation_error){is_short ? "string_too_short" : "string_too_long", message.text,
                                   ctx},
        value, err);
}

int request_member_text(const struct request *request, json_t *body, const char *name,
                        const struct text_rule *rule, const char **text_out, struct error *err)
{
    json_t *value = json_object_get(body, name);

    if (json_is_string(value)) {
        if (check_length(request, name, value, rule, err) < 0)
            return -1;
        *text_out = json_string_value(value);
        return 0;
    }
    if (!rule->is_required && (value == NULL || json_is_null(value))) {
        *text_out = NULL;
        return 0;
    }
    return request_problem(request, REQUEST_JSON_PATH("body", name),
                           &(struct validation_error){
                               value == NULL ? "missing" : "string_type",
                               value == NULL ? "Field required" : "Input should be a valid string",
                               NULL},
                           value != NULL ? value : body, err);
}

int request_member_bool(const struct request *request, json_t *body, const char *name,
                        bool *value_io, struct error *err)
{
    json_t *value = json_object_get(body, name);

    if (value == NULL)
        return 0;
    if (json_is_boolean(value)) {
        *value_io = json_is_true(value);
        return 0;
    }
    return request_problem(
        request, REQUEST_JSON_PATH("body", name),
        &(struct validation_error){"bool_type", "Input should be a valid boolean", NULL}, value,
        err);
}

int request_json_schema(const struct request *request, const struct object_schema *schema,
                        json_t **values_out, struct error *err)
{
    json_auto_t *body = NULL;
    json_auto_t *values = NULL;

    if (request_json_object_or_empty(request, &body, err) < 0)
        return -1;
    values = object_schema_read(schema, body, &whole_body, request->problems);
    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    *values_out = json_incref(values);
    return 0;
}
