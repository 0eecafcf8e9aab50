#include "worker/worker_test.h"

#include <jansson.h>

#include "worker/agent/llm/policy.h"
#include "worker/events.h"

static bool must_confirm(const char *policy, const char *tool, const char *risk)
{
    json_auto_t *json = test_json(policy);
    struct policy_call call = {.tool_name = tool, .risk = policy_risk_from_string(risk)};

    return policy_must_confirm(json, &call, 1);
}

static void policies_ask_for_what_they_say(void **state)
{
    const char *never = "{\"kind\": \"NeverConfirm\"}";
    const char *always = "{\"kind\": \"AlwaysConfirm\"}";
    const char *risky = "{\"kind\": \"ConfirmRisky\", \"threshold\": \"MEDIUM\","
                        " \"confirm_unknown\": false}";

    (void)state;
    assert_false(must_confirm(never, "terminal", "HIGH"));
    assert_true(must_confirm(always, "terminal", "LOW"));
    assert_false(must_confirm(always, "finish", "LOW"));
    assert_false(must_confirm(always, "think", "UNKNOWN"));
    assert_false(must_confirm(risky, "terminal", "LOW"));
    assert_true(must_confirm(risky, "terminal", "MEDIUM"));
    assert_true(must_confirm(risky, "terminal", "HIGH"));
    assert_false(must_confirm(risky, "terminal", "UNKNOWN"));
    assert_true(must_confirm("{\"kind\": \"ConfirmRisky\"}", "terminal", "UNKNOWN"));
    assert_true(must_confirm("{\"kind\": \"Unheard\"}", "terminal", "LOW"));
    assert_false(policy_must_confirm(NULL, &(struct policy_call){"terminal", POLICY_RISK_HIGH}, 1));
}

static void one_risky_call_holds_the_batch(void **state)
{
    json_auto_t *policy = test_json("{\"kind\": \"ConfirmRisky\", \"threshold\": \"HIGH\"}");
    const struct policy_call calls[] = {{"terminal", POLICY_RISK_LOW},
                                        {"terminal", POLICY_RISK_HIGH}};

    (void)state;
    assert_true(policy_must_confirm(policy, calls, 2));
    assert_false(policy_must_confirm(policy, calls, 1));
}

/* A sub-agent cannot ask, so the call that starts it is confirmed for all that it does. */
static void start_of_a_sub_agent_is_always_risky(void **state)
{
    const char *risky = "{\"kind\": \"ConfirmRisky\", \"threshold\": \"HIGH\","
                        " \"confirm_unknown\": false}";

    (void)state;
    assert_true(must_confirm(risky, "task", "LOW"));
    assert_true(must_confirm(risky, "task", "UNKNOWN"));
    assert_false(must_confirm("{\"kind\": \"NeverConfirm\"}", "task", "HIGH"));
}

int policy_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_ask_for_what_they_say),
        cmocka_unit_test(one_risky_call_holds_the_batch),
        cmocka_unit_test(start_of_a_sub_agent_is_always_risky),
    };

    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
