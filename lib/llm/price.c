#include "llm/price.h"

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "llm/llm.h"
#include "llm/llm_error.h"
#include "llm/route.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/model_table.h"
#include "model/event/stats.h"

static const double MILLION = 1e6;

/* A model without a price of its own for cached tokens has that of its input. */
static double price_or(double price, double input)
{
    return price >= 0 ? price : input;
}

static double listed_price(const struct model_facts *facts, const struct llm_usage *usage)
{
    int64_t n_fresh = usage->prompt_tokens - usage->cache_read_tokens - usage->cache_write_tokens;

    if (facts == NULL || facts->input < 0 || n_fresh < 0)
        return COST_UNKNOWN;
    return (facts->input * (double)n_fresh +
            price_or(facts->cache_read, facts->input) * (double)usage->cache_read_tokens +
            price_or(facts->cache_write, facts->input) * (double)usage->cache_write_tokens +
            facts->output * (double)usage->completion_tokens) /
           MILLION;
}

double price_of(const json_t *spec, const struct model_facts *facts, const struct llm_usage *usage)
{
    double in = json_number_or(spec, "input_cost_per_token", -1);
    double out = json_number_or(spec, "output_cost_per_token", -1);

    if (usage->cost > 0)
        return usage->cost;
    if (in >= 0 || out >= 0)
        return (in > 0 ? in : 0) * (double)usage->prompt_tokens +
               (out > 0 ? out : 0) * (double)usage->completion_tokens;
    return listed_price(facts, usage);
}

/* A proxy reports the cost with its answer. */
static bool has_proxy(const json_t *spec)
{
    CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
    struct llm_error ignored = LLM_ERROR_INIT;

    return llm_route_find(json_text_or(spec, "model", ""), json_text_or(spec, "base_url", NULL),
                          &route, &ignored) == 0 &&
           route.provider->takes_litellm;
}

bool llm_has_price(const struct catalogue *catalogue, const json_t *spec)
{
    const struct model_facts *facts = catalogue_find_model(catalogue, catalogue_model_name(spec));

    return json_number_or(spec, "input_cost_per_token", -1) >= 0 ||
           json_number_or(spec, "output_cost_per_token", -1) >= 0 ||
           (facts != NULL && facts->input >= 0) || has_proxy(spec);
}
