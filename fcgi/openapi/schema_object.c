#include "fcgi/openapi/schema_object.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/schema/object_schema.h"
#include "model/schema/words.h"

/* NULL: anything. */
static const char *const type_names[] = {
    [FIELD_TEXT] = "string",   [FIELD_BOOL] = "boolean", [FIELD_INT] = "integer",
    [FIELD_NUMBER] = "number", [FIELD_UUID] = "string",  [FIELD_ANY] = NULL,
    [FIELD_MAP] = "object",    [FIELD_LIST] = "array",   [FIELD_TEXT_MAP] = "object",
    [FIELD_TEXTS] = "array",   [FIELD_INTS] = "array",   [FIELD_OBJECT] = "object",
    [FIELD_OBJECTS] = "array",
};

json_t *schema_of_type(const char *name)
{
    json_t *schema = json_object();

    json_put_text(schema, "type", name);
    return schema;
}

json_t *schema_of_list(json_t *items)
{
    json_t *schema = schema_of_type("array");

    json_put(schema, "items", items);
    return schema;
}

json_t *schema_or_null(json_t *schema)
{
    json_t *either = json_object();
    json_t *choices = json_array();

    json_push(choices, schema);
    json_push(choices, schema_of_type("null"));
    json_put(either, "anyOf", choices);
    return either;
}

json_t *schema_reference(const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_t *schema = json_object();

    strbuf_appendf(&path, "#/components/schemas/%s", name);
    json_put_text(schema, "$ref", path.text);
    return schema;
}

static void put_limits(const struct field *field, json_t *schema)
{
    if (field->words != NULL)
        json_put(schema, "enum", words_to_json(field->words));
    if (field->kind == FIELD_UUID)
        json_put_text(schema, "format", "uuid");
    if (field->kind == FIELD_TEXT_MAP)
        json_put(schema, "additionalProperties", schema_of_type("string"));
    if ((field->rules & FIELD_FROM_0) != 0)
        json_put(schema, "minimum", json_integer(0));
    if ((field->rules & FIELD_FROM_1) != 0)
        json_put(schema, "minimum", json_integer(1));
    if (field->max_chars > 0)
        json_put(schema, "maxLength", json_integer((json_int_t)field->max_chars));
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
static json_t *schema_of_value(const struct field *field)
{
    json_t *schema = NULL;

    if (field->kind == FIELD_OBJECT)
        return schema_of_object(field->items);
    if (field->kind == FIELD_OBJECTS)
        return schema_of_list(schema_of_object(field->items));
    if (field->kind == FIELD_TEXTS)
        return schema_of_list(schema_of_type("string"));
    if (field->kind == FIELD_INTS)
        return schema_of_list(schema_of_type("integer"));
    if (field->kind == FIELD_ANY)
        return json_object();
    schema = schema_of_type(type_names[field->kind]);
    put_limits(field, schema);
    return schema;
}

static void put_default(const struct field *field, json_t *schema)
{
    struct error err = ERROR_INIT;
    json_t *value = NULL;
    int rc = 0;

    if (field->fallback == NULL)
        return;
    rc = json_parse(field->fallback, strlen(field->fallback), &value, &err);
    assert(rc == 0);
    (void)rc;
    json_put(schema, "default", value);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
json_t *schema_of_field(const struct field *field)
{
    json_t *schema = schema_of_value(field);

    if ((field->rules & FIELD_NULLABLE) != 0)
        schema = schema_or_null(schema);
    put_default(field, schema);
    return schema;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
json_t *schema_of_object(const struct object_schema *object)
{
    json_t *schema = schema_of_type("object");
    json_t *properties = json_object();
    json_t *required = json_array();

    json_put(schema, "properties", properties);
    json_put(schema, "required", required);
    for (size_t i = 0; i < object->n; i++) {
        const struct field *field = &object->fields[i];

        json_put(properties, field->name, schema_of_field(field));
        if ((field->rules & FIELD_REQUIRED) != 0)
            json_push(required, json_text_of(field->name));
    }
    if (object->is_closed)
        json_put(schema, "additionalProperties", json_false());
    return schema;
}
