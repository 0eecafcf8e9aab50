#include "worker/agent/llm/policy.h"

#include "base/json.h"
#include "base/text.h"

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
