/*
 * Which calls of an answer may run at once: up to a limit, those that share no resource. Calls that
 * share one keep their order. Calls for sub-agents run at once only with each other, and some calls
 * run alone: after all before them and before all after them. With a limit of one, calls run in
 * order.
 *
 * Ownership: the caller owns the calls; call_plan_done() releases the plan and the calls' keys.
 * Threading: pure.
 * Decision: docs/decisions/0083-calls-at-once.md
 */
#ifndef DEFT_WORKER_AGENT_CALLS_CALL_PLAN_H
#define DEFT_WORKER_AGENT_CALLS_CALL_PLAN_H

#include <stddef.h>

#include "base/attr.h"
#include "model/tools/resource_keys.h"

enum call_progress { CALL_WAITING, CALL_RUNNING, CALL_OVER };

/* Which other calls may run at the same time. */
enum call_company { COMPANY_OF_CALLS, COMPANY_OF_SUB_AGENTS, COMPANY_OF_NONE };

struct planned_call {
    struct resource_keys keys;
    enum call_company company;
    enum call_progress progress;
};

struct call_plan {
    struct planned_call *calls; /* in the order of the answer */
    size_t n;
    size_t limit;  /* calls that run at once */
    size_t n_over; /* the calls before this index are over */
};

/* n calls, all waiting, without keys. */
void call_plan_init(struct call_plan *plan, size_t n, size_t limit) NONNULL;
void call_plan_done(struct call_plan *plan);
/* The index of the next call to start; n if none may start before another one is over. */
size_t call_plan_next(struct call_plan *plan) NONNULL MUST_CHECK;

#endif
