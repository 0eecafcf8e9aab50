#include "llm/price.h"

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "llm/model_info.h"
#include "model/event/stats.h"

static const double MILLION = 1e6;

double price_of(const json_t *spec, const char *model, const struct llm_usage *usage)
{
    const struct model_info_price *price = model_info_price_of(model);
    double in = json_number_or(spec, "input_cost_per_token", -1);
    double out = json_number_or(spec, "output_cost_per_token", -1);
    int64_t n_fresh = usage->prompt_tokens - usage->cache_read_tokens;

    if (usage->cost > 0)
        return usage->cost;
    if (in >= 0 || out >= 0)
        return (in > 0 ? in : 0) * (double)usage->prompt_tokens +
               (out > 0 ? out : 0) * (double)usage->completion_tokens;
    if (price == NULL || n_fresh < 0)
        return 0;
    return (price->input_per_million * (double)n_fresh +
            price->cached_per_million * (double)usage->cache_read_tokens +
            price->output_per_million * (double)usage->completion_tokens) /
           MILLION;
}
