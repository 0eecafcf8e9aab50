#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/openapi/openapi_document.h"
#include "fcgi/openapi/operation.h"
#include "fcgi/openapi/schema_object.h"
#include "model/schema/object_schema.h"
#include "support/json_path.h"
#include "web/reply_status.h"

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

/* --- the whole document, as a list --- */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our own document */
static void append_properties(struct strbuf *out, const json_t *schema);

/* "string", "Name", "[string]", "a|b|null"; what else a schema says follows in parentheses. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as our own document */
static void append_schema(struct strbuf *out, const json_t *schema)
{
    static const char *const others[] = {"enum",
                                         "minimum",
                                         "maximum",
                                         "minLength",
                                         "maxLength",
                                         "default",
                                         "format",
                                         "pattern",
                                         "minItems",
                                         "maxItems",
                                         "contentMediaType",
                                         "const",
                                         "exclusiveMinimum"};
    const char *reference = json_text_or(schema, "$ref", NULL);
    const json_t *choices = json_object_get(schema, "anyOf");
    const json_t *additional = json_object_get(schema, "additionalProperties");

    if (reference != NULL)
        strbuf_append(out, strrchr(reference, '/') + 1);
    strbuf_append(out, json_text_or(schema, "type", ""));
    for (size_t i = 0; i < json_array_size(choices); i++) {
        strbuf_append(out, i > 0 ? "|" : "");
        append_schema(out, json_array_get(choices, i));
    }
    if (json_object_get(schema, "items") != NULL) {
        strbuf_append(out, "[");
        append_schema(out, json_object_get(schema, "items"));
        strbuf_append(out, "]");
    }
    if (json_is_object(additional)) {
        strbuf_append(out, "{*: ");
        append_schema(out, additional);
        strbuf_append(out, "}");
    } else if (additional != NULL) {
        strbuf_append(out, json_is_true(additional) ? " open" : " closed");
    }
    append_properties(out, schema);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        if (json_object_get(schema, others[i]) == NULL)
            continue;
        strbuf_appendf(out, " %s=", others[i]);
        json_append_text(out, json_object_get(schema, others[i]));
    }
}

static bool is_required(const json_t *schema, const char *name)
{
    const json_t *list = json_object_get(schema, "required");

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (text_equal(json_string_value(json_array_get(list, i)), name))
            return true;
    }
    return false;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our own document */
static void append_properties(struct strbuf *out, const json_t *schema)
{
    json_t *properties = json_object_get(schema, "properties");
    const char *separator = " {";
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (properties, name, value) {
        strbuf_appendf(out, "%s%s%s: ", separator, name, is_required(schema, name) ? "!" : "");
        append_schema(out, value);
        separator = ", ";
    }
    strbuf_append(out, json_object_size(properties) > 0 ? "}" : "");
}

/* " type: schema" of each form of a body. */
static void append_content(struct strbuf *out, const json_t *holder)
{
    json_t *content = json_object_get(holder, "content");
    const char *type = NULL;
    json_t *media = NULL;

    json_object_foreach (content, type, media) {
        strbuf_appendf(out, " %s", text_equal(type, "application/json") ? "" : type);
        append_schema(out, json_object_get(media, "schema"));
    }
}

