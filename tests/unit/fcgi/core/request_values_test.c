/*
 * Values of queries and bodies, and the problems that are noted for wrong ones.
 */
#include "fcgi/core/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "support/json_path.h"
#include "web/request_input.h"

/* A request of which only the values are looked at; values of the query are borrowed. */
struct case_of {
    struct request request;
    struct query_item query[4];
    struct error err;
};

static void open_case(struct case_of *it)
{
    *it = (struct case_of){.request = {.body = STRBUF_INIT}, .err = ERROR_INIT};
    it->request.query = it->query;
    it->request.problems = json_array();
}

static void close_case(struct case_of *it)
{
    json_decref(it->request.problems);
    strbuf_done(&it->request.body);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): kept where they may be changed */
static void add_query(struct case_of *it, char *name, char *value)
{
    it->query[it->request.n_query++] = (struct query_item){name, value};
}

/* Fails unless this is the only problem. */
static void assert_problem(struct case_of *it, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    assert_int_equal(it->err.code, ERROR_INVALID);
    json_append_text(&text, it->request.problems);
    assert_json_at(text.text, "[0]", expected);
    assert_json_at(text.text, "[1]", NULL);
}

static void integers_of_a_query_have_bounds(void **state)
{
    static const struct int_range range = {-2, 7};
    struct {
        char *text;
        int rc;
        int64_t value;
        const char *problem;
    } rows[] = {
        {(char[]){"-2"}, 0, -2, NULL},
        {(char[]){"7"}, 0, 7, NULL},
        {(char[]){"-3"}, -1, 5,
         "{\"type\":\"greater_than_equal\",\"loc\":[\"query\",\"n\"],\"msg\":\"Input should be "
         "greater than or equal to -2\",\"input\":\"-3\",\"ctx\":{\"ge\":-2}}"},
        {(char[]){"8"}, -1, 5,
         "{\"type\":\"less_than_equal\",\"loc\":[\"query\",\"n\"],\"msg\":\"Input should be less "
         "than or equal to 7\",\"input\":\"8\",\"ctx\":{\"le\":7}}"},
        {(char[]){"x"}, -1, 5,
         "{\"type\":\"int_parsing\",\"loc\":[\"query\",\"n\"],\"msg\":\"Input should be a valid "
         "integer, unable to parse string as an integer\",\"input\":\"x\"}"},
        {(char[]){""}, -1, 5,
         "{\"type\":\"int_parsing\",\"loc\":[\"query\",\"n\"],\"msg\":\"Input should be a valid "
         "integer, unable to parse string as an integer\",\"input\":\"\"}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct case_of it;
        int64_t value = 5;

        open_case(&it);
        assert_int_equal(request_query_int(&it.request, "n", &range, &value, &it.err), 0);
        assert_int_equal(value, 5);
        add_query(&it, (char[]){"n"}, rows[i].text);
        assert_int_equal(request_query_int(&it.request, "n", &range, &value, &it.err), rows[i].rc);
        assert_int_equal(value, rows[i].value);
        if (rows[i].problem != NULL)
            assert_problem(&it, rows[i].problem);
        close_case(&it);
    }
}

static void limit_is_from_1_to_100(void **state)
{
    struct {
        char *text;
        int rc;
        int64_t value;
        const char *problem;
    } rows[] = {
        {(char[]){"1"}, 0, 1, NULL},
        {(char[]){"100"}, 0, 100, NULL},
        {(char[]){"0"}, -1, 100,
         "{\"type\":\"greater_than\",\"loc\":[\"query\",\"limit\"],\"msg\":\"Input should be "
         "greater than 0\",\"input\":\"0\",\"ctx\":{\"gt\":0}}"},
        {(char[]){"101"}, -1, 100,
         "{\"type\":\"less_than_equal\",\"loc\":[\"query\",\"limit\"],\"msg\":\"Input should be "
         "less than or equal to 100\",\"input\":\"101\",\"ctx\":{\"le\":100}}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct case_of it;
        int64_t value = 5;

        open_case(&it);
        assert_int_equal(request_query_limit(&it.request, &value, &it.err), 0);
        assert_int_equal(value, 100);
        add_query(&it, (char[]){"limit"}, rows[i].text);
        assert_int_equal(request_query_limit(&it.request, &value, &it.err), rows[i].rc);
        assert_int_equal(value, rows[i].value);
        if (rows[i].problem != NULL)
            assert_problem(&it, rows[i].problem);
        close_case(&it);
    }
}

static void booleans_of_a_query_are_words(void **state)
{
    char *yes[] = {(char[]){"true"}, (char[]){"1"}, (char[]){"yes"}, (char[]){"on"},
                   (char[]){"t"},    (char[]){"y"}, (char[]){"TRUE"}};
    char *no[] = {(char[]){"false"}, (char[]){"0"}, (char[]){"no"}, (char[]){"off"},
                  (char[]){"f"},     (char[]){"n"}, (char[]){"Off"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
        struct case_of it;
        bool value = false;

        open_case(&it);
        add_query(&it, (char[]){"b"}, yes[i]);
        assert_int_equal(request_query_bool(&it.request, "b", &value, &it.err), 0);
        assert_true(value);
        it.query[0].value = no[i];
        assert_int_equal(request_query_bool(&it.request, "b", &value, &it.err), 0);
        assert_false(value);
        value = true;
        assert_int_equal(request_query_bool(&it.request, "other", &value, &it.err), 0);
        assert_true(value);
        it.query[0].value = (char[]){"maybe"};
        assert_int_equal(request_query_bool(&it.request, "b", &value, &it.err), -1);
        assert_problem(&it, "{\"type\":\"bool_parsing\",\"loc\":[\"query\",\"b\"],\"msg\":\"Input "
                            "should be a valid boolean, unable to interpret input\",\"input\":"
                            "\"maybe\"}");
        close_case(&it);
    }
}

static void choices_of_a_query_are_listed(void **state)
{
    static const char *const one[] = {"a", NULL};
    static const char *const three[] = {"a", "b", "c", NULL};
    struct case_of it;
    size_t index = 9;

    (void)state;
    open_case(&it);
    assert_int_equal(request_query_choice(&it.request, "c", three, &index, &it.err), 0);
    assert_int_equal(index, 9);
    add_query(&it, (char[]){"c"}, (char[]){"c"});
    assert_int_equal(request_query_choice(&it.request, "c", three, &index, &it.err), 0);
    assert_int_equal(index, 2);
    assert_int_equal(request_query_choice(&it.request, "c", one, &index, &it.err), -1);
    assert_int_equal(index, 2);
    assert_problem(&it, "{\"type\":\"enum\",\"loc\":[\"query\",\"c\"],\"msg\":\"Input should be "
                        "'a'\",\"input\":\"c\",\"ctx\":{\"expected\":\"'a'\"}}");
    close_case(&it);
    open_case(&it);
    add_query(&it, (char[]){"c"}, (char[]){"d"});
    assert_int_equal(request_query_choice(&it.request, "c", three, &index, &it.err), -1);
    assert_problem(&it,
                   "{\"type\":\"enum\",\"loc\":[\"query\",\"c\"],\"msg\":\"Input should be 'a', "
                   "'b' or 'c'\",\"input\":\"d\",\"ctx\":{\"expected\":\"'a', 'b' or 'c'\"}}");
    close_case(&it);
}

/* --- bodies --- */

static void bodies_are_objects(void **state)
{
    static const struct {
        const char *body;
        const char *problem;
    } rows[] = {
        {"", "{\"type\":\"missing\",\"loc\":[\"body\"],\"msg\":\"Field required\",\"input\":null}"},
        {"[1]", "{\"type\":\"model_attributes_type\",\"loc\":[\"body\"],\"msg\":\"Input should be "
                "a valid dictionary or object to extract fields from\",\"input\":[1]}"},
        {"null", "{\"type\":\"model_attributes_type\",\"loc\":[\"body\"],\"msg\":\"Input should be "
                 "a valid dictionary or object to extract fields from\",\"input\":null}"},
        {"{\"a\":1}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct case_of it;
        json_auto_t *json = NULL;

        open_case(&it);
        strbuf_append(&it.request.body, rows[i].body);
        assert_int_equal(request_json_object(&it.request, &json, &it.err),
                         rows[i].problem == NULL ? 0 : -1);
        if (rows[i].problem != NULL)
            assert_problem(&it, rows[i].problem);
        else
            assert_int_equal(json_int_or(json, "a", 0), 1);
        close_case(&it);
    }
}

static void broken_json_is_told(void **state)
{
    struct case_of it;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *json = NULL;

    (void)state;
    open_case(&it);
    strbuf_append(&it.request.body, "{");
    assert_int_equal(request_json(&it.request, &json, &it.err), -1);
    json_append_text(&text, it.request.problems);
    assert_json_at(text.text, "[0].type", "\"json_invalid\"");
    assert_json_at(text.text, "[0].msg", "\"JSON decode error\"");
    assert_json_at(text.text, "[0].loc[0]", "\"body\"");
    assert_true(json_is_string(
        json_object_get(json_object_get(json_array_get(it.request.problems, 0), "ctx"), "error")));
    close_case(&it);
}

static void blank_body_is_an_object_where_it_is_optional(void **state)
{
    static const char *const blank[] = {"", " \n\t"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(blank); i++) {
        struct case_of it;
        json_auto_t *json = NULL;

        open_case(&it);
        strbuf_append(&it.request.body, blank[i]);
        assert_false(request_has_body(&it.request));
        assert_int_equal(request_json_object_or_empty(&it.request, &json, &it.err), 0);
        assert_int_equal(json_object_size(json), 0);
        assert_true(json_is_object(json));
        close_case(&it);
    }
}

static void texts_of_a_body_have_bounds(void **state)
{
    static const struct text_rule required = {2, 3, true};
    static const struct text_rule optional = {1, 1, false};
    static const struct {
        const char *body;
        const struct text_rule *rule;
        int rc;
        const char *text;
        const char *problem;
    } rows[] = {
        {"{\"t\":\"ab\"}", &required, 0, "ab", NULL},
        {"{\"t\":\"\xc3\xa9\xc3\xa9\xc3\xa9\"}", &required, 0, "\xc3\xa9\xc3\xa9\xc3\xa9", NULL},
        {"{\"t\":\"a\"}", &required, -1, NULL,
         "{\"type\":\"string_too_short\",\"loc\":[\"body\",\"t\"],\"msg\":\"String should have at "
         "least 2 characters\",\"input\":\"a\",\"ctx\":{\"min_length\":2}}"},
        {"{\"t\":\"abcd\"}", &required, -1, NULL,
         "{\"type\":\"string_too_long\",\"loc\":[\"body\",\"t\"],\"msg\":\"String should have at "
         "most 3 characters\",\"input\":\"abcd\",\"ctx\":{\"max_length\":3}}"},
        {"{\"t\":\"\"}", &optional, -1, NULL,
         "{\"type\":\"string_too_short\",\"loc\":[\"body\",\"t\"],\"msg\":\"String should have at "
         "least 1 character\",\"input\":\"\",\"ctx\":{\"min_length\":1}}"},
        {"{\"t\":null}", &optional, 0, NULL, NULL},
        {"{}", &optional, 0, NULL, NULL},
        {"{}", &required, -1, NULL,
         "{\"type\":\"missing\",\"loc\":[\"body\",\"t\"],\"msg\":\"Field required\",\"input\":{}}"},
        {"{\"t\":null}", &required, -1, NULL,
         "{\"type\":\"string_type\",\"loc\":[\"body\",\"t\"],\"msg\":\"Input should be a valid "
         "string\",\"input\":null}"},
        {"{\"t\":1}", &optional, -1, NULL,
         "{\"type\":\"string_type\",\"loc\":[\"body\",\"t\"],\"msg\":\"Input should be a valid "
         "string\",\"input\":1}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct case_of it;
        json_auto_t *body = json_loads(rows[i].body, 0, NULL);
        const char *text = "untouched";

        open_case(&it);
        assert_int_equal(request_member_text(&it.request, body, "t", rows[i].rule, &text, &it.err),
                         rows[i].rc);
        if (rows[i].problem != NULL)
            assert_problem(&it, rows[i].problem);
        else if (rows[i].text != NULL)
            assert_string_equal(text, rows[i].text);
        else
            assert_null(text);
        close_case(&it);
    }
}

static void booleans_of_a_body_are_json(void **state)
{
    struct case_of it;
    json_auto_t *body = json_loads("{\"yes\":true,\"no\":false,\"text\":\"true\"}", 0, NULL);
    bool value = false;

    (void)state;
    open_case(&it);
    assert_int_equal(request_member_bool(&it.request, body, "yes", &value, &it.err), 0);
    assert_true(value);
    assert_int_equal(request_member_bool(&it.request, body, "none", &value, &it.err), 0);
    assert_true(value);
    assert_int_equal(request_member_bool(&it.request, body, "no", &value, &it.err), 0);
    assert_false(value);
    assert_int_equal(request_member_bool(&it.request, body, "text", &value, &it.err), -1);
    assert_problem(&it, "{\"type\":\"bool_type\",\"loc\":[\"body\",\"text\"],\"msg\":\"Input "
                        "should be a valid boolean\",\"input\":\"true\"}");
    close_case(&it);
}

static void shapes_of_a_body_have_defaults(void **state)
{
    static const struct field fields[] = {
        {.name = "n", .kind = FIELD_INT, .fallback = "3"},
        {.name = "t", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    };
    static const struct object_schema schema = SCHEMA(fields);
    struct case_of it;
    json_auto_t *values = NULL;
    json_t *none = NULL;

    (void)state;
    open_case(&it);
    assert_int_equal(request_json_schema(&it.request, &schema, &values, &it.err), 0);
    assert_int_equal(json_int_or(values, "n", 0), 3);
    strbuf_append(&it.request.body, "{\"n\":\"x\"}");
    assert_int_equal(request_json_schema(&it.request, &schema, &none, &it.err), -1);
    assert_null(none);
    assert_string_equal(it.err.message, "the request is not valid");
    assert_int_equal(json_array_size(it.request.problems), 1);
    close_case(&it);
}

/* --- the request itself --- */

static int read_nothing(void *stream, char *buffer, int len)
{
    (void)stream;
    (void)len;
    buffer[0] = '\0';
    return 0;
}

/* Reads a request of these parameters; true when it is valid. */
static bool read_request(char **params, struct request *request)
{
    static const char context = 0;
    struct request_input input = {params, read_nothing, NULL};
    struct error err = ERROR_INIT;
    bool is_valid = request_init(request, (const struct fcgi_context *)(const void *)&context,
                                 &input, &err) == 0;

    request->input = NULL;
    return is_valid;
}

static void headers_that_may_come_once_are_these(void **state)
{
    static const char *const names[] = {"HTTP_X_SESSION_API_KEY",
                                        "HTTP_AUTHORIZATION",
                                        "HTTP_COOKIE",
                                        "HTTP_HOST",
                                        "HTTP_ORIGIN",
                                        "HTTP_SEC_FETCH_SITE",
                                        "CONTENT_LENGTH",
                                        "CONTENT_TYPE",
                                        "HTTP_X_EXPOSE_SECRETS",
                                        "HTTP_ACCEPT"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        bool is_single = i + 1 < ARRAY_SIZE(names);
        char uri[] = "REQUEST_URI=/";
        char one[60];
        char *params[] = {uri, one, one, NULL};
        struct request request = {.body = STRBUF_INIT};

        (void)snprintf(one, sizeof(one), "%s=1", names[i]);
        assert_int_equal(read_request(params, &request), !is_single);
        request_done(&request);
        params[2] = NULL;
        assert_true(read_request(params, &request));
        request_done(&request);
    }
}

static void methods_and_origins_are_told_apart(void **state)
{
    static const struct {
        const char *method;
        enum http_method expected;
        bool is_unsafe;
    } methods[] = {
        {"GET", HTTP_GET, false},      {"POST", HTTP_POST, true},
        {"PUT", HTTP_PUT, true},       {"PATCH", HTTP_PATCH, true},
        {"DELETE", HTTP_DELETE, true}, {"OPTIONS", HTTP_OPTIONS, false},
        {"BREW", HTTP_OTHER, true},    {"get", HTTP_OTHER, true},
        {"", HTTP_OTHER, true},
    };
    static const struct {
        const char *origin;
        enum origin expected;
    } origins[] = {
        {"app", ORIGIN_APP},       {"agent", ORIGIN_AGENT}, {"preview", ORIGIN_PREVIEW},
        {"socket", ORIGIN_SOCKET}, {"other", ORIGIN_AGENT}, {"", ORIGIN_AGENT},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        char uri[] = "REQUEST_URI=/";
        char method[40];
        char *params[] = {uri, method, NULL};
        struct request request = {.body = STRBUF_INIT};

        (void)snprintf(method, sizeof(method), "REQUEST_METHOD=%s", methods[i].method);
        assert_true(read_request(params, &request));
        assert_int_equal(request.method, methods[i].expected);
        assert_int_equal(http_method_is_unsafe(request.method), methods[i].is_unsafe);
        if (request.method != HTTP_OTHER)
            assert_string_equal(http_method_to_string(request.method), methods[i].method);
        request_done(&request);
    }
    for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
        char uri[] = "REQUEST_URI=/";
        char origin[40];
        char *params[] = {uri, origin, NULL};
        struct request request = {.body = STRBUF_INIT};

        (void)snprintf(origin, sizeof(origin), "DEFT_ORIGIN=%s", origins[i].origin);
        assert_true(read_request(params, &request));
        assert_int_equal(request.origin, origins[i].expected);
        request_done(&request);
    }
}

static void ids_of_requests_are_taken_when_they_are_hex(void **state)
{
    static const struct {
        const char *id;
        bool is_taken;
    } rows[] = {
        {"0123456789abcdef0123456789abcdef", true},
        {"0123456789abcdef0123456789abcde", false},
        {"0123456789abcdef0123456789abcdef0", false},
        {"0123456789abcdef0123456789abcdeF", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char uri[] = "REQUEST_URI=/";
        char id[80];
        char *params[] = {uri, id, NULL};
        struct request request = {.body = STRBUF_INIT};

        (void)snprintf(id, sizeof(id), "DEFT_REQUEST_ID=%s", rows[i].id);
        assert_true(read_request(params, &request));
        assert_int_equal(strlen(request.id), 32);
        assert_int_equal(strcmp(request.id, rows[i].id) == 0, rows[i].is_taken);
        request_done(&request);
    }
}

static void queries_have_three_hundred_parts_at_most(void **state)
{
    (void)state;
    for (int n = 300; n <= 301; n++) {
        CLEANUP(strbuf_done) struct strbuf uri = STRBUF_INIT;
        char *params[] = {NULL, NULL};
        struct request request = {.body = STRBUF_INIT};

        strbuf_append(&uri, "REQUEST_URI=/?a");
        for (int i = 1; i < n; i++)
            strbuf_append(&uri, "&a");
        params[0] = uri.text;
        assert_int_equal(read_request(params, &request), n == 300);
        assert_int_equal(request.n_query, 300);
        request_done(&request);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_a_query_have_bounds),
        cmocka_unit_test(limit_is_from_1_to_100),
        cmocka_unit_test(booleans_of_a_query_are_words),
        cmocka_unit_test(choices_of_a_query_are_listed),
        cmocka_unit_test(bodies_are_objects),
        cmocka_unit_test(broken_json_is_told),
        cmocka_unit_test(blank_body_is_an_object_where_it_is_optional),
        cmocka_unit_test(texts_of_a_body_have_bounds),
        cmocka_unit_test(booleans_of_a_body_are_json),
        cmocka_unit_test(shapes_of_a_body_have_defaults),
        cmocka_unit_test(headers_that_may_come_once_are_these),
        cmocka_unit_test(methods_and_origins_are_told_apart),
        cmocka_unit_test(ids_of_requests_are_taken_when_they_are_hex),
        cmocka_unit_test(queries_have_three_hundred_parts_at_most),
    };

    json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
