/*
 * Confirmation policies: may the agent's calls run, or must a person agree first?
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_POLICY_H
#define DEFT_WORKER_AGENT_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

/* A call that is about to run, as a policy sees it. */
struct policy_call {
    const char *tool_name;
    const char *security_risk; /* UNKNOWN, LOW, MEDIUM, HIGH */
};

/*
 * True when the batch waits for a person: any of its calls needs it. A lone `finish` or `think`
 * never does. policy: {"kind": NeverConfirm | AlwaysConfirm | ConfirmRisky, "threshold",
 * "confirm_unknown"}, or NULL; an unknown kind asks, to be safe.
 */
bool policy_must_confirm(const json_t *policy, const struct policy_call *calls, size_t n)
    __attribute__((nonnull(2))) MUST_CHECK;

#endif
