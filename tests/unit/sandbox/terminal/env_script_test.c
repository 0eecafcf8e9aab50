#include "sandbox/terminal/env_script.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "unit/sandbox/sandbox_test.h"

static void values_are_quoted_for_any_shell(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *env = json_build(&err, "{s:s}", "A_1", "it's $x `y`\n\"z\"\\");

    (void)state;
    assert_int_equal(env_script_check(env, &err), 0);
    env_script_append(&out, env);
    assert_string_equal(out.text, "export A_1='it'\\''s $x `y`\n\"z\"\\'\n");
}

static void names_that_are_none_are_refused(void **state)
{
    static const char *const bad[] = {"", "1A", "A B", "A;rm", "A=B"};
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        json_auto_t *env = json_build(&err, "{s:s}", bad[i], "x");

        assert_int_equal(env_script_check(env, &err), -1);
        env_script_append(&out, env);
        assert_string_equal(out.text, "");
    }
}

int env_script_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_quoted_for_any_shell),
        cmocka_unit_test(names_that_are_none_are_refused),
    };

    return cmocka_run_group_tests_name("env_script", tests, NULL, NULL);
}
