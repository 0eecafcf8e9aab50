/*
 * An object's table as a JSON schema, for chat models.
 */
#include <string.h>

#include "base/json.h"
#include "model/schema/object_schema.h"
#include "model/schema/words.h"

static const char *const type_names[] = {
    [FIELD_TEXT] = "string",   [FIELD_BOOL] = "boolean", [FIELD_INT] = "integer",
    [FIELD_NUMBER] = "number", [FIELD_UUID] = "string",  [FIELD_ANY] = "object",
    [FIELD_MAP] = "object",    [FIELD_LIST] = "array",   [FIELD_TEXT_MAP] = "object",
    [FIELD_TEXTS] = "array",   [FIELD_INTS] = "array",   [FIELD_OBJECT] = "object",
    [FIELD_OBJECTS] = "array",
};

static json_t *type_to_json(const char *name)
{
    json_t *type = json_object();

    json_put_text(type, "type", name);
    return type;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
static json_t *items_to_json(const struct field *field)
{
    if (field->kind == FIELD_OBJECTS)
        return object_schema_to_json(field->items);
    if (field->kind == FIELD_INTS)
        return type_to_json("integer");
    return field->kind == FIELD_TEXTS ? type_to_json("string") : NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
json_t *object_schema_to_json(const struct object_schema *object)
{
    json_t *schema = type_to_json("object");
    json_t *properties = json_object();
    json_t *required = json_array();

    for (size_t i = 0; i < object->n; i++) {
        const struct field *field = &object->fields[i];
        json_t *property = type_to_json(type_names[field->kind]);

        json_put_text(property, "description", field->help);
        if (field->words != NULL)
            json_put(property, "enum", words_to_json(field->words));
        json_put(property, "items", items_to_json(field));
        json_put(properties, field->name, property);
        if ((field->rules & FIELD_REQUIRED) != 0)
            json_push(required, json_text_of(field->name));
    }
    json_put(schema, "properties", properties);
    if (json_array_size(required) > 0)
        json_put(schema, "required", json_incref(required));
    json_decref(required);
    return schema;
}
