#include "worker/agent/llm/policy.h"

#include "base/json.h"
#include "base/text.h"

static const char *const risk_names[] = {
    [POLICY_RISK_UNKNOWN] = "UNKNOWN",
    [POLICY_RISK_LOW] = "LOW",
    [POLICY_RISK_MEDIUM] = "MEDIUM",
    [POLICY_RISK_HIGH] = "HIGH",
};

const char *policy_risk_to_string(enum policy_risk risk)
{
    return risk_names[risk];
}

enum policy_risk policy_risk_from_string(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(risk_names); i++) {
        if (text_equal(risk_names[i], name))
            return (enum policy_risk)i;
    }
    return POLICY_RISK_UNKNOWN;
}

static bool passes_on(const json_t *analyzer)
{
    return text_equal(json_text_or(analyzer, "kind", ""), "LLMSecurityAnalyzer");
}

/*
 * The verdicts of members that judge by themselves are unknown, so anything below HIGH is unknown
 * too.
 */
static enum policy_risk judge_together(const json_t *analyzers, enum policy_risk own)
{
    size_t n_passing = 0;

    for (size_t i = 0; i < json_array_size(analyzers); i++)
        n_passing += passes_on(json_array_get(analyzers, i));
    if (n_passing == 0)
        return POLICY_RISK_UNKNOWN;
    return n_passing == json_array_size(analyzers) || own == POLICY_RISK_HIGH ? own
                                                                              : POLICY_RISK_UNKNOWN;
}

enum policy_risk policy_judge(const json_t *analyzer, enum policy_risk own)
{
    if (!json_is_object(analyzer))
        return POLICY_RISK_UNKNOWN;
    if (text_equal(json_text_or(analyzer, "kind", ""), "EnsembleSecurityAnalyzer"))
        return judge_together(json_object_get(analyzer, "analyzers"), own);
    return passes_on(analyzer) ? own : POLICY_RISK_UNKNOWN;
}

/*
 * A sub-agent cannot ask for confirmation, so its actions are confirmed with the call that starts
 * it.
 */
static bool is_risky(const json_t *policy, const struct policy_call *call)
{
    if (text_equal(call->tool_name, "task"))
        return true;
    if (call->risk == POLICY_RISK_UNKNOWN)
        return json_bool_or(policy, "confirm_unknown", 1) != 0;
    return call->risk >= policy_risk_from_string(json_text_or(policy, "threshold", "HIGH"));
}

/* Tools without side effects. */
static bool is_harmless(const struct policy_call *call)
{
    return text_equal(call->tool_name, "finish") || text_equal(call->tool_name, "think");
}

bool policy_is_talk(const struct policy_call *calls, size_t n)
{
    return n == 1 && is_harmless(&calls[0]);
}

bool policy_must_confirm(const json_t *policy, const struct policy_call *calls, size_t n)
{
    const char *kind = policy == NULL ? "NeverConfirm" : json_text_or(policy, "kind", "");

    if (n == 0 || text_equal(kind, "NeverConfirm") || policy_is_talk(calls, n))
        return false;
    if (!text_equal(kind, "ConfirmRisky"))
        return true;
    for (size_t i = 0; i < n; i++) {
        if (is_risky(policy, &calls[i]))
            return true;
    }
    return false;
}
