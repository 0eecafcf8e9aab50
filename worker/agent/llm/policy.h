/*
 * Confirmation policies: may the agent's calls run, or must a person agree first?
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_LLM_POLICY_H
#define DEFT_WORKER_AGENT_LLM_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

/* In rising order, but for what nobody has judged. */
enum policy_risk { POLICY_RISK_UNKNOWN, POLICY_RISK_LOW, POLICY_RISK_MEDIUM, POLICY_RISK_HIGH };

/* A call that is about to run, as a policy sees it. */
struct policy_call {
    const char *tool_name;
    enum policy_risk risk;
};

/* The risk by its name on the wire; every other word is POLICY_RISK_UNKNOWN. */
enum policy_risk policy_risk_from_string(const char *name) NONNULL MUST_CHECK;

/*
 * What an analyzer says of a call, the model's own judgement given. LLMSecurityAnalyzer passes that
 * on. The others judge by themselves, which this server cannot: POLICY_RISK_UNKNOWN; but an
 * ensemble takes the worst that is known, so that a HIGH of a member that passes on stays one.
 * NULL: nobody judges.
 */
enum policy_risk policy_judge(const json_t *analyzer, enum policy_risk own) MUST_CHECK;

/* The wire's word. Lives for ever. */
const char *policy_risk_to_string(enum policy_risk risk) MUST_CHECK;

/*
 * True when the batch waits for a person: any of its calls needs it. A lone `finish` or `think`
 * never does. policy: {"kind": NeverConfirm | AlwaysConfirm | ConfirmRisky, "threshold",
 * "confirm_unknown"}, or NULL; an unknown kind asks, to be safe.
 */
bool policy_must_confirm(const json_t *policy, const struct policy_call *calls, size_t n)
    __attribute__((nonnull(2))) MUST_CHECK;

/* True for a batch that does no more than talk: a lone `finish` or `think`. */
bool policy_is_talk(const struct policy_call *calls, size_t n) NONNULL MUST_CHECK;

#endif
