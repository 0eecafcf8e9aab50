#include "runtime/metrics.h"

#include "base/lock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

static const int64_t bounds_ms[] = {5, 10, 20, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000};

#define N_BOUNDS ARRAY_SIZE(bounds_ms)

struct histogram {
    int64_t within[N_BOUNDS]; /* each counts what the ones before it count, too */
    int64_t n;
    int64_t sum_ms;
};

struct metrics {
    struct lock lock; /* guards all below */
    int64_t n_hits;
    int64_t n_misses[MISS_N_REASONS];
    struct histogram starts[START_N_KINDS];
    size_t n_ready;
    size_t n_wanted;
};

static const char *const kind_names[START_N_KINDS] = {
#define X(constant, text) [constant] = (text),
    START_KINDS(X)
#undef X
};

static const char *const reason_names[MISS_N_REASONS] = {
#define X(constant, text) [constant] = (text),
    MISS_REASONS(X)
#undef X
};

const char *start_kind_to_string(enum start_kind kind)
{
    return kind_names[kind];
}

struct metrics *metrics_new(void)
{
    struct metrics *metrics = NEW(struct metrics);

    lock_init(&metrics->lock);
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (metrics == NULL)
        return;
    lock_done(&metrics->lock);
    mem_free(metrics);
}

void metrics_count_hit(struct metrics *metrics)
{
    lock_take(&metrics->lock);
    metrics->n_hits++;
    lock_release(&metrics->lock);
}

void metrics_count_miss(struct metrics *metrics, enum miss_reason reason)
{
    lock_take(&metrics->lock);
    metrics->n_misses[reason]++;
    lock_release(&metrics->lock);
}

void metrics_count_start(struct metrics *metrics, enum start_kind kind, int64_t duration_ms)
{
    struct histogram *histogram = &metrics->starts[kind];

    lock_take(&metrics->lock);
    for (size_t i = 0; i < N_BOUNDS; i++)
        histogram->within[i] += duration_ms <= bounds_ms[i];
    histogram->n++;
    histogram->sum_ms += duration_ms;
    lock_release(&metrics->lock);
}

void metrics_set_pool(struct metrics *metrics, const size_t *ready, const size_t *wanted, size_t n)
{
    lock_take(&metrics->lock);
    metrics->n_ready = 0;
    metrics->n_wanted = 0;
    for (size_t i = 0; i < n; i++) {
        metrics->n_ready += ready[i];
        metrics->n_wanted += wanted[i];
    }
    lock_release(&metrics->lock);
}

static void append_type(struct strbuf *text, const char *name, const char *type)
{
    strbuf_appendf(text, "# TYPE %s %s\n", name, type);
}

static void append_pool(const struct metrics *metrics, struct strbuf *text)
{
    append_type(text, "deft_warm_idle", "gauge");
    strbuf_appendf(text, "deft_warm_idle %zu\n", metrics->n_ready);
    append_type(text, "deft_warm_target", "gauge");
    strbuf_appendf(text, "deft_warm_target %zu\n", metrics->n_wanted);
    append_type(text, "deft_warm_hit_total", "counter");
    strbuf_appendf(text, "deft_warm_hit_total %lld\n", (long long)metrics->n_hits);
    append_type(text, "deft_warm_miss_total", "counter");
    for (size_t i = 0; i < MISS_N_REASONS; i++)
        strbuf_appendf(text, "deft_warm_miss_total{reason=\"%s\"} %lld\n", reason_names[i],
                       (long long)metrics->n_misses[i]);
}

static void append_histogram(const struct histogram *histogram, const char *kind,
                             struct strbuf *text)
{
    for (size_t i = 0; i < N_BOUNDS; i++)
        strbuf_appendf(text, "deft_start_seconds_bucket{kind=\"%s\",le=\"%g\"} %lld\n", kind,
                       (double)bounds_ms[i] / 1000, (long long)histogram->within[i]);
    strbuf_appendf(text, "deft_start_seconds_bucket{kind=\"%s\",le=\"+Inf\"} %lld\n", kind,
                   (long long)histogram->n);
    strbuf_appendf(text, "deft_start_seconds_sum{kind=\"%s\"} %g\n", kind,
                   (double)histogram->sum_ms / 1000);
    strbuf_appendf(text, "deft_start_seconds_count{kind=\"%s\"} %lld\n", kind,
                   (long long)histogram->n);
}

void metrics_append(struct metrics *metrics, struct strbuf *text)
{
    lock_take(&metrics->lock);
    append_pool(metrics, text);
    append_type(text, "deft_start_seconds", "histogram");
    for (size_t i = 0; i < START_N_KINDS; i++)
        append_histogram(&metrics->starts[i], kind_names[i], text);
    lock_release(&metrics->lock);
}
