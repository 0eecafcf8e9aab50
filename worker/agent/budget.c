#include "worker/agent/budget.h"

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "llm/llm.h"
#include "model/conversation/conversation.h"
#include "model/event/stats.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/model.h"
#include "worker/context.h"

static bool has_price(const struct agent *agent, struct strbuf *model_out)
{
    CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;

    model_choose(agent->context, &agent->conversation, agent->llm_spec, &agent->llm_key, &choice);
    strbuf_append(model_out, json_text_or(choice.spec, "model", ""));
    return llm_has_price(agent->context->catalogue, choice.spec);
}

bool budget_forbids_call(const struct agent *agent, struct strbuf *detail_out)
{
    CLEANUP(strbuf_done) struct strbuf model = STRBUF_INIT;
    double budget = conversation_budget(&agent->conversation);
    double cost = stats_total_cost(agent->stats);

    if (budget < 0)
        return false;
    if (cost >= budget) {
        strbuf_appendf(detail_out,
                       "The agent reached the budget of $%.4f: the conversation has cost $%.4f. "
                       "Raise its max_budget_per_run and run it again to let it go on.",
                       budget, cost);
        return true;
    }
    if (agent->context->settings.budget_unpriced != 0 || has_price(agent, &model))
        return false;
    strbuf_appendf(detail_out,
                   "The price of the model %s is unknown, so the budget of $%.4f cannot be kept; "
                   "the conversation has cost $%.4f. Set the model's input_cost_per_token and "
                   "output_cost_per_token, or remove the budget.",
                   model.text, budget, cost);
    return true;
}
