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
    {.name = "ints", .kind = FIELD_INTS},
    {.name = "filled", .kind = FIELD_TEXT, .rules = FIELD_FILLED},
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
        {"{'bool': 'YES'}", "{'word': 'a', 'bool': true}", NULL, NULL},
        {"{'bool': 'on'}", "{'word': 'a', 'bool': true}", NULL, NULL},
        {"{'bool': '1'}", "{'word': 'a', 'bool': true}", NULL, NULL},
        {"{'bool': 't'}", "{'word': 'a', 'bool': true}", NULL, NULL},
        {"{'bool': 'y'}", "{'word': 'a', 'bool': true}", NULL, NULL},
        {"{'bool': 1}", "{'word': 'a', 'bool': true}", NULL, NULL},
        {"{'bool': true}", "{'word': 'a', 'bool': true}", NULL, NULL},
        {"{'bool': false}", "{'word': 'a', 'bool': false}", NULL, NULL},
        {"{'bool': 'False'}", "{'word': 'a', 'bool': false}", NULL, NULL},
        {"{'bool': 'no'}", "{'word': 'a', 'bool': false}", NULL, NULL},
        {"{'bool': 'off'}", "{'word': 'a', 'bool': false}", NULL, NULL},
        {"{'bool': '0'}", "{'word': 'a', 'bool': false}", NULL, NULL},
        {"{'bool': 'f'}", "{'word': 'a', 'bool': false}", NULL, NULL},
        {"{'bool': 'n'}", "{'word': 'a', 'bool': false}", NULL, NULL},
        {"{'bool': null}", "{'word': 'a', 'bool': null}", NULL, NULL},
        {"{'int': 0}", "{'word': 'a', 'bool': null, 'int': 0}", NULL, NULL},
        {"{'int': 9007199254740992.0}", "{'word': 'a', 'bool': null, 'int': 9007199254740992}",
         NULL, NULL},
        {"{'number': 2}", "{'word': 'a', 'bool': null, 'number': 2}", NULL, NULL},
        {"{'number': -2.5}", "{'word': 'a', 'bool': null, 'number': -2.5}", NULL, NULL},
        {"{'number': '1e3'}", "{'word': 'a', 'bool': null, 'number': 1000.0}", NULL, NULL},
        {"{'text': 'abc'}", "{'word': 'a', 'bool': null, 'text': 'abc'}", NULL, NULL},
        {"{'texts': ['x', '']}", "{'word': 'a', 'bool': null, 'texts': ['x', '']}", NULL, NULL},
        {"{'ints': [1, '2', -3.0]}", "{'word': 'a', 'bool': null, 'ints': [1, 2, -3]}", NULL, NULL},
        {"{'map': {'a': 'b'}}", "{'word': 'a', 'bool': null, 'map': {'a': 'b'}}", NULL, NULL},
        {"{'parts': [{'n': '1', 'x': 2}]}", "{'word': 'a', 'bool': null, 'parts': [{'n': 1}]}",
         NULL, NULL},
        {"{'filled': 'x'}", "{'word': 'a', 'bool': null, 'filled': 'x'}", NULL, NULL},
        {"{'filled': ''}", NULL, "filled", "string_too_short"},
        {"{'ints': [1, 1.5]}", NULL, "ints.1", "int_from_float"},
        {"{'ints': 5}", NULL, "ints", "list_type"},
        {"{'int': -9007199254740994.0}", NULL, "int", "int_from_float"},
        {"{'int': '-1'}", NULL, "int", "greater_than_equal"},
        {"{'int': '1.5'}", NULL, "int", "int_parsing"},
        {"{'int': true}", NULL, "int", "int_type"},
        {"{'number': ''}", NULL, "number", "float_parsing"},
        {"{'number': '5x'}", NULL, "number", "float_parsing"},
        {"{'number': '1e999'}", NULL, "number", "float_parsing"},
        {"{'number': 'inf'}", NULL, "number", "float_parsing"},
        {"{'number': true}", NULL, "number", "float_type"},
        {"{'bool': []}", NULL, "bool", "bool_type"},
        {"{'bool': -1}", NULL, "bool", "bool_type"},
        {"{'bool': 1.0}", NULL, "bool", "bool_type"},
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

