#include "worker/agent/calls/sub_agent_budget.h"

#include "model/conversation/conversation.h"
#include "model/event/stats.h"
#include "worker/agent/core/agent.h"

double sub_agent_allowance(const struct agent *agent, const struct sub_agent_shares *shares)
{
    double budget = conversation_budget(&agent->conversation);
    double left = budget - stats_total_cost(agent->stats) - shares->reserved;
    size_t n_free = shares->limit > shares->n_running ? shares->limit - shares->n_running : 1;
    size_t n = shares->n_waiting < n_free ? shares->n_waiting : n_free;

    if (budget < 0)
        return -1;
    if (left <= 0)
        return 0;
    return n > 1 ? left / (double)n : left;
}
