#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/openapi/openapi_document.h"
#include "fcgi/openapi/operation.h"
#include "fcgi/openapi/schema_object.h"
#include "model/schema/object_schema.h"

static bool has_route(const struct operation *operation)
{
    for (const struct route *const *table = route_tables; *table != NULL; table++) {
        for (const struct route *route = *table; route->handle != NULL; route++) {
            if (route->method == operation->method &&
                text_equal(route->pattern, operation->pattern))
                return operation_find(route) == operation;
        }
    }
    return false;
}

static void every_description_has_a_route_and_is_its_only_one(void **state)
{
    (void)state;
    for (const struct operation *const *table = operation_tables; *table != NULL; table++) {
        for (const struct operation *operation = *table; operation->pattern != NULL; operation++) {
            if (!has_route(operation))
                fail_msg("%s %s", http_method_to_string(operation->method), operation->pattern);
            assert_non_null(operation->summary);
        }
    }
}

static json_t *route_in(json_t *document, const char *path, const char *method)
{
    return json_object_get(json_object_get(json_object_get(document, "paths"), path), method);
}

static void routes_of_the_agent_origin_are_in_the_document(void **state)
{
    json_auto_t *document = openapi_document("1.2.3", route_tables);

    (void)state;
    assert_non_null(route_in(document, "/api/conversations", "post"));
    assert_non_null(route_in(document, "/api/conversations/{conversation_id}", "patch"));
    assert_non_null(route_in(document, "/api/file/download/{path}", "get"));
    assert_null(route_in(document, "/api/v1/me", "get"));
    assert_string_equal(json_text_or(json_object_get(document, "info"), "version", ""), "1.2.3");
}

static void parameters_come_from_the_pattern_and_the_table(void **state)
{
    json_auto_t *document = openapi_document("1", route_tables);
    json_t *search =
        route_in(document, "/api/conversations/{conversation_id}/events/search", "get");
    json_t *parameters = json_object_get(search, "parameters");

    (void)state;
    assert_string_equal(json_text_or(json_array_get(parameters, 0), "in", ""), "path");
    assert_string_equal(json_text_or(json_array_get(parameters, 0), "name", ""), "conversation_id");
    assert_string_equal(json_text_or(json_array_get(parameters, 1), "in", ""), "query");
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our own document */
static void check_references(const json_t *schemas, json_t *json)
{
    const char prefix[] = "#/components/schemas/";
    const char *reference = json_text_or(json, "$ref", NULL);
    const char *name = NULL;
    json_t *value = NULL;
    size_t i = 0;

    if (reference != NULL) {
        assert_int_equal(strncmp(reference, prefix, strlen(prefix)), 0);
        assert_non_null(json_object_get(schemas, reference + strlen(prefix)));
    }
    json_object_foreach (json, name, value)
        check_references(schemas, value);
    json_array_foreach (json, i, value)
        check_references(schemas, value);
}

static void every_reference_has_its_component(void **state)
{
    json_auto_t *document = openapi_document("1", route_tables);

    (void)state;
    check_references(json_object_get(json_object_get(document, "components"), "schemas"), document);
}

static void a_schema_becomes_a_schema(void **state)
{
    static const struct field fields[] = {
        {.name = "a", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .words = "x|y"},
        {.name = "b", .kind = FIELD_INT, .rules = FIELD_NULLABLE | FIELD_FROM_1},
        {.name = "c", .kind = FIELD_TEXTS, .fallback = "[]"},
    };
    static const struct object_schema object = CLOSED_SCHEMA(fields);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *schema = schema_of_object(&object);

    (void)state;
    json_append_text(&text, schema);
    assert_string_equal(
        text.text,
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"enum\":[\"x\",\"y\"]},"
        "\"b\":{\"anyOf\":[{\"type\":\"integer\",\"minimum\":1},{\"type\":\"null\"}]},"
        "\"c\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"default\":[]}},"
        "\"required\":[\"a\"],\"additionalProperties\":false}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_description_has_a_route_and_is_its_only_one),
        cmocka_unit_test(routes_of_the_agent_origin_are_in_the_document),
        cmocka_unit_test(parameters_come_from_the_pattern_and_the_table),
        cmocka_unit_test(every_reference_has_its_component),
        cmocka_unit_test(a_schema_becomes_a_schema),
    };

    json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
