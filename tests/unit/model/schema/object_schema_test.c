#include "base/json.h"
#include "base/text.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "model/schema/words.h"
#include "unit/model/model_test.h"

static const struct field part_fields[] = {
    {.name = "n", .kind = FIELD_INT, .rules = FIELD_REQUIRED | FIELD_FROM_1},
};
static const struct object_schema part_schema = SCHEMA(part_fields);

static const struct field all_fields[] = {
    {.name = "text", .kind = FIELD_TEXT, .max_chars = 3},
    {.name = "word", .kind = FIELD_TEXT, .fallback = "\"a\"", .words = "a|bc|d"},
    {.name = "bool", .kind = FIELD_BOOL, .rules = FIELD_NULLABLE},
    {.name = "int", .kind = FIELD_INT, .rules = FIELD_FROM_0},
    {.name = "number", .kind = FIELD_NUMBER},
    {.name = "uuid", .kind = FIELD_UUID},
    {.name = "texts", .kind = FIELD_TEXTS},
    {.name = "map", .kind = FIELD_TEXT_MAP},
    {.name = "parts", .kind = FIELD_OBJECTS, .items = &part_schema},
    {.name = "part", .kind = FIELD_OBJECT, .items = &part_schema},
};
static const struct object_schema all_schema = CLOSED_SCHEMA(all_fields);

struct reading_case {
    const char *input;
    const char *expected; /* NULL: there is a problem */
    const char *path;
    const char *type;
};

static const struct json_path body = {NULL, "body", 0};

static void check_case(const struct reading_case *c)
{
    json_auto_t *input = json_of(c->input);
    json_auto_t *problems = json_array();
    json_auto_t *output = object_schema_read(&all_schema, input, &body, problems);
    json_auto_t *expected = NULL;

    if (c->expected == NULL) {
        assert_string_equal(problem_at(problems, c->path), c->type);
        return;
    }
    expected = json_of(c->expected);
    assert_int_equal(json_array_size(problems), 0);
    assert_json_equal(output, expected);
}

static void values_are_read_converted_or_refused(void **state)
{
    static const struct reading_case cases[] = {
        {"{}", "{'word': 'a', 'bool': null}", NULL, NULL},
        {"{'int': '5', 'word': 'bc'}", "{'word': 'bc', 'bool': null, 'int': 5}", NULL, NULL},
        {"{'int': 5.0}", "{'word': 'a', 'bool': null, 'int': 5}", NULL, NULL},
        {"{'bool': 'True'}", "{'word': 'a', 'bool': true}", NULL, NULL},
        {"{'bool': 0}", "{'word': 'a', 'bool': false}", NULL, NULL},
        {"{'number': '2.5'}", "{'word': 'a', 'bool': null, 'number': 2.5}", NULL, NULL},
        {"{'part': {'n': 1, 'x': 2}}", "{'word': 'a', 'bool': null, 'part': {'n': 1}}", NULL, NULL},
        {"{'text': 'abcd'}", NULL, "text", "string_too_long"},
        {"{'text': 1}", NULL, "text", "string_type"},
        {"{'text': null}", NULL, "text", "string_type"},
        {"{'word': 'b'}", NULL, "word", "literal_error"},
        {"{'word': 'a|bc'}", NULL, "word", "literal_error"},
        {"{'word': ''}", NULL, "word", "literal_error"},
        {"{'bool': 2}", NULL, "bool", "bool_type"},
        {"{'bool': 'maybe'}", NULL, "bool", "bool_parsing"},
        {"{'int': -1}", NULL, "int", "greater_than_equal"},
        {"{'int': 1.5}", NULL, "int", "int_from_float"},
        {"{'int': 1e300}", NULL, "int", "int_from_float"},
        {"{'int': 'x'}", NULL, "int", "int_parsing"},
        {"{'int': []}", NULL, "int", "int_type"},
        {"{'number': 'nan'}", NULL, "number", "float_parsing"},
        {"{'number': {}}", NULL, "number", "float_type"},
        {"{'uuid': 'z'}", NULL, "uuid", "uuid_parsing"},
        {"{'uuid': 1}", NULL, "uuid", "uuid_type"},
        {"{'texts': 'x'}", NULL, "texts", "list_type"},
        {"{'texts': ['x', 1]}", NULL, "texts.1", "string_type"},
        {"{'map': {'a': 1}}", NULL, "map.a", "string_type"},
        {"{'map': []}", NULL, "map", "dict_type"},
        {"{'parts': {}}", NULL, "parts", "list_type"},
        {"{'parts': [{'n': 0}]}", NULL, "parts.0.n", "greater_than_equal"},
        {"{'parts': [{}]}", NULL, "parts.0.n", "missing"},
        {"{'part': 1}", NULL, "part", "model_attributes_type"},
        {"{'stranger': 1}", NULL, "stranger", "extra_forbidden"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_case(&cases[i]);
}

static void uuid_is_kept_in_its_dashed_form(void **state)
{
    json_auto_t *input = json_of("{'uuid': '0B2C8359CA3B401FA00245D39680560A'}");
    json_auto_t *problems = json_array();
    json_auto_t *output = object_schema_read(&all_schema, input, &body, problems);

    (void)state;
    assert_string_equal(json_text_or(output, "uuid", ""), "0b2c8359-ca3b-401f-a002-45d39680560a");
}

static void problem_tells_what_was_expected(void **state)
{
    json_auto_t *input = json_of("{'word': 'x'}");
    json_auto_t *problems = json_array();
    json_auto_t *output = object_schema_read(&all_schema, input, &body, problems);
    json_auto_t *expected =
        json_of("[{'type': 'literal_error', 'loc': ['body', 'word'], 'input': 'x',"
                " 'msg': '', 'ctx': {'expected': ''}}]");

    (void)state;
    assert_null(json_object_get(output, "word"));
    assert_same_schema(problems, expected, "problems");
    assert_string_equal(json_text_or(json_array_get(problems, 0), "msg", ""),
                        "Input should be 'a', 'bc' or 'd'");
}

static void words_are_whole_words(void **state)
{
    (void)state;
    assert_true(words_contain("a|bc|d", "a"));
    assert_true(words_contain("a|bc|d", "d"));
    assert_false(words_contain("a|bc|d", "b"));
    assert_false(words_contain("a|bc|d", "c"));
    assert_false(words_contain("a|bc|d", ""));
    assert_false(words_contain("a|bc|d", "d|"));
}

int schema_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_converted_or_refused),
        cmocka_unit_test(uuid_is_kept_in_its_dashed_form),
        cmocka_unit_test(problem_tells_what_was_expected),
        cmocka_unit_test(words_are_whole_words),
    };

    return cmocka_run_group_tests_name("model/shape", tests, NULL, NULL);
}
