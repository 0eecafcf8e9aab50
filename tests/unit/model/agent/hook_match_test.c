#include "model/agent/hook_match.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "unit/model/model_test.h"

static void a_matcher_accepts_the_tools_that_it_names(void **state)
{
    static const struct {
        const char *matcher;
        const char *tool_name;
        size_t n;
    } cases[] = {
        {"*", "terminal", 1},
        {"", "terminal", 1},
        {"terminal", "terminal", 1},
        {"terminal", "terminals", 0},
        {"termina", "terminal", 0},
        {"Terminal", "terminal", 0},
        {"terminal|file_editor", "file_editor", 1},
        {"terminal|file_editor", "file_editors", 0},
        {"terminal|file_editor", "terminals", 0},
        {"browser_.*", "browser_click", 1},
        {"browser_.*", "a_browser_click", 0},
        {"^browser", "browser_click", 0},
        {"te.minal", "terminal", 1},
        {"t+erminal", "tterminal", 1},
        {"colou?r", "color", 1},
        {"(a|b)c", "bc", 1},
        {"[tx]erminal", "xerminal", 1},
        {"a{2}", "aa", 1},
        {"\\w+", "terminal", 1},
        {"terminal$", "terminal", 1},
        {"/terminal/", "terminal", 1},
        {"/term/", "terminal", 0},
        {"/a/b/", "a/b", 1},
        {"/", "/", 1},
        {"//", "//", 1},
        {"//", "x", 0},
        {"(", "(", 0},
        {"terminal", NULL, 1},
        {"(", NULL, 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *config = json_of("{'stop': [{'hooks': [{'command': 'c'}]}]}");
        json_auto_t *found = NULL;
        json_t *group = json_array_get(json_object_get(config, "stop"), 0);

        json_put_text(group, "matcher", cases[i].matcher);
        found = hooks_find(config, HOOK_STOP, cases[i].tool_name);
        if (json_array_size(found) != cases[i].n)
            fail_msg("'%s' and '%s'", cases[i].matcher,
                     cases[i].tool_name != NULL ? cases[i].tool_name : "no tool");
    }
}

static void a_long_matcher_accepts_none(void **state)
{
    (void)state;
    for (size_t len = 1000; len <= 1001; len++) {
        CLEANUP(strbuf_done) struct strbuf matcher = STRBUF_INIT;
        json_auto_t *config = json_of("{'stop': [{'hooks': [{'command': 'c'}]}]}");
        json_auto_t *found = NULL;

        while (matcher.len < len)
            strbuf_append(&matcher, "a");
        json_put_text(json_array_get(json_object_get(config, "stop"), 0), "matcher", matcher.text);
        found = hooks_find(config, HOOK_STOP, matcher.text);
        assert_int_equal(json_array_size(found), len == 1000 ? 1 : 0);
    }
}

static void hooks_of_an_event_come_in_order(void **state)
{
    json_auto_t *config =
        json_of("{'pre_tool_use': [{'matcher': 'a', 'hooks': ['1', '2']}, {'matcher': 'b', 'hooks':"
                " ['3']}, {'hooks': ['4']}], 'post_tool_use': [{'matcher': '*', 'hooks': ['5']}],"
                " 'stop': [{'matcher': '*', 'hooks': []}]}");
    json_auto_t *before = hooks_find(config, HOOK_PRE_TOOL_USE, "a");
    json_auto_t *after = hooks_find(config, HOOK_POST_TOOL_USE, "a");
    json_auto_t *none = hooks_find(config, HOOK_SESSION_START, NULL);
    json_auto_t *without = hooks_find(NULL, HOOK_STOP, NULL);

    (void)state;
    assert_json_is(before, "['1', '2', '4']");
    assert_json_is(after, "['5']");
    assert_json_is(none, "[]");
    assert_json_is(without, "[]");
    assert_true(hooks_has(config, HOOK_PRE_TOOL_USE));
    assert_false(hooks_has(config, HOOK_STOP));
    assert_false(hooks_has(NULL, HOOK_STOP));
}

static void a_configuration_may_have_any_hook(void **state)
{
    json_auto_t *empty = json_of("{'stop': [{'hooks': []}], 'session_end': []}");

    (void)state;
    assert_false(hooks_has_any(empty));
    assert_false(hooks_has_any(NULL));
    for (int event = 0; event < HOOK_N_EVENTS; event++) {
        json_auto_t *config = json_object();

        json_put(config, hook_event_member((enum hook_event)event),
                 json_of("[{'hooks': [{'command': 'c'}]}]"));
        assert_true(hooks_has_any(config));
        assert_true(hooks_has(config, (enum hook_event)event));
    }
}

static void events_have_two_names(void **state)
{
    static const char *const names[][2] = {
        [HOOK_PRE_TOOL_USE] = {"PreToolUse", "pre_tool_use"},
        [HOOK_POST_TOOL_USE] = {"PostToolUse", "post_tool_use"},
        [HOOK_USER_PROMPT_SUBMIT] = {"UserPromptSubmit", "user_prompt_submit"},
        [HOOK_SESSION_START] = {"SessionStart", "session_start"},
        [HOOK_SESSION_END] = {"SessionEnd", "session_end"},
        [HOOK_STOP] = {"Stop", "stop"},
    };

    (void)state;
    assert_int_equal(ARRAY_SIZE(names), HOOK_N_EVENTS);
    for (int event = 0; event < HOOK_N_EVENTS; event++) {
        assert_string_equal(hook_event_name((enum hook_event)event), names[event][0]);
        assert_string_equal(hook_event_member((enum hook_event)event), names[event][1]);
    }
}

int hook_match_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matcher_accepts_the_tools_that_it_names),
        cmocka_unit_test(a_long_matcher_accepts_none),
        cmocka_unit_test(hooks_of_an_event_come_in_order),
        cmocka_unit_test(a_configuration_may_have_any_hook),
        cmocka_unit_test(events_have_two_names),
    };

    return cmocka_run_group_tests_name("model/hook_match", tests, NULL, NULL);
}
