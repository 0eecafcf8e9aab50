#include "worker/agent/policy.h"

#include "base/json.h"
#include "base/text.h"

/* In rising order; UNKNOWN is none of them. */
static const char *const risk_names[] = {"LOW", "MEDIUM", "HIGH"};

/* The risk's rank, or -1 when it is unknown. */
static int risk_rank(const char *risk)
{
    for (size_t i = 0; i < ARRAY_SIZE(risk_names); i++) {
        if (text_equal(risk_names[i], risk))
            return (int)i;
    }
    return -1;
}

static bool is_risky(const json_t *policy, const struct policy_call *call)
{
    int rank = risk_rank(call->security_risk);

    if (rank < 0)
        return json_bool_or(policy, "confirm_unknown", 1) != 0;
    return rank >= risk_rank(json_text_or(policy, "threshold", "HIGH"));
}

/* What only talks changes nothing. */
static bool is_harmless(const struct policy_call *call)
{
    return text_equal(call->tool_name, "finish") || text_equal(call->tool_name, "think");
}

bool policy_must_confirm(const json_t *policy, const struct policy_call *calls, size_t n)
{
    const char *kind = policy == NULL ? "NeverConfirm" : json_text_or(policy, "kind", "");

    if (n == 0 || text_equal(kind, "NeverConfirm") || (n == 1 && is_harmless(&calls[0])))
        return false;
    if (!text_equal(kind, "ConfirmRisky"))
        return true;
    for (size_t i = 0; i < n; i++) {
        if (is_risky(policy, &calls[i]))
            return true;
    }
    return false;
}
