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
#include "model/security/policy_risk.h"

/* A call about to run, as a policy sees it. */
struct policy_call {
    const char *tool_name;
    enum policy_risk risk;
};

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
