/*
 * Security analyzers: the risk of a call, for the confirmation policy.
 *
 * Threading: pure.
 * Decision:  docs/decisions/0091-security-analyzers.md
 */
#ifndef DEFT_MODEL_SECURITY_SECURITY_ANALYZER_H
#define DEFT_MODEL_SECURITY_SECURITY_ANALYZER_H

#include <jansson.h>

#include "base/attr.h"
#include "model/security/policy_risk.h"

struct security_call;

/*
 * The analyzer's verdict on the call. An analyzer of another service, and one nested too deep, says
 * POLICY_RISK_UNKNOWN. analyzer: {"kind", …} or NULL for none.
 */
enum policy_risk security_analyzer_judge(const json_t *analyzer, const struct security_call *call)
    __attribute__((nonnull(2))) MUST_CHECK;

#endif