static void refusals_say_what_would_be_right(void **state)
{
    static const struct {
        const char *input;
        const char *problem;
    } cases[] = {
        {"{'text': 'abcd'}",
         "{'type': 'string_too_long', 'loc': ['body', 'text'], 'input': 'abcd',"
         " 'msg': 'String should have at most 3 characters', 'ctx': {'max_length': 3}}"},
        {"{'int': -1}", "{'type': 'greater_than_equal', 'loc': ['body', 'int'], 'input': -1,"
                        " 'msg': 'Input should be greater than or equal to 0', 'ctx': {'ge': 0}}"},
        {"{'part': {'n': 0}}",
         "{'type': 'greater_than_equal', 'loc': ['body', 'part', 'n'], 'input': 0,"
         " 'msg': 'Input should be greater than or equal to 1', 'ctx': {'ge': 1}}"},
        {"{'word': 'x'}",
         "{'type': 'literal_error', 'loc': ['body', 'word'], 'input': 'x', 'msg':"
         " 'Input should be \\u0027a\\u0027, \\u0027bc\\u0027 or \\u0027d\\u0027',"
         " 'ctx': {'expected': '\\u0027a\\u0027, \\u0027bc\\u0027 or \\u0027d\\u0027'}}"},
        {"{'part': {}}",
         "{'type': 'missing', 'loc': ['body', 'part', 'n'], 'msg': 'Field required',"
         " 'input': {}}"},
        {"{'zz': 1}", "{'type': 'extra_forbidden', 'loc': ['body', 'zz'], 'input': 1,"
                      " 'msg': 'Extra inputs are not permitted'}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].input);
        json_auto_t *problems = json_array();
        json_auto_t *output = object_schema_read(&all_schema, input, &body, problems);

        assert_non_null(output);
        assert_int_equal(json_array_size(problems), 1);
        assert_json_is(json_array_get(problems, 0), cases[i].problem);
    }
}

static const char *help_of(const struct schema_help *help, const char *path)
{
    (void)help;
    if (text_equal(path, "word"))
        return "a word";
    return text_equal(path, "parts.n") ? "a number" : NULL;
}

static void a_table_is_a_schema_for_models(void **state)
{
    const struct schema_help help = {help_of};
    json_auto_t *all = object_schema_to_json(&all_schema, &help);
    json_auto_t *part = object_schema_to_json(&part_schema, &help);

    (void)state;
    assert_json_is(all, "{'type': 'object', 'properties': {'text': {'type': 'string'},"
                        " 'word': {'type': 'string', 'description': 'a word',"
                        "  'enum': ['a', 'bc', 'd']}, 'bool': {'type': 'boolean'},"
                        " 'int': {'type': 'integer'}, 'number': {'type': 'number'},"
                        " 'uuid': {'type': 'string'},"
                        " 'texts': {'type': 'array', 'items': {'type': 'string'}},"
                        " 'map': {'type': 'object'}, 'parts': {'type': 'array', 'items':"
                        "  {'type': 'object', 'properties': {'n': {'type': 'integer',"
                        "   'description': 'a number'}}, 'required': ['n']}},"
                        " 'part': {'type': 'object'},"
                        " 'ints': {'type': 'array', 'items': {'type': 'integer'}},"
                        " 'filled': {'type': 'string'}}}");
    assert_json_is(part, "{'type': 'object', 'properties': {'n': {'type': 'integer'}},"
                         " 'required': ['n']}");
}

static void fields_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(object_schema_find(&all_schema, "text"), &all_fields[0]);
    assert_ptr_equal(object_schema_find(&all_schema, "filled"),
                     &all_fields[ARRAY_SIZE(all_fields) - 1]);
    assert_null(object_schema_find(&all_schema, "tex"));
}

static void words_become_a_list(void **state)
{
    json_auto_t *words = words_to_json("a|bc|d");
    json_auto_t *one = words_to_json("a");
    json_auto_t *none = words_to_json(NULL);

    (void)state;
    assert_json_is(words, "['a', 'bc', 'd']");
    assert_json_is(one, "['a']");
    assert_json_is(none, "[]");
}

static void words_are_whole_words(void **state)
{
    (void)state;
    assert_true(words_contain("a|bc|d", "a"));
    assert_true(words_contain("a|bc|d", "bc"));
    assert_true(words_contain("a|bc|d", "d"));
    assert_true(words_contain("a", "a"));
    assert_false(words_contain("a|bc|d", "bcd"));
    assert_false(words_contain("a|bc|d", "a|bc"));
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
        cmocka_unit_test(refusals_say_what_would_be_right),
        cmocka_unit_test(a_table_is_a_schema_for_models),
        cmocka_unit_test(fields_are_found_by_name),
        cmocka_unit_test(words_become_a_list),
        cmocka_unit_test(words_are_whole_words),
    };

    return cmocka_run_group_tests_name("model/shape", tests, NULL, NULL);
}
