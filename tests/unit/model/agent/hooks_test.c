#include "model/agent/hooks.h"

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "unit/model/model_test.h"

#define NONE                                                                                       \
    "'pre_tool_use': [], 'post_tool_use': [], 'user_prompt_submit': [], 'session_start': [],"      \
    " 'session_end': [], 'stop': []"

static void events_may_be_written_either_way(void **state)
{
    static const struct {
        const char *written;
        const char *known;
    } names[] = {
        {"PreToolUse", "pre_tool_use"},
        {"PostToolUse", "post_tool_use"},
        {"UserPromptSubmit", "user_prompt_submit"},
        {"SessionStart", "session_start"},
        {"SessionEnd", "session_end"},
        {"Stop", "stop"},
    };

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_SIZE(names); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        json_auto_t *config = NULL;
        json_auto_t *expected = json_of("{" NONE "}");
        struct error err = ERROR_INIT;
        const char *known = names[i / 2].known;

        strbuf_appendf(&text, "{\"%s\": [{\"matcher\": \"m\"}]}",
                       i % 2 == 0 ? names[i / 2].written : known);
        json_put(expected, known, json_of("[{'matcher': 'm', 'hooks': []}]"));
        assert_int_equal(hooks_read(text.text, &config, &err), 0);
        assert_json_equal(config, expected);
    }
}

static void outer_object_is_optional_and_defaults_are_filled_in(void **state)
{
    json_auto_t *config = NULL;
    json_auto_t *empty = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(hooks_read("{\"hooks\": {\"stop\": [{\"hooks\": [{\"command\": \"c\"}]}]},"
                                " \"other\": 1}",
                                &config, &err),
                     0);
    assert_json_is(config,
                   "{'pre_tool_use': [], 'post_tool_use': [], 'user_prompt_submit': [],"
                   " 'session_start': [], 'session_end': [], 'stop': [{'matcher': '*', 'hooks':"
                   "  [{'type': 'command', 'name': null, 'command': 'c', 'prompt': null,"
                   "    'system_prompt': null, 'tools': [], 'timeout': 60, 'max_iterations': 3,"
                   "    'async': false}]}]}");
    assert_int_equal(hooks_read("{}", &empty, &err), 0);
    assert_json_is(empty, "{" NONE "}");
}

static void wrong_files_are_refused_with_the_place(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"[]", "hooks must be an object"},
        {"5", "hooks must be an object"},
        {"{\"hooks\": []}", "hooks must be an object"},
        {"{\"hooks\": null}", "hooks must be an object"},
        {"{\"Start\": []}", "[\"hooks\",\"Start\"]: Extra inputs are not permitted"},
        {"{\"Stop\": {}}", "[\"hooks\",\"stop\"]: Input should be a valid list"},
        {"{\"Stop\": [{\"hooks\": [{\"timeout\": 0}]}]}",
         "[\"hooks\",\"stop\",0,\"hooks\",0,\"timeout\"]:"
         " Input should be greater than or equal to 1"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *config = NULL;
        struct error err = ERROR_INIT;

        assert_int_equal(hooks_read(cases[i].text, &config, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.message, cases[i].message);
        assert_null(config);
    }
}

static void a_file_that_is_no_json_is_refused(void **state)
{
    json_auto_t *config = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(hooks_read("{", &config, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_null(config);
}

static void an_event_has_a_limited_number_of_hooks(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        json_auto_t *config = NULL;
        struct error err = ERROR_INIT;

        /* In two groups: they count together. */
        strbuf_append(&text, "{\"Stop\": [{\"hooks\": [{}]}, {\"matcher\": \"a\", \"hooks\": [{}");
        for (int i = 0; i < HOOKS_MAX - 2 + more; i++)
            strbuf_append(&text, ", {}");
        strbuf_append(&text, "]}], \"PreToolUse\": [{\"hooks\": [{}]}]}");
        assert_int_equal(hooks_read(text.text, &config, &err), more == 0 ? 0 : -1);
        if (more > 0)
            assert_string_equal(err.message,
                                "[\"hooks\",\"stop\"]: Value error, there are 65 hooks;"
                                " an event may have 64");
    }
}

int hooks_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_may_be_written_either_way),
        cmocka_unit_test(outer_object_is_optional_and_defaults_are_filled_in),
        cmocka_unit_test(wrong_files_are_refused_with_the_place),
        cmocka_unit_test(a_file_that_is_no_json_is_refused),
        cmocka_unit_test(an_event_has_a_limited_number_of_hooks),
    };

    return cmocka_run_group_tests_name("model/hooks", tests, NULL, NULL);
}
