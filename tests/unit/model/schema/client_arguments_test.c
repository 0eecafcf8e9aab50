#include "model/schema/client_arguments.h"

#include "base/attr.h"
#include "base/json.h"
#include "unit/model/model_test.h"

#define PARAMETERS                                                                                 \
    "{'type': 'object', 'required': ['s'], 'properties': {'s': {'type': 'string'},"                \
    " 'i': {'type': 'integer'}, 'n': {'type': 'number'}, 'b': {'type': 'boolean'},"                \
    " 'o': {'type': 'object'}, 'l': {'type': 'array'},"                                            \
    " 'll': {'type': 'array', 'items': {'type': 'array', 'items': {'type': 'integer'}}},"          \
    " 'maybe': {'type': ['null', 'string']}, 'either': {'type': ['string', 'integer']},"           \
    " 'any': {}, 'odd': {'type': 'strange'}}}"

static void arguments_have_the_types_of_the_schema(void **state)
{
    static const struct {
        const char *arguments;
        const char *path; /* of the one problem; NULL: none */
        const char *type;
    } cases[] = {
        {"{'s': 'x', 'i': 1, 'n': 1.5, 'b': true, 'o': {}, 'l': [1, 'x'], 'll': [[1], [], [2]],"
         " 'maybe': 'x', 'either': 5, 'any': [{}], 'odd': 5}",
         NULL, NULL},
        {"{'s': ''}", NULL, NULL},
        {"{}", "s", "missing"},
        {"{'s': null}", "s", "string_type"},
        {"{'s': 5}", "s", "string_type"},
        {"{'s': 'x', 'i': null, 'n': null, 'b': null, 'o': null, 'l': null}", NULL, NULL},
        {"{'s': 'x', 'i': 2.0}", NULL, NULL},
        {"{'s': 'x', 'i': 9007199254740992.0}", NULL, NULL},
        {"{'s': 'x', 'i': -9007199254740992.0}", NULL, NULL},
        {"{'s': 'x', 'i': 9007199254740994.0}", "i", "int_type"},
        {"{'s': 'x', 'i': -9007199254740994.0}", "i", "int_type"},
        {"{'s': 'x', 'i': 2.5}", "i", "int_type"},
        {"{'s': 'x', 'i': '2'}", "i", "int_type"},
        {"{'s': 'x', 'n': 2}", NULL, NULL},
        {"{'s': 'x', 'n': '2'}", "n", "float_type"},
        {"{'s': 'x', 'b': 1}", "b", "bool_type"},
        {"{'s': 'x', 'o': []}", "o", "dict_type"},
        {"{'s': 'x', 'l': {}}", "l", "list_type"},
        {"{'s': 'x', 'll': [[1], 2]}", "ll", "list_type"},
        {"{'s': 'x', 'll': [[1], ['x']]}", "ll", "int_type"},
        {"{'s': 'x', 'll': []}", NULL, NULL},
        {"{'s': 'x', 'maybe': null}", NULL, NULL},
        {"{'s': 'x', 'maybe': 5}", "maybe", "string_type"},
        {"{'s': 'x', 'more': 5}", "more", "extra_forbidden"},
    };
    json_auto_t *parameters = json_of(PARAMETERS);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *arguments = json_of(cases[i].arguments);
        json_auto_t *problems = json_array();

        client_arguments_check(parameters, arguments, problems);
        if (cases[i].path == NULL) {
            assert_json_is(problems, "[]");
            continue;
        }
        if (json_array_size(problems) != 1)
            fail_msg("%s: %s", cases[i].arguments, json_dumps(problems, 0));
        assert_string_equal(problem_at(problems, cases[i].path), cases[i].type);
    }
}

static void members_are_declared_by_the_schema(void **state)
{
    json_auto_t *parameters = json_of(PARAMETERS);

    (void)state;
    assert_true(client_arguments_declare(parameters, "any"));
    assert_false(client_arguments_declare(parameters, "more"));
    assert_false(client_arguments_declare(NULL, "any"));
}

static void without_a_schema_every_member_is_strange(void **state)
{
    json_auto_t *arguments = json_of("{'a': 1}");
    json_auto_t *none = json_of("{}");
    json_auto_t *problems = json_array();

    (void)state;
    client_arguments_check(NULL, none, problems);
    assert_json_is(problems, "[]");
    client_arguments_check(NULL, arguments, problems);
    assert_json_is(problems, "[{'type': 'extra_forbidden', 'loc': ['a'],"
                             " 'msg': 'Extra inputs are not permitted', 'input': 1}]");
}

static void a_missing_member_is_told_with_all_arguments(void **state)
{
    json_auto_t *parameters = json_of("{'required': ['a', 'b'], 'properties': {'a': {}, 'c': {}}}");
    json_auto_t *arguments = json_of("{'c': 1}");
    json_auto_t *problems = json_array();

    (void)state;
    client_arguments_check(parameters, arguments, problems);
    assert_json_is(problems, "[{'type': 'missing', 'loc': ['a'], 'msg': 'Field required',"
                             " 'input': {'c': 1}}]");
}

int client_arguments_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_have_the_types_of_the_schema),
        cmocka_unit_test(members_are_declared_by_the_schema),
        cmocka_unit_test(without_a_schema_every_member_is_strange),
        cmocka_unit_test(a_missing_member_is_told_with_all_arguments),
    };

    return cmocka_run_group_tests_name("model/client arguments", tests, NULL, NULL);
}
