/*
 * What a run's budget leaves for its sub-agents: those that run at once share it.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_SUB_AGENT_BUDGET_H
#define DEFT_WORKER_AGENT_CALLS_SUB_AGENT_BUDGET_H

#include <stddef.h>

#include "base/attr.h"

struct agent;

struct sub_agent_shares {
    size_t limit;     /* sub-agents that run at once */
    size_t n_running; /* they have work, and no result is stored */
    double reserved;  /* their budgets, in US dollars */
    size_t n_waiting; /* to be begun, this one included */
};

/* The budget of the next sub-agent in US dollars, at least 0; -1: any amount. */
double sub_agent_allowance(const struct agent *agent,
                           const struct sub_agent_shares *shares) NONNULL MUST_CHECK;

#endif
