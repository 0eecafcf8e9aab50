#include "model/event/stats.h"

#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

/* Beyond, a call does not cost that, and billionths would not fit. */
#define MOST_DOLLARS 1e9

/* Only the newest entries of a list are kept, since the row is written at every step. */
enum { LIST_MAX_ITEMS = 10, TEXT_USUAL_BYTES = 5000 };

enum list_kind { LIST_COSTS, LIST_LATENCIES, LIST_USAGES, N_LISTS };

static const char *const list_names[N_LISTS] = {
    [LIST_COSTS] = "costs",
    [LIST_LATENCIES] = "response_latencies",
    [LIST_USAGES] = "token_usages",
};

/* The text of each entry, oldest first. */
struct list {
    char *items[LIST_MAX_ITEMS];
    size_t n;
};

/* The metrics of one usage id. */
struct usage_metrics {
    char *usage_id;
    json_t *head; /* without the lists */
    struct list lists[N_LISTS];
};

struct stats {
    struct usage_metrics *items;
    size_t n;
};

struct counter {
    const char *name;
    int64_t value;
};

static json_t *count_of(int64_t n)
{
    return json_integer(n > 0 ? n : 0);
}

static json_t *usage_entry(const struct llm_usage *usage)
{
    json_t *entry = json_object();

    json_put_text(entry, "model", usage->model);
    json_put(entry, "prompt_tokens", count_of(usage->prompt_tokens));
    json_put(entry, "completion_tokens", count_of(usage->completion_tokens));
    json_put(entry, "cache_read_tokens", count_of(usage->cache_read_tokens));
    json_put(entry, "cache_write_tokens", count_of(usage->cache_write_tokens));
    json_put(entry, "reasoning_tokens", count_of(usage->reasoning_tokens));
    json_put(entry, "context_window", count_of(usage->context_window));
    json_put(entry, "per_turn_token",
             json_integer(usage->prompt_tokens + usage->completion_tokens));
    json_put_text(entry, "response_id", usage->response_id);
    return entry;
}

static json_t *usage_new(const char *model)
{
    return usage_entry(&(struct llm_usage){.model = model, .response_id = ""});
}

/* --- life --- */

json_t *stats_new(void)
{
    json_t *stats = json_object();

    json_put(stats, "usage_to_metrics", json_object());
    return stats;
}

static void list_done(struct list *list)
{
    for (size_t i = 0; i < list->n; i++)
        mem_free(list->items[i]);
}

static void list_add(struct list *list, const json_t *entry)
{
    if (list->n == LIST_MAX_ITEMS) {
        mem_free(list->items[0]);
        list->n--;
        memmove(list->items, list->items + 1, list->n * sizeof(list->items[0]));
    }
    list->items[list->n++] = json_to_text(entry);
}

static json_t *head_new(const char *model)
{
    json_t *head = json_object();

    json_put_text(head, "model_name", model);
    json_put(head, "accumulated_cost", json_real(0));
    json_put(head, "max_budget_per_task", json_null());
    json_put(head, "accumulated_token_usage", usage_new(model));
    return head;
}

/* Appends an entry; the caller sets its head. */
static struct usage_metrics *add_metrics(struct stats *stats, const char *usage_id)
{
    struct usage_metrics *metrics = NULL;

    stats->items = mem_resize(stats->items, (stats->n + 1) * sizeof(*stats->items));
    metrics = &stats->items[stats->n++];
    *metrics = (struct usage_metrics){.usage_id = mem_dup_text(usage_id)};
    return metrics;
}

static void read_metrics(struct stats *stats, const char *usage_id, const json_t *stored)
{
    struct usage_metrics *metrics = add_metrics(stats, usage_id);
    json_auto_t *copy = json_deep_copy(stored);

    metrics->head = head_new(json_text_or(stored, "model_name", ""));
    (void)json_object_update(metrics->head, copy);
    for (size_t kind = 0; kind < N_LISTS; kind++) {
        const json_t *entry = NULL;
        size_t i = 0;

        json_array_foreach (json_object_get(stored, list_names[kind]), i, entry)
            list_add(&metrics->lists[kind], entry);
        (void)json_object_del(metrics->head, list_names[kind]);
    }
}

struct stats *stats_open(const json_t *stored)
{
    struct stats *stats = NEW(struct stats);
    const char *usage_id = NULL;
    json_t *metrics = NULL;

    json_object_foreach (json_object_get(stored, "usage_to_metrics"), usage_id, metrics) {
        if (json_is_object(metrics))
            read_metrics(stats, usage_id, metrics);
    }
    return stats;
}

void stats_free(struct stats *stats)
{
    if (stats == NULL)
        return;
    for (size_t i = 0; i < stats->n; i++) {
        for (size_t kind = 0; kind < N_LISTS; kind++)
            list_done(&stats->items[i].lists[kind]);
        json_decref(stats->items[i].head);
        mem_free(stats->items[i].usage_id);
    }
    mem_free(stats->items);
    mem_free(stats);
}

void stats_freep(struct stats **stats)
{
    stats_free(*stats);
    *stats = NULL;
}

/* --- counting --- */

