/*
 * Confirmation policies: whether the agent's calls may run or need a person's approval first.
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_LLM_POLICY_H
#define DEFT_WORKER_AGENT_LLM_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

/* By increasing risk, except UNKNOWN, which means not judged. */
enum policy_risk { POLICY_RISK_UNKNOWN, POLICY_RISK_LOW, POLICY_RISK_MEDIUM, POLICY_RISK_HIGH };

/* A call about to run, as a policy sees it. */
struct policy_call {
    const char *tool_name;
    enum policy_risk risk;
};

/* Parses a risk's wire name; any other text is POLICY_RISK_UNKNOWN. */
enum policy_risk policy_risk_from_string(const char *name) NONNULL MUST_CHECK;

/*
 * An analyzer's verdict on a call, given the model's own. LLMSecurityAnalyzer passes that on. The
 * others judge by themselves, which this server does not support: POLICY_RISK_UNKNOWN. An ensemble
 * takes the highest known risk, so a HIGH passed on by a member is kept. analyzer NULL: none.
 */
enum policy_risk policy_judge(const json_t *analyzer, enum policy_risk own) MUST_CHECK;

/* The wire name. Static storage. */
const char *policy_risk_to_string(enum policy_risk risk) MUST_CHECK;

/*
 * True if the batch needs confirmation because any of its calls does. A lone `finish` or `think`
 * never does. policy: {"kind": NeverConfirm | AlwaysConfirm | ConfirmRisky, "threshold",
 * "confirm_unknown"}, or NULL; an unknown kind requires confirmation, to be safe.
 */
bool policy_must_confirm(const json_t *policy, const struct policy_call *calls, size_t n)
    __attribute__((nonnull(2))) MUST_CHECK;

/* True for a batch without side effects: a lone `finish` or `think`. */
bool policy_is_talk(const struct policy_call *calls, size_t n) NONNULL MUST_CHECK;

#endif
