#include "model/stats.h"

#include "base/json.h"

/* The newest of each list are kept: the row is written at every step. */
enum { LIST_MAX_ITEMS = 10 };

struct counter {
    const char *name;
    int64_t value;
};

static json_t *usage_new(const char *model)
{
    json_t *usage = json_object();

    json_put_text(usage, "model", model);
    json_put(usage, "prompt_tokens", json_integer(0));
    json_put(usage, "completion_tokens", json_integer(0));
    json_put(usage, "cache_read_tokens", json_integer(0));
    json_put(usage, "cache_write_tokens", json_integer(0));
    json_put(usage, "reasoning_tokens", json_integer(0));
    json_put(usage, "context_window", json_integer(0));
    json_put(usage, "per_turn_token", json_integer(0));
    json_put_text(usage, "response_id", "");
    return usage;
}

static json_t *metrics_new(const char *model)
{
    json_t *metrics = json_object();

    json_put_text(metrics, "model_name", model);
    json_put(metrics, "accumulated_cost", json_real(0));
    json_put(metrics, "max_budget_per_task", json_null());
    json_put(metrics, "accumulated_token_usage", usage_new(model));
    json_put(metrics, "costs", json_array());
    json_put(metrics, "response_latencies", json_array());
    json_put(metrics, "token_usages", json_array());
    return metrics;
}

json_t *stats_new(void)
{
    json_t *stats = json_object();

    json_put(stats, "usage_to_metrics", json_object());
    return stats;
}

/* The member's object, made when it is missing. Borrowed. */
static json_t *metrics_of(json_t *stats, const struct llm_usage *usage)
{
    json_t *map = json_object_get(stats, "usage_to_metrics");
    json_t *metrics = NULL;

    if (map == NULL) {
        map = json_object();
        json_put(stats, "usage_to_metrics", map);
    }
    metrics = json_object_get(map, usage->usage_id);
    if (metrics == NULL) {
        metrics = metrics_new(usage->model);
        json_put(map, usage->usage_id, metrics);
    }
    return metrics;
}

static void list_add(json_t *metrics, const char *name, json_t *entry)
{
    json_t *list = json_object_get(metrics, name);

    if (list == NULL) {
        list = json_array();
        json_put(metrics, name, list);
    }
    if (json_array_size(list) >= LIST_MAX_ITEMS)
        (void)json_array_remove(list, 0);
    json_push(list, entry);
}

static void usage_accumulate(json_t *sum, const struct llm_usage *usage)
{
    const struct counter counters[] = {
        {"prompt_tokens", usage->prompt_tokens},
        {"completion_tokens", usage->completion_tokens},
        {"cache_read_tokens", usage->cache_read_tokens},
        {"cache_write_tokens", usage->cache_write_tokens},
        {"reasoning_tokens", usage->reasoning_tokens},
    };
    json_int_t window = json_int_or(sum, "context_window", 0);

    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        json_int_t before = json_int_or(sum, counters[i].name, 0);

        if (counters[i].value > 0)
            json_put(sum, counters[i].name, json_integer(before + counters[i].value));
    }
    if (usage->context_window > window)
        json_put(sum, "context_window", json_integer(usage->context_window));
    json_put(sum, "per_turn_token", json_integer(usage->prompt_tokens + usage->completion_tokens));
}

static json_t *cost_entry(const struct llm_usage *usage)
{
    json_t *entry = json_object();

    json_put_text(entry, "model", usage->model);
    json_put(entry, "cost", json_real(usage->cost));
    json_put(entry, "timestamp", json_real(usage->at_s));
    return entry;
}

static json_t *latency_entry(const struct llm_usage *usage)
{
    json_t *entry = json_object();

    json_put_text(entry, "model", usage->model);
    json_put(entry, "latency", json_real(usage->latency_s > 0 ? usage->latency_s : 0));
    json_put_text(entry, "response_id", usage->response_id);
    return entry;
}

static json_t *usage_entry(const struct llm_usage *usage)
{
    json_t *entry = usage_new(usage->model);

    usage_accumulate(entry, usage);
    json_put_text(entry, "response_id", usage->response_id);
    return entry;
}

void stats_add(json_t *stats, const struct llm_usage *usage)
{
    json_t *metrics = metrics_of(stats, usage);
    json_t *sum = json_object_get(metrics, "accumulated_token_usage");
    double cost = json_number_or(metrics, "accumulated_cost", 0);

    if (!json_is_object(sum)) {
        sum = usage_new(usage->model);
        json_put(metrics, "accumulated_token_usage", sum);
    }
    usage_accumulate(sum, usage);
    list_add(metrics, "response_latencies", latency_entry(usage));
    list_add(metrics, "token_usages", usage_entry(usage));
    if (usage->cost > 0) {
        json_put(metrics, "accumulated_cost", json_real(cost + usage->cost));
        list_add(metrics, "costs", cost_entry(usage));
    }
}

json_t *stats_snapshot(const json_t *stats)
{
    static const char *const members[] = {"model_name", "accumulated_cost", "max_budget_per_task",
                                          "accumulated_token_usage"};
    json_t *map = json_object();
    json_t *snapshot = json_object();
    const char *usage_id = NULL;
    json_t *metrics = NULL;

    json_object_foreach (json_object_get(stats, "usage_to_metrics"), usage_id, metrics) {
        json_t *copy = json_object();

        for (size_t i = 0; i < ARRAY_SIZE(members); i++)
            json_put(copy, members[i], json_deep_copy(json_object_get(metrics, members[i])));
        json_put(map, usage_id, copy);
    }
    json_put(snapshot, "usage_to_metrics", map);
    return snapshot;
}