static struct usage_metrics *metrics_of(struct stats *stats, const char *usage_id,
                                        const char *model)
{
    struct usage_metrics *metrics = NULL;

    for (size_t i = 0; i < stats->n; i++) {
        if (text_equal(stats->items[i].usage_id, usage_id))
            return &stats->items[i];
    }
    metrics = add_metrics(stats, usage_id);
    metrics->head = head_new(model);
    return metrics;
}

void stats_register(struct stats *stats, const char *usage_id, const char *model)
{
    (void)metrics_of(stats, usage_id, model);
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

void stats_add(struct stats *stats, const struct llm_usage *usage)
{
    struct usage_metrics *metrics = metrics_of(stats, usage->usage_id, usage->model);
    json_auto_t *latency = latency_entry(usage);
    json_auto_t *tokens = usage_entry(usage);
    json_t *sum = json_object_get(metrics->head, "accumulated_token_usage");
    double cost = json_number_or(metrics->head, "accumulated_cost", 0);

    if (!json_is_object(sum)) {
        sum = usage_new(usage->model);
        json_put(metrics->head, "accumulated_token_usage", sum);
    }
    usage_accumulate(sum, usage);
    list_add(&metrics->lists[LIST_LATENCIES], latency);
    list_add(&metrics->lists[LIST_USAGES], tokens);
    if (usage->cost > 0) {
        json_auto_t *entry = cost_entry(usage);

        json_put(metrics->head, "accumulated_cost", json_real(cost + usage->cost));
        list_add(&metrics->lists[LIST_COSTS], entry);
    }
}

static void add_tokens(json_t *sum, const json_t *tokens)
{
    static const char *const counters[] = {"prompt_tokens", "completion_tokens",
                                           "cache_read_tokens", "cache_write_tokens",
                                           "reasoning_tokens"};
    json_int_t window = json_int_or(tokens, "context_window", 0);

    for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
        json_put(
            sum, counters[i],
            json_integer(json_int_or(sum, counters[i], 0) + json_int_or(tokens, counters[i], 0)));
    if (window > json_int_or(sum, "context_window", 0))
        json_put(sum, "context_window", json_integer(window));
}

void stats_set_sum(struct stats *stats, const char *usage_id, const json_t *stored)
{
    struct usage_metrics *metrics = metrics_of(stats, usage_id, "");
    const char *name = NULL;
    json_t *part = NULL;
    const char *model = "";
    json_t *tokens = NULL;
    double cost = 0;

    json_object_foreach (json_object_get(stored, "usage_to_metrics"), name, part) {
        if (model[0] == '\0')
            model = json_text_or(part, "model_name", "");
        cost += json_number_or(part, "accumulated_cost", 0);
    }
    tokens = usage_new(model);
    json_object_foreach (json_object_get(stored, "usage_to_metrics"), name, part)
        add_tokens(tokens, json_object_get(part, "accumulated_token_usage"));
    json_put_text(metrics->head, "model_name", model);
    json_put(metrics->head, "accumulated_cost", json_real(cost));
    json_put(metrics->head, "accumulated_token_usage", tokens);
}

int64_t cost_to_nanos(double cost)
{
    return cost > 0 && cost < MOST_DOLLARS ? (int64_t)(cost * NANOS_PER_DOLLAR + 0.5) : 0;
}

double stats_total_cost(const struct stats *stats)
{
    double sum = 0;

    for (size_t i = 0; i < stats->n; i++)
        sum += json_number_or(stats->items[i].head, "accumulated_cost", 0);
    return sum;
}

/* --- forms --- */

static void append_list(const struct list *list, const char *name, struct strbuf *out)
{
    strbuf_appendf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            strbuf_append_char(out, ',');
        strbuf_append(out, list->items[i]);
    }
    strbuf_append_char(out, ']');
}

/* Appends one object of the head's members followed by the lists. */
static void append_metrics(const struct usage_metrics *metrics, struct strbuf *out)
{
    json_append_text(out, metrics->head);
    strbuf_truncate(out, out->len - 1);
    for (size_t kind = 0; kind < N_LISTS; kind++)
        append_list(&metrics->lists[kind], list_names[kind], out);
    strbuf_append_char(out, '}');
}

void stats_append_text(const struct stats *stats, struct strbuf *out)
{
    strbuf_reserve(out, TEXT_USUAL_BYTES);
    strbuf_append(out, "{\"usage_to_metrics\":{");
    for (size_t i = 0; i < stats->n; i++) {
        json_auto_t *usage_id = json_text_of(stats->items[i].usage_id);

        if (i > 0)
            strbuf_append_char(out, ',');
        json_append_text(out, usage_id);
        strbuf_append_char(out, ':');
        append_metrics(&stats->items[i], out);
    }
    strbuf_append(out, "}}");
}

json_t *stats_snapshot(const struct stats *stats)
{
    json_t *snapshot = stats_new();
    json_t *map = json_object_get(snapshot, "usage_to_metrics");

    for (size_t i = 0; i < stats->n; i++)
        json_put(map, stats->items[i].usage_id, json_deep_copy(stats->items[i].head));
    return snapshot;
}
