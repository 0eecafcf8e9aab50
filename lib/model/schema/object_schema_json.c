/*
 * An object's table as a JSON schema, for chat models.
 */
#include "base/attr.h"
#include "base/json.h"
#include "base/strbuf.h"
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

static json_t *object_to_json(const struct object_schema *object, const struct schema_help *help,
                              const char *prefix);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
static json_t *items_to_json(const struct field *field, const struct schema_help *help,
                             const char *path)
{
    CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;

    if (field->kind == FIELD_INTS)
        return type_to_json("integer");
    if (field->kind == FIELD_TEXTS)
        return type_to_json("string");
    if (field->kind != FIELD_OBJECTS)
        return NULL;
    strbuf_appendf(&prefix, "%s.", path);
    return object_to_json(field->items, help, prefix.text);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
static json_t *field_to_json(const struct field *field, const struct schema_help *help,
                             const char *prefix)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_t *property = type_to_json(type_names[field->kind]);

    strbuf_appendf(&path, "%s%s", prefix, field->name);
    json_put_text(property, "description", help->find(help, path.text));
    if (field->words != NULL)
        json_put(property, "enum", words_to_json(field->words));
    json_put(property, "items", items_to_json(field, help, path.text));
    return property;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
static json_t *object_to_json(const struct object_schema *object, const struct schema_help *help,
                              const char *prefix)
{
    json_t *schema = type_to_json("object");
    json_t *properties = json_object();
    json_t *required = json_array();

    for (size_t i = 0; i < object->n; i++) {
        const struct field *field = &object->fields[i];

        json_put(properties, field->name, field_to_json(field, help, prefix));
        if ((field->rules & FIELD_REQUIRED) != 0)
            json_push(required, json_text_of(field->name));
    }
    json_put(schema, "properties", properties);
    if (json_array_size(required) > 0)
        json_put(schema, "required", json_incref(required));
    json_decref(required);
    return schema;
}

json_t *object_schema_to_json(const struct object_schema *schema, const struct schema_help *help)
{
    return object_to_json(schema, help, "");
}
