#include "model/schema/client_arguments.h"

#include <stddef.h>

#include "base/json.h"
#include "base/text.h"
#include "model/schema/validation_error.h"

/* 2^53: beyond it not every integer is a double. */
#define EXACT_MAX 9007199254740992.0

static bool is_whole(const json_t *value)
{
    double number = json_real_value(value);

    return json_is_integer(value) || (json_is_real(value) && number >= -EXACT_MAX &&
                                      number <= EXACT_MAX && (double)(json_int_t)number == number);
}

static bool is_text(const json_t *value)
{
    return json_is_string(value);
}

static bool is_number(const json_t *value)
{
    return json_is_number(value);
}

static bool is_bool(const json_t *value)
{
    return json_is_boolean(value);
}

static bool is_list(const json_t *value)
{
    return json_is_array(value);
}

static bool is_map(const json_t *value)
{
    return json_is_object(value);
}

static const struct type {
    const char *name;
    bool (*fits)(const json_t *value);
    struct validation_error problem;
} types[] = {
    {"string", is_text, {"string_type", "Input should be a valid string", NULL}},
    {"integer", is_whole, {"int_type", "Input should be a valid integer", NULL}},
    {"number", is_number, {"float_type", "Input should be a valid number", NULL}},
    {"boolean", is_bool, {"bool_type", "Input should be a valid boolean", NULL}},
    {"array", is_list, {"list_type", "Input should be a valid list", NULL}},
    {"object", is_map, {"dict_type", "Input should be a valid dictionary", NULL}},
};

/* ["string", "null"] counts as "string"; several other types as any. */
static const char *only_name(const json_t *names)
{
    const char *found = NULL;

    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));

        if (name == NULL || text_equal(name, "null"))
            continue;
        if (found != NULL)
            return NULL;
        found = name;
    }
    return found;
}

/* Returns NULL if any value is valid. */
static const struct type *type_of(const json_t *schema)
{
    const json_t *value = json_object_get(schema, "type");
    const char *name = json_is_array(value) ? only_name(value) : json_string_value(value);

    for (size_t i = 0; name != NULL && i < ARRAY_SIZE(types); i++) {
        if (text_equal(types[i].name, name))
            return &types[i];
    }
    return NULL;
}

static json_t *items_of(const json_t *lists)
{
    json_t *items = json_array();

    for (size_t i = 0; i < json_array_size(lists); i++) {
        if (json_array_extend(items, json_array_get(lists, i)) < 0)
            break;
    }
    return items;
}

static bool all_fit(const json_t *values, const struct type *type)
{
    for (size_t i = 0; i < json_array_size(values); i++) {
        if (!type->fits(json_array_get(values, i)))
            return false;
    }
    return true;
}

/* Returns NULL if the value, and each item of its lists, has the type that the schema gives. */
static const struct validation_error *problem_of(const json_t *schema, json_t *value)
{
    json_auto_t *values = json_array();
    const struct type *type = type_of(schema);

    json_push(values, json_incref(value));
    while (type != NULL && json_array_size(values) > 0) {
        json_t *items = NULL;

        if (!all_fit(values, type))
            return &type->problem;
        if (type->fits != is_list)
            return NULL;
        items = items_of(values);
        json_decref(values);
        values = items;
        schema = json_object_get(schema, "items");
        type = type_of(schema);
    }
    return NULL;
}

static bool is_required(const json_t *parameters, const char *name)
{
    const json_t *names = json_object_get(parameters, "required");

    for (size_t i = 0; i < json_array_size(names); i++) {
        if (text_equal(json_string_value(json_array_get(names, i)), name))
            return true;
    }
    return false;
}

static void check_member(const json_t *parameters, const char *name, json_t *value,
                         json_t *problems)
{
    const json_t *schema = json_object_get(json_object_get(parameters, "properties"), name);
    const struct json_path path = {NULL, name, 0};
    const struct validation_error *problem = problem_of(schema, value);

    if (json_is_null(value) && !is_required(parameters, name))
        return;
    if (problem != NULL)
        validation_error_add(problems, &path, problem, value);
}

bool client_arguments_declare(const json_t *parameters, const char *name)
{
    return json_object_get(json_object_get(parameters, "properties"), name) != NULL;
}

void client_arguments_check(const json_t *parameters, json_t *arguments, json_t *problems)
{
    json_t *members = json_object_get(parameters, "properties");
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (members, name, value) {
        const struct json_path path = {NULL, name, 0};

        if (is_required(parameters, name) && json_object_get(arguments, name) == NULL)
            validation_error_add(problems, &path,
                                 &(struct validation_error){"missing", "Field required", NULL},
                                 arguments);
    }
    json_object_foreach (arguments, name, value) {
        const struct json_path path = {NULL, name, 0};

        if (json_object_get(members, name) != NULL)
            check_member(parameters, name, value, problems);
        else
            validation_error_add(problems, &path,
                                 &(struct validation_error){"extra_forbidden",
                                                            "Extra inputs are not permitted", NULL},
                                 value);
    }
}
