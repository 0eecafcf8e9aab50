#include "model/security/policy_risk.h"

#include <stddef.h>

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
