#include "model/schema/shape.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "model/schema/problem.h"
#include "model/schema/shape_value.h"

const struct field *shape_find(const struct shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->n; i++) {
        if (strcmp(shape->fields[i].name, name) == 0)
            return &shape->fields[i];
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
static json_t *read_objects(const struct field *field, json_t *input, const struct place *place,
                            json_t *problems)
{
    json_t *list = json_array();
    json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (input, i, item) {
        struct place at = {place, NULL, (json_int_t)i};

        json_push(list, shape_read(field->items, item, &at, problems));
    }
    return list;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
static json_t *read_field(const struct field *field, json_t *input, const struct place *place,
                          json_t *problems)
{
    if (json_is_null(input) && (field->rules & FIELD_NULLABLE) != 0)
        return json_null();
    if (field->kind == FIELD_OBJECT)
        return shape_read(field->items, input, place, problems);
    if (field->kind == FIELD_OBJECTS && json_is_array(input))
        return read_objects(field, input, place, problems);
    return shape_value_read(field, input, place, problems);
}

static void refuse_strangers(const struct shape *shape, json_t *input, const struct place *place,
                             json_t *problems)
{
    const char *name = NULL;
    json_t *member = NULL;

    json_object_foreach (input, name, member) {
        struct place at = {place, name, 0};

        if (shape_find(shape, name) == NULL)
            problem_add(
                problems, &at,
                &(struct problem){"extra_forbidden", "Extra inputs are not permitted", NULL},
                member);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
json_t *shape_read(const struct shape *shape, json_t *input, const struct place *place,
                   json_t *problems)
{
    json_t *output = json_object();

    if (json_typeof(input) != JSON_OBJECT) {
        problem_add(problems, place,
                    &(struct problem){"model_attributes_type",
                                      "Input should be a valid dictionary or object to extract "
                                      "fields from",
                                      NULL},
                    input);
        return output;
    }
    for (size_t i = 0; i < shape->n; i++) {
        const struct field *field = &shape->fields[i];
        json_t *value = json_object_get(input, field->name);
        struct place at = {place, field->name, 0};

        if (value != NULL)
            json_put(output, field->name, read_field(field, value, &at, problems));
        else if ((field->rules & FIELD_REQUIRED) == 0)
            json_put(output, field->name, field_default(field));
        else
            problem_add(problems, &at, &(struct problem){"missing", "Field required", NULL}, input);
    }
    if (shape->is_closed)
        refuse_strangers(shape, input, place, problems);
    return output;
}
