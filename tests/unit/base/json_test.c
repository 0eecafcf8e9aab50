#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "unit/base/base_test.h"

static json_t *parsed(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    if (json_parse(text, strlen(text), &json, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return json;
}

static void documents_of_any_type_are_read(void **state)
{
    static const char *const documents[] = {"{}", "[1,2.5,\"x\",null,true]", "5", "\"t\"", "null"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
        json_auto_t *json = parsed(documents[i]);
        CLEANUP(mem_freep) char *text = json_to_text(json);

        assert_string_equal(text, documents[i]);
    }
}

static void broken_documents_are_refused(void **state)
{
    static const char *const documents[] = {"",           "{",       "{\"a\":1,\"a\":2}",
                                            "[\"\xff\"]", "[1] 2",   "[\"\\u0000\"]",
                                            "{'a':1}",    "[1e999]", "\"\\ud800\""};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
        struct error err = ERROR_INIT;
        json_t *json = NULL;

        assert_int_equal(json_parse(documents[i], strlen(documents[i]), &json, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_null(json);
    }
}

typedef int json_parser(const char *text, size_t len, json_t **json_out, struct error *err);

static int nest(json_parser *parse, size_t depth, const char *open, const char *close)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *json = NULL;

    for (size_t i = 0; i < depth; i++)
        strbuf_append(&text, open);
    strbuf_append(&text, "1");
    for (size_t i = 0; i < depth; i++)
        strbuf_append(&text, close);
    return parse(text.text, text.len, &json, &err);
}

static void depth_is_capped(void **state)
{
    (void)state;
    assert_int_equal(nest(json_parse, JSON_MAX_DEPTH, "[", "]"), 0);
    assert_int_equal(nest(json_parse, JSON_MAX_DEPTH + 1, "[", "]"), -1);
    assert_int_equal(nest(json_parse, JSON_MAX_DEPTH + 1, "{\"a\":", "}"), -1);
    assert_int_equal(nest(json_parse, 100000, "[", "]"), -1);
}

/* An array of n times a piece, after one more bracket. */
static int repeat(const char *piece, size_t n)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *json = NULL;

    strbuf_append(&text, "[0");
    for (size_t i = 0; i < n; i++)
        strbuf_append(&text, piece);
    strbuf_append(&text, "]");
    return json_parse(text.text, text.len, &json, &err);
}

static void number_of_values_is_capped(void **state)
{
    (void)state;
    assert_int_equal(repeat(",1", JSON_MAX_VALUES - 1), 0);
    assert_int_equal(repeat(",1", JSON_MAX_VALUES), -1);
    assert_int_equal(repeat(",{}", JSON_MAX_VALUES / 2), -1);
    assert_int_equal(repeat(",\",,,,,,,,,,,,[[[{{{\"", JSON_MAX_VALUES / 2), 0);
}

static void another_limit_of_values_can_be_set(void **state)
{
    static const char text[] = "[1,2,3]";
    json_auto_t *json = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(json_parse_limited(text, strlen(text), 2, &json, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_int_equal(json_parse_limited("[1,2", 4, 2, &json, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(json_parse_limited(text, strlen(text), 3, &json, &err), 0);
    assert_int_equal(json_array_size(json), 3);
}

/* A value of the maximum depth is stored inside a few more levels. */
static void what_we_wrote_may_be_deeper(void **state)
{
    (void)state;
    assert_int_equal(nest(json_parse_own, JSON_MAX_DEPTH + 8, "[", "]"), 0);
    assert_int_equal(nest(json_parse_own, JSON_MAX_DEPTH + 8, "{\"a\":", "}"), 0);
    assert_int_equal(nest(json_parse_own, 100000, "[", "]"), -1);
}

static void brackets_in_texts_do_not_count(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *json = NULL;

    (void)state;
    strbuf_append(&text, "[\"\\\"");
    for (int i = 0; i < 1000; i++)
        strbuf_append_char(&text, '[');
    strbuf_append(&text, "\"]");
    json = parsed(text.text);
    assert_int_equal(json_array_size(json), 1);
}

static void building_says_what_is_wrong(void **state)
{
    struct error err = ERROR_INIT;
    json_auto_t *good = json_build(&err, "{s:I, s:s?}", "id", (json_int_t)7, "none", NULL);
    json_t *bad = json_build(&err, "{s:s}", "text", "\xff");

    (void)state;
    assert_int_equal(json_int_or(good, "id", 0), 7);
    assert_null(bad);
    assert_int_equal(err.code, ERROR_INVALID);
}

static void reading_says_what_is_missing(void **state)
{
    struct error err = ERROR_INIT;
    json_auto_t *json = parsed("{\"a\":1}");
    json_int_t a = 0;

    (void)state;
    assert_int_equal(json_read(json, &err, "{s:I}", "a", &a), 0);
    assert_int_equal(a, 1);
    assert_int_equal(json_read(json, &err, "{s:I}", "b", &a), -1);
    assert_non_null(strstr(err.message, "b"));
    assert_int_equal(json_read(NULL, &err, "{s:I}", "b", &a), -1);
}

static void members_of_another_type_are_not_there(void **state)
{
    json_auto_t *json = parsed("{\"t\":5,\"i\":\"x\",\"n\":null,\"b\":1}");

    (void)state;
    assert_string_equal(json_text_or(json, "t", "-"), "-");
    assert_int_equal(json_int_or(json, "i", 3), 3);
    assert_int_equal(json_bool_or(json, "b", 0), 0);
    assert_string_equal(json_text_or(json, "n", "-"), "-");
    assert_string_equal(json_text_or(NULL, "n", "-"), "-");
    assert_true(json_number_or(json, "t", 0) > 4);
}

static void broken_text_is_repaired(void **state)
{
    json_auto_t *json = json_text("a\0\xff", 3);
    json_auto_t *empty = json_text(NULL, 0);

    (void)state;
    assert_string_equal(json_string_value(json), "a\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(json_string_value(empty), "");
}

/* Names come from outside like values: of files, of headers, of variables. */
static void broken_keys_are_repaired(void **state)
{
    json_auto_t *object = json_object();

    (void)state;
    json_put(object, "a\xff", json_true());
    json_put_text(object, "\xc3", "b\xff");
    json_put(json_need_object(object, "\xed\xa0\x80"), "c", json_false());
    assert_true(json_is_true(json_object_get(object, "a\xef\xbf\xbd")));
    assert_string_equal(json_text_or(object, "\xef\xbf\xbd", ""), "b\xef\xbf\xbd");
    assert_int_equal(json_object_size(object), 3);
}

static void text_becomes_a_string_whatever_it_is(void **state)
{
    json_auto_t *sound = json_text_of("a");
    json_auto_t *broken = json_text_of("a\xff");
    json_auto_t *none = json_text_of(NULL);

    (void)state;
    assert_string_equal(json_string_value(sound), "a");
    assert_string_equal(json_string_value(broken), "a\xef\xbf\xbd");
    assert_true(json_is_null(none));
}

static void first_value_is_read_within_the_caps(void **state)
{
    CLEANUP(strbuf_done) struct strbuf deep = STRBUF_INIT;
    json_auto_t *json = NULL;
    struct error err = ERROR_INIT;
    static const char text[] = "[1] and more";

    (void)state;
    assert_int_equal(json_parse_first(text, strlen(text), &json, &err), 0);
    assert_int_equal(json_array_size(json), 1);
    assert_int_equal(json_parse_first("1", 1, &json, &err), -1);
    for (int i = 0; i <= JSON_MAX_DEPTH; i++)
        strbuf_append_char(&deep, '[');
    for (int i = 0; i <= JSON_MAX_DEPTH; i++)
        strbuf_append_char(&deep, ']');
    assert_int_equal(json_parse_first(deep.text, deep.len, &json, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

static void nulls_are_dropped_at_all_depths(void **state)
{
    json_auto_t *json = parsed("{\"a\":null,\"b\":[{\"c\":null,\"d\":1},null],\"e\":{\"f\":null}}");
    CLEANUP(mem_freep) char *text = NULL;

    (void)state;
    json_drop_nulls(json);
    text = json_to_text(json);
    assert_string_equal(text, "{\"b\":[{\"d\":1},null],\"e\":{}}");
}

/* json_append_text() writes what jansson would. */
static void texts_are_as_jansson_writes_them(void **state)
{
    static const char *const documents[] = {
        "{\"a\":{},\"b\":[],\"\\u0001\\\"k\\n\":[[],[{}],\"\"]}",
        "[0,9,10,-9223372036854775808,9223372036854775807,-90]",
        "[0.1,1e300,-2.5e-9,3.0,-0.0,123456789012345678,-1,true,false,null]",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u001f\\u007f\\u00e4\\ud83d\\ude00<>&'\"]",
        "\"\"",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
        json_auto_t *json = parsed(documents[i]);
        CLEANUP(mem_freep) char *text = json_to_text(json);
        CLEANUP(mem_freep) char *expected = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);

        assert_string_equal(text, expected);
    }
}

static void null_values_are_left_out(void **state)
{
    json_auto_t *json = json_object();

    (void)state;
    json_put(json, "a", NULL);
    json_put_text(json, "b", NULL);
    assert_int_equal(json_object_size(json), 0);
}

static void media_type_is_json_by_its_name(void **state)
{
    static const struct {
        const char *type;
        bool is_json;
    } cases[] = {
        {"application/json", true},
        {"Application/JSON; charset=utf-8", true},
        {"application/json;x", true},
        {"application/json\t", true},
        {"application/problem+json", true},
        {"application/a+JSON ;x", true},
        {"application/x", false},
        {"application/jso", false},
        {"application/jsonx", false},
        {"application/+json", false},
        {"application/+jsonx", false},
        {"application/ json", false},
        {"application/xjson", false},
        {"text/json", false},
        {"text/plain; a=application/json", false},
        {"application", false},
        {"", false},
    };
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (json_is_media_type(cases[i].type) != cases[i].is_json)
            fail_msg("%s", cases[i].type);
    }
    assert_int_equal(json_refuse_media_type(&err), -1);
    assert_int_equal(err.code, ERROR_MEDIA_TYPE);
    assert_string_equal(err.message,
                        "The body must be JSON: send it with Content-Type: application/json");
}

static void begun_objects_get_the_rest(void **state)
{
    static const struct {
        const char *first;
        const char *second;
        const char *whole;
    } cases[] = {
        {"{", "{}", "{}"},
        {"{\"a\":1,", "{}", "{\"a\":1}"},
        {"{", "{\"b\":[2]}", "{\"b\":[2]}"},
        {"{\"a\":1,\"c\":\",\",", "{\"b\":2}", "{\"a\":1,\"c\":\",\",\"b\":2}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *second = parsed(cases[i].second);
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        strbuf_append(&text, cases[i].first);
        json_append_rest(&text, second);
        assert_string_equal(text.text, cases[i].whole);
    }
}

static void members_are_read_with_their_type(void **state)
{
    json_auto_t *json =
        parsed("{\"t\":\"x\",\"e\":\"\",\"i\":7,\"r\":1.5,\"y\":true,\"n\":false,\"o\":{\"a\":1}}");

    (void)state;
    assert_string_equal(json_text_or(json, "t", "-"), "x");
    assert_string_equal(json_text_or(json, "e", "-"), "");
    assert_null(json_text_or(json, "i", NULL));
    assert_int_equal(json_int_or(json, "i", 3), 7);
    assert_int_equal(json_int_or(json, "r", 3), 3);
    assert_int_equal(json_int_or(json, "none", 3), 3);
    assert_true(json_number_or(json, "r", 0) > 1.4);
    assert_true(json_number_or(json, "i", 0) > 6.9);
    assert_true(json_number_or(json, "t", -1) < 0);
    assert_int_equal(json_bool_or(json, "y", 0), 1);
    assert_int_equal(json_bool_or(json, "n", 1), 0);
    assert_int_equal(json_bool_or(json, "i", 1), 1);
    assert_int_equal(json_int_or(json_need_object(json, "o"), "a", 0), 1);
    assert_int_equal(json_object_size(json_need_object(json, "t")), 0);
    assert_true(json_is_object(json_object_get(json, "t")));
}

static void faults_of_documents_are_told(void **state)
{
    CLEANUP(strbuf_done) struct strbuf deep = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    (void)state;
    assert_int_equal(json_parse("[1,\n x]", 7, &json, &err), -1);
    assert_non_null(strstr(err.message, "(line 2, column "));
    for (int i = 0; i <= JSON_MAX_DEPTH; i++)
        strbuf_append_char(&deep, '[');
    assert_int_equal(json_parse(deep.text, deep.len, &json, &err), -1);
    assert_string_equal(err.message, "nested deeper than 64 levels");
    /* Brackets that close nothing do not count. */
    assert_int_equal(json_parse("]]]", 3, &json, &err), -1);
    assert_non_null(strstr(err.message, "line 1"));
    assert_int_equal(json_parse_own("{", 1, &json, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_int_equal(strncmp(err.message, "written JSON always parses: ", 28), 0);
    assert_null(json);
}

static void escapes_are_as_short_as_they_can_be(void **state)
{
    json_auto_t *text = json_text_of("\"\\\b\f\n\r\t/\x01\x1f\x7f a");
    json_auto_t *key = json_object();
    CLEANUP(mem_freep) char *quoted = json_to_text(text);
    CLEANUP(mem_freep) char *object = NULL;

    (void)state;
    assert_string_equal(quoted, "\"\\\"\\\\\\b\\f\\n\\r\\t/\\u0001\\u001F\x7f a\"");
    json_put_text(key, "a\"b", "c");
    object = json_to_text(key);
    assert_string_equal(object, "{\"a\\\"b\":\"c\"}");
}

int json_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_of_any_type_are_read),
        cmocka_unit_test(broken_documents_are_refused),
        cmocka_unit_test(depth_is_capped),
        cmocka_unit_test(number_of_values_is_capped),
        cmocka_unit_test(another_limit_of_values_can_be_set),
        cmocka_unit_test(what_we_wrote_may_be_deeper),
        cmocka_unit_test(brackets_in_texts_do_not_count),
        cmocka_unit_test(building_says_what_is_wrong),
        cmocka_unit_test(reading_says_what_is_missing),
        cmocka_unit_test(members_of_another_type_are_not_there),
        cmocka_unit_test(broken_text_is_repaired),
        cmocka_unit_test(broken_keys_are_repaired),
        cmocka_unit_test(text_becomes_a_string_whatever_it_is),
        cmocka_unit_test(first_value_is_read_within_the_caps),
        cmocka_unit_test(nulls_are_dropped_at_all_depths),
        cmocka_unit_test(null_values_are_left_out),
        cmocka_unit_test(texts_are_as_jansson_writes_them),
        cmocka_unit_test(media_type_is_json_by_its_name),
        cmocka_unit_test(begun_objects_get_the_rest),
        cmocka_unit_test(members_are_read_with_their_type),
        cmocka_unit_test(faults_of_documents_are_told),
        cmocka_unit_test(escapes_are_as_short_as_they_can_be),
    };

    return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
