#include "model/schema/object_schema.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "model/schema/field_value.h"
#include "model/schema/validation_error.h"

const struct field *object_schema_find(const struct object_schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->n; i++) {
        if (strcmp(schema->fields[i].name, name) == 0)
            return &schema->fields[i];
    }
    return NULL;
}

/* Returns the default, a new reference; NULL if there is none. */
static json_t *field_default(const struct field *field)
{
    struct error err = ERROR_INIT;
    json_t *value = NULL;
    int rc = 0;

    if (field->fallback == NULL)
        return (field->rules & FIELD_NULLABLE) != 0 ? json_null() : NULL;
    rc = json_parse(field->fallback, strlen(field->fallback), &value, &err);
    assert(rc == 0);
    (void)rc;
    return value;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
static json_t *read_objects(const struct field *field, json_t *input, const struct json_path *path,
                            json_t *problems)
{
    json_t *list = json_array();
    json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (input, i, item) {
        struct json_path at = {path, NULL, (json_int_t)i};

        json_push(list, object_schema_read(field->items, item, &at, problems));
    }
    return list;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
static json_t *read_field(const struct field *field, json_t *input, const struct json_path *path,
                          json_t *problems)
{
    if (json_is_null(input) && (field->rules & FIELD_NULLABLE) != 0)
        return json_null();
    if (field->kind == FIELD_OBJECT)
        return object_schema_read(field->items, input, path, problems);
    if (field->kind == FIELD_OBJECTS && json_is_array(input))
        return read_objects(field, input, path, problems);
    return field_value_read(field, input, path, problems);
}

static void refuse_strangers(const struct object_schema *schema, json_t *input,
                             const struct json_path *path, json_t *problems)
{
    const char *name = NULL;
    json_t *member = NULL;

    json_object_foreach (input, name, member) {
        struct json_path at = {path, name, 0};

        if (object_schema_find(schema, name) == NULL)
            validation_error_add(problems, &at,
                                 &(struct validation_error){"extra_forbidden",
                                                            "Extra inputs are not permitted", NULL},
                                 member);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
json_t *object_schema_read(const struct object_schema *schema, json_t *input,
                           const struct json_path *path, json_t *problems)
{
    json_t *output = json_object();

    if (json_typeof(input) != JSON_OBJECT) {
        validation_error_add(
            problems, path,
            &(struct validation_error){"model_attributes_type",
                                       "Input should be a valid dictionary or object to extract "
                                       "fields from",
                                       NULL},
            input);
        return output;
    }
    for (size_t i = 0; i < schema->n; i++) {
        const struct field *field = &schema->fields[i];
        json_t *value = json_object_get(input, field->name);
        struct json_path at = {path, field->name, 0};

        if (value != NULL)
            json_put(output, field->name, read_field(field, value, &at, problems));
        else if ((field->rules & FIELD_REQUIRED) == 0)
            json_put(output, field->name, field_default(field));
        else
            validation_error_add(problems, &at,
                                 &(struct validation_error){"missing", "Field required", NULL},
                                 input);
    }
    if (schema->is_closed)
        refuse_strangers(schema, input, path, problems);
    return output;
}
