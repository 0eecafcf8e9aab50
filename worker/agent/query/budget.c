#include "worker/agent/query/budget.h"

#include <stdint.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "llm/llm.h"
#include "model/conversation/conversation.h"
#include "model/event/stats.h"
#include "store/user/spending_store.h"
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

/* Appends why nothing may be spent if the price of the model is unknown. */
static void refuse_unpriced(const struct agent *agent, const char *budget, struct strbuf *detail)
{
    CLEANUP(strbuf_done) struct strbuf model = STRBUF_INIT;

    if (agent->context->settings.budget_unpriced != 0 || has_price(agent, &model))
        return;
    strbuf_appendf(detail,
                   "The price of the model %s is unknown, so the budget of %s cannot be kept; "
                   "the conversation has cost $%.4f. Set the model's input_cost_per_token and "
                   "output_cost_per_token, or remove the budget.",
                   model.text, budget, stats_total_cost(agent->stats));
}

static void check_conversation(const struct agent *agent, struct strbuf *detail)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    double budget = conversation_budget(&agent->conversation);
    double cost = stats_total_cost(agent->stats);

    if (budget < 0)
        return;
    strbuf_appendf(&words, "$%.4f", budget);
    if (cost >= budget)
        strbuf_appendf(detail,
                       "The agent reached the budget of %s: the conversation has cost $%.4f. "
                       "Raise its max_budget_per_run and run it again to let it go on.",
                       words.text, cost);
    else
        refuse_unpriced(agent, words.text, detail);
}

/* --- of the user --- */

/* A limit of the instance on what a user spends. */
struct limit {
    int64_t most_nanos; /* 0: none */
    int64_t spent_nanos;
    const char *whose;
    const char *advice;
};

static double dollars(int64_t nanos)
{
    return (double)nanos / NANOS_PER_DOLLAR;
}

static void check_limit(const struct agent *agent, const struct limit *limit, struct strbuf *detail)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    if (limit->most_nanos == 0 || detail->len > 0)
        return;
    strbuf_appendf(&words, "$%.4f %s", dollars(limit->most_nanos), limit->whose);
    if (limit->spent_nanos >= limit->most_nanos)
        strbuf_appendf(detail, "Your conversations reached the budget of %s: they cost $%.4f. %s",
                       words.text, dollars(limit->spent_nanos), limit->advice);
    else
        refuse_unpriced(agent, words.text, detail);
}

static int check_user(struct agent *agent, struct strbuf *detail, struct error *err)
{
    const struct worker_settings *settings = &agent->context->settings;
    const struct budget_limits limits = {settings->budget_per_user_cents,
                                         settings->budget_per_day_cents};
    struct spending spending = {.user_limit_nanos = 0};
    int64_t now_ms = clock_monotonic_ms();

    if (now_ms < agent->unlimited_until_ms)
        return 0;
    if (spending_store_read(agent->context->db, &agent->conversation.user_id, &limits, &spending,
                            err) < 0)
        return -1;
    if (spending.user_limit_nanos == 0 && spending.day_limit_nanos == 0)
        agent->unlimited_until_ms = now_ms + BUDGET_UNLIMITED_MS;
    check_limit(agent,
                &(struct limit){spending.user_limit_nanos, spending.user_nanos, "per user",
                                "Only the administrator can raise it."},
                detail);
    check_limit(agent,
                &(struct limit){spending.day_limit_nanos, spending.day_nanos, "per day",
                                "Raise it for today with POST /api/budget/extend, or wait for the "
                                "next day (UTC), and run the conversation again."},
                detail);
    return 0;
}

int budget_check_call(struct agent *agent, struct strbuf *detail_out, struct error *err)
{
    check_conversation(agent, detail_out);
    return detail_out->len > 0 ? 0 : check_user(agent, detail_out, err);
}

bool budget_allows_model(const struct agent *agent, const json_t *llm)
{
    return conversation_budget(&agent->conversation) < 0 ||
           agent->context->settings.budget_unpriced != 0 ||
           llm_has_price(agent->context->catalogue, llm);
}