static void append_operation(struct strbuf *out, const char *path, const char *method,
                             json_t *operation)
{
    const json_t *parameters = json_object_get(operation, "parameters");
    const json_t *body = json_object_get(operation, "requestBody");
    json_t *responses = json_object_get(operation, "responses");
    const char *status = NULL;
    json_t *response = NULL;

    strbuf_appendf(out, "%s %s (%s)%s\n  %s\n", method, path,
                   json_text_or(operation, "operationId", ""),
                   json_object_get(operation, "security") != NULL ? " public" : "",
                   json_text_or(operation, "summary", "-"));
    for (size_t i = 0; i < json_array_size(parameters); i++) {
        const json_t *parameter = json_array_get(parameters, i);

        strbuf_appendf(out, "  %s %s%s: ", json_text_or(parameter, "in", ""),
                       json_text_or(parameter, "name", ""),
                       json_is_true(json_object_get(parameter, "required")) ? "!" : "");
        append_schema(out, json_object_get(parameter, "schema"));
        strbuf_append(out, "\n");
    }
    if (body != NULL) {
        strbuf_append(out, json_is_true(json_object_get(body, "required")) ? "  body!" : "  body");
        append_content(out, body);
        strbuf_append(out, "\n");
    }
    strbuf_append(out, "  ->");
    json_object_foreach (responses, status, response) {
        strbuf_appendf(out, " %s", status);
        append_content(out, response);
        assert_string_equal(json_text_or(response, "description", ""),
                            reply_phrase((int)strtol(status, NULL, 10)));
    }
    strbuf_append(out, "\n");
}

static void list_document(struct strbuf *out, const json_t *document)
{
    json_t *paths = json_object_get(document, "paths");
    json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas");
    const char *path = NULL;
    json_t *item = NULL;

    json_object_foreach (paths, path, item) {
        const char *method = NULL;
        json_t *operation = NULL;

        json_object_foreach (item, method, operation)
            append_operation(out, path, method, operation);
    }
    json_object_foreach (schemas, path, item) {
        strbuf_appendf(out, "%s = ", path);
        append_schema(out, item);
        strbuf_append(out, "\n");
    }
}

static void write_listed(const struct strbuf *listed)
{
    FILE *file = fopen("openapi-document.txt", "we");

    assert_non_null(file);
    assert_int_equal(fwrite(listed->text, 1, listed->len, file), listed->len);
    assert_int_equal(fclose(file), 0);
}

/*
 * The document's parts are tables: each row of them is a line of the list. After a change of a
 * table, compare the new list with the old, and replace it.
 */
static void document_is_as_listed(void **state)
{
    static const char path[] = DEFT_TOP_SRCDIR "/tests/unit/fcgi/openapi/document.txt";
    json_auto_t *document = openapi_document("1", route_tables);
    CLEANUP(strbuf_done) struct strbuf listed = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    struct error err = ERROR_INIT;
    size_t at = 0;

    (void)state;
    list_document(&listed, document);
    if (file_read(path, 1 << 20, &expected, &err) < 0)
        fail_msg("%s", err.message);
    while (listed.text[at] != '\0' && listed.text[at] == expected.text[at])
        at++;
    if (listed.text[at] == expected.text[at])
        return;
    while (at > 0 && listed.text[at - 1] != '\n')
        at--;
    write_listed(&listed);
    fail_msg("openapi-document.txt is the new list; the old has \"%.*s\", the document \"%.*s\"",
             (int)strcspn(expected.text + at, "\n"), expected.text + at,
             (int)strcspn(listed.text + at, "\n"), listed.text + at);
}

static void document_says_what_it_is(void **state)
{
    json_auto_t *document = openapi_document("1.2.3", route_tables);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    json_append_text(&text, document);
    assert_json_at(text.text, "openapi", "\"3.1.0\"");
    assert_json_at(text.text, "info",
                   "{\"title\":\"deft: the agent-server API\",\"version\":\"1.2.3\"}");
    assert_json_at(text.text, "security", "[{\"key\":[]}]");
    assert_json_at(text.text, "components.securitySchemes",
                   "{\"key\":{\"type\":\"apiKey\",\"in\":\"header\","
                   "\"name\":\"X-Session-API-Key\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_description_has_a_route_and_is_its_only_one),
        cmocka_unit_test(routes_of_the_agent_origin_are_in_the_document),
        cmocka_unit_test(parameters_come_from_the_pattern_and_the_table),
        cmocka_unit_test(every_reference_has_its_component),
        cmocka_unit_test(a_schema_becomes_a_schema),
        cmocka_unit_test(document_is_as_listed),
        cmocka_unit_test(document_says_what_it_is),
    };

    json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
