#include "model/agent/hook_verdict.h"

#include <stdbool.h>

#include "base/attr.h"
#include "unit/model/model_test.h"

static void exit_code_and_output_decide(void **state)
{
    static const struct {
        int64_t exit_code;
        const char *out;
        const char *err;
        bool is_success;
        bool is_blocked;
        const char *reason;
        const char *context;
    } cases[] = {
        {0, "", "", true, false, "", ""},
        {0, "words", "more", true, false, "", ""},
        {2, "", " not allowed\n", true, true, "not allowed", ""},
        {2, "", "", true, true, "", ""},
        {1, "", "broken", false, false, "", ""},
        {3, "{\"decision\":\"deny\"}", "", false, false, "", ""},
        {-1, "", "", false, false, "", ""},
        {0, "{\"decision\":\"allow\",\"reason\":\"fine\"}", "", true, false, "fine", ""},
        {0, "{\"decision\":\"deny\",\"reason\":\" no \"}", "ignored", true, true, "no", ""},
        {0, "{\"decision\":\"deny\"}", "ignored", true, true, "", ""},
        {0, "{\"decision\":\"maybe\"}", "", true, false, "", ""},
        {0, "{\"continue\":false}", "", true, true, "", ""},
        {0, "{\"continue\":true}", "", true, false, "", ""},
        {0, "{\"continue\":\"false\"}", "", true, false, "", ""},
        {0, " \n{\"additionalContext\":\" use tabs\\n\"}\n", "", true, false, "", "use tabs"},
        {2, "{\"reason\":\"said\"}", "printed", true, true, "said", ""},
        {2, "{\"reason\":\"  \"}", "printed", true, true, "printed", ""},
        {2, "{\"decision\":\"allow\"}", "printed", true, true, "printed", ""},
        {0, "{\"decision\":\"deny\"", "", true, false, "", ""},
        {0, "[{\"decision\":\"deny\"}]", "", true, false, "", ""},
        {0, "x {\"decision\":\"deny\"}", "", true, false, "", ""},
        {0, "{\"decision\":\"deny\"} x", "", true, false, "", ""},
        {0, "{\"decision\":1,\"reason\":2,\"additionalContext\":3}", "", true, false, "", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(hook_verdict_done) struct hook_verdict verdict = HOOK_VERDICT_INIT;

        hook_verdict_read(&verdict, cases[i].exit_code, cases[i].out, cases[i].err);
        if (verdict.is_success != cases[i].is_success || verdict.is_blocked != cases[i].is_blocked)
            fail_msg("%lld and '%s'", (long long)cases[i].exit_code, cases[i].out);
        assert_string_equal(verdict.reason.text, cases[i].reason);
        assert_string_equal(verdict.context.text, cases[i].context);
    }
}

/* Commands may ask for a reading, models may not: their answer may follow what an agent says. */
static void commands_may_ask_for_a_reading(void **state)
{
    static const struct {
        int64_t exit_code;
        const char *out;
        bool asks_reading;
    } cases[] = {
        {0, "{\"reload_knowledge\":true}", true},
        {2, "{\"reload_knowledge\":true,\"reason\":\"no\"}", true},
        {1, "{\"reload_knowledge\":true}", false},
        {0, "{\"reload_knowledge\":false}", false},
        {0, "{\"reload_knowledge\":\"yes\"}", false},
        {0, "reload_knowledge", false},
    };
    CLEANUP(hook_verdict_done) struct hook_verdict answered = HOOK_VERDICT_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(hook_verdict_done) struct hook_verdict verdict = HOOK_VERDICT_INIT;

        hook_verdict_read(&verdict, cases[i].exit_code, cases[i].out, "");
        assert_int_equal(verdict.asks_reading, cases[i].asks_reading);
    }
    assert_true(
        hook_verdict_read_answer(&answered, "{\"decision\":\"allow\",\"reload_knowledge\":true}"));
    assert_false(answered.asks_reading);
}

static void object_in_a_models_answer_decides(void **state)
{
    static const struct {
        const char *answer;
        bool is_verdict;
        bool is_blocked;
        const char *reason;
        const char *context;
    } cases[] = {
        {"{\"decision\":\"deny\",\"reason\":\" no \"}", true, true, "no", ""},
        {"{\"decision\":\"allow\",\"additionalContext\":\"tabs\"}", true, false, "", "tabs"},
        {"Well:\n```json\n{\"decision\":\"deny\"}\n```\n", true, true, "", ""},
        {"{\"continue\":false}", true, true, "", ""},
        {"{\"continue\":true}", true, false, "", ""},
        {"{\"reason\":\"no\"}", false, false, "", ""},
        {"{\"decision\":\"deny\"", false, false, "", ""},
        {"}{", false, false, "", ""},
        {"deny", false, false, "", ""},
        {"", false, false, "", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(hook_verdict_done) struct hook_verdict verdict = HOOK_VERDICT_INIT;

        if (hook_verdict_read_answer(&verdict, cases[i].answer) != cases[i].is_verdict)
            fail_msg("'%s'", cases[i].answer);
        assert_int_equal(verdict.is_success, cases[i].is_verdict);
        assert_int_equal(verdict.is_blocked, cases[i].is_blocked);
        assert_string_equal(verdict.reason.text, cases[i].reason);
        assert_string_equal(verdict.context.text, cases[i].context);
    }
}

int hook_verdict_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_code_and_output_decide),
        cmocka_unit_test(commands_may_ask_for_a_reading),
        cmocka_unit_test(object_in_a_models_answer_decides),
    };

    return cmocka_run_group_tests_name("model/hook_verdict", tests, NULL, NULL);
}
