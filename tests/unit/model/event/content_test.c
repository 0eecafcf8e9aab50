#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "model/event/event.h"
#include "model/schema/validation_error.h"
#include "unit/model/model_test.h"

struct content_case {
    const char *input;
    const char *expected; /* NULL: refused */
};

static void content_is_normalised_or_refused(void **state)
{
    static const struct content_case cases[] = {
        {"'hi'", "[{'cache_prompt': false, 'type': 'text', 'text': 'hi'}]"},
        {"null", NULL},
        {"[]", "[]"},
        {"[{'text': 'hi'}]", "[{'cache_prompt': false, 'type': 'text', 'text': 'hi'}]"},
        {"[{'type': 'image', 'image_urls': ['u'], 'detail': 'x'}]",
         "[{'cache_prompt': false, 'type': 'image', 'image_urls': ['u']}]"},
        {"[{'text': 'hi', 'cache_prompt': true}, {'image_urls': ['u'], 'cache_prompt': true}]",
         "[{'cache_prompt': true, 'type': 'text', 'text': 'hi'},"
         " {'cache_prompt': true, 'type': 'image', 'image_urls': ['u']}]"},
        {"[{'type': 'image'}]", NULL},
        {"[{'type': 'text', 'image_urls': ['u']}]", NULL},
        {"[{'type': 'text', 'text': 'x', 'cache_prompt': 'x'}]", NULL},
        {"[{'type': 'image', 'image_urls': ['u', 5]}]", NULL},
        {"{'type': 'text', 'text': 'x'}", NULL},
        {"[{'type': 'text', 'text': 'x', 'zzz': 1}]", NULL},
        {"[{'type': 'text'}]", NULL},
        {"[{'type': 'image_url', 'image_url': {}}]", NULL},
        {"[{'type': 'image', 'image_urls': 'u'}]", NULL},
        {"['x']", NULL},
        {"5", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;
        json_auto_t *input = json_of(cases[i].input);
        json_auto_t *content = NULL;
        json_auto_t *expected = NULL;
        int rc = content_read(input, &content, &err);

        if (cases[i].expected == NULL) {
            assert_int_equal(rc, -1);
            assert_int_equal(err.code, ERROR_INVALID);
            assert_null(content);
            continue;
        }
        assert_int_equal(rc, 0);
        expected = json_of(cases[i].expected);
        assert_json_equal(content, expected);
    }
}

static void refusal_names_the_member(void **state)
{
    struct error err = ERROR_INIT;
    json_auto_t *input = json_of("[{'text': 'a'}, {'text': 5}]");
    json_auto_t *content = NULL;

    (void)state;
    assert_int_equal(content_read(input, &content, &err), -1);
    assert_string_equal(err.message, "content.1.text: Input should be a valid string");
}

static void content_at_a_place_is_a_list(void **state)
{
    static const struct json_path body = {NULL, "body", 0};
    static const struct json_path place = {&body, "message", 0};
    static const struct {
        const char *input;
        const char *path; /* of a problem; NULL: none */
        const char *type;
        const char *content;
    } cases[] = {
        {"[{'text': 'a'}]", NULL, NULL, "[{'cache_prompt': false, 'type': 'text', 'text': 'a'}]"},
        {"'a'", "message", "list_type", "[]"},
        {"null", "message", "list_type", "[]"},
        {"[{'text': 'a'}, {}]", "message.1.text", "missing",
         "[{'cache_prompt': false, 'type': 'text', 'text': 'a'},"
         " {'cache_prompt': false, 'type': 'text'}]"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].input);
        json_auto_t *problems = json_array();
        json_auto_t *content = content_read_at(input, &place, problems);

        assert_json_is(content, cases[i].content);
        if (cases[i].path == NULL)
            assert_json_is(problems, "[]");
        else
            assert_string_equal(problem_at(problems, cases[i].path), cases[i].type);
    }
}

static void broken_text_is_repaired(void **state)
{
    json_auto_t *content = text_content("a\xff"
                                        "b");

    (void)state;
    assert_string_equal(json_text_or(content, "text", ""), "a\xef\xbf\xbd"
                                                           "b");
}

int content_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_normalised_or_refused),
        cmocka_unit_test(refusal_names_the_member),
        cmocka_unit_test(content_at_a_place_is_a_list),
        cmocka_unit_test(broken_text_is_repaired),
    };

    return cmocka_run_group_tests_name("model/content", tests, NULL, NULL);
}
