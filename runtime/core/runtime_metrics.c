#include "runtime/core/runtime_metrics.h"

#include <assert.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/failure_reason.h"
#include "runtime/core/pool_sizing.h"
#include "store/runtime/runtime_count_store.h"

#define NANO_PER_CPU 1e9

static const int64_t bounds_ms[] = {5, 10, 20, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000};

#define N_BOUNDS ARRAY_SIZE(bounds_ms)

struct histogram {
    int64_t within[N_BOUNDS]; /* cumulative: includes the lower buckets */
    int64_t n;
    int64_t sum_ms;
};

struct pool_gauge {
    struct pool_class class;
    size_t n_ready;
    size_t n_wanted;
};

struct runtime_metrics {
    struct lock lock; /* guards all below */
    int64_t n_hits;
    int64_t n_misses[MISS_N_REASONS];
    struct histogram starts[START_N_KINDS];
    int64_t n_failures[FAILURE_REASONS_MAX]; /* by failure_reason_index() */
    struct pool_gauge pools[POOL_CLASSES_MAX];
    size_t n_pools;
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

struct runtime_metrics *metrics_new(void)
{
    struct runtime_metrics *metrics = NEW(struct runtime_metrics);

    lock_init(&metrics->lock);
    return metrics;
}

void metrics_free(struct runtime_metrics *metrics)
{
    if (metrics == NULL)
        return;
    lock_done(&metrics->lock);
    mem_free(metrics);
}

void metrics_count_hit(struct runtime_metrics *metrics)
{
    lock_take(&metrics->lock);
    metrics->n_hits++;
    lock_release(&metrics->lock);
}

void metrics_count_miss(struct runtime_metrics *metrics, enum miss_reason reason)
{
    lock_take(&metrics->lock);
    metrics->n_misses[reason]++;
    lock_release(&metrics->lock);
}

void metrics_count_start(struct runtime_metrics *metrics, enum start_kind kind, int64_t duration_ms)
{
    struct histogram *histogram = &metrics->starts[kind];

    lock_take(&metrics->lock);
    for (size_t i = 0; i < N_BOUNDS; i++)
        histogram->within[i] += duration_ms <= bounds_ms[i];
    histogram->n++;
    histogram->sum_ms += duration_ms;
    lock_release(&metrics->lock);
}

void metrics_count_failure(struct runtime_metrics *metrics, const char *detail)
{
    lock_take(&metrics->lock);
    metrics->n_failures[failure_reason_index(detail)]++;
    lock_release(&metrics->lock);
}

void metrics_set_pool(struct runtime_metrics *metrics, const struct metrics_pool *pools, size_t n)
{
    assert(n <= POOL_CLASSES_MAX);
    lock_take(&metrics->lock);
    for (size_t i = 0; i < n; i++)
        metrics->pools[i] =
            (struct pool_gauge){*pools[i].class, pools[i].n_ready, pools[i].n_wanted};
    metrics->n_pools = n;
    lock_release(&metrics->lock);
}

/* --- text --- */

static void append_head(struct strbuf *text, const char *name, const char *type, const char *help)
{
    strbuf_appendf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Escapes a label value: image and key names are user input. */
static void append_value(struct strbuf *text, const char *value)
{
    for (; *value != '\0'; value++) {
        if (*value == '\n') {
            strbuf_append(text, "\\n");
            continue;
        }
        if (*value == '\\' || *value == '"')
            strbuf_append_char(text, '\\');
        strbuf_append_char(text, *value);
    }
}

static void append_class(struct strbuf *text, const char *name, const struct pool_gauge *pool,
                         size_t n)
{
    strbuf_appendf(text, "%s{image=\"", name);
    append_value(text, pool->class.image);
    strbuf_appendf(text, "\",memory_bytes=\"%lld\",cpus=\"%g\"} %zu\n",
                   (long long)pool->class.memory_bytes,
                   (double)pool->class.nano_cpus / NANO_PER_CPU, n);
}

static void append_pools(const struct runtime_metrics *metrics, struct strbuf *text)
{
    append_head(text, "deft_warm_idle", "gauge", "Warm sandboxes, by class.");
    for (size_t i = 0; i < metrics->n_pools; i++)
        append_class(text, "deft_warm_idle", &metrics->pools[i], metrics->pools[i].n_ready);
    append_head(text, "deft_warm_target", "gauge", "Target number of warm sandboxes, by class.");
    for (size_t i = 0; i < metrics->n_pools; i++)
        append_class(text, "deft_warm_target", &metrics->pools[i], metrics->pools[i].n_wanted);
}

static void append_claims(const struct runtime_metrics *metrics, struct strbuf *text)
{
    append_head(text, "deft_warm_hit_total", "counter", "Starts that claimed a warm sandbox.");
    strbuf_appendf(text, "deft_warm_hit_total %lld\n", (long long)metrics->n_hits);
    append_head(text, "deft_warm_miss_total", "counter",
                "Starts that claimed no warm sandbox, by reason.");
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

static void append_starts(const struct runtime_metrics *metrics, struct strbuf *text)
{
    append_head(text, "deft_start_seconds", "histogram",
                "Time from the start request until the sandbox has its key.");
    for (size_t i = 0; i < START_N_KINDS; i++)
        append_histogram(&metrics->starts[i], kind_names[i], text);
    append_head(text, "deft_start_failed_total", "counter", "Failed starts, by reason.");
    for (size_t i = 0; i < FAILURE_REASONS_MAX; i++) {
        if (failure_reason_at(i) != NULL)
            strbuf_appendf(text, "deft_start_failed_total{reason=\"%s\"} %lld\n",
                           failure_reason_at(i), (long long)metrics->n_failures[i]);
    }
}

/* Without a tenant: deft's own sandboxes. */
static void append_counts(const struct tenant_count_list *counts, struct strbuf *text)
{
    append_head(text, "deft_sandboxes", "gauge", "Sandboxes, by status and Runtime API key.");
    for (size_t i = 0; i < counts->n; i++) {
        strbuf_append(text, "deft_sandboxes{tenant=\"");
        append_value(text, counts->items[i].tenant);
        strbuf_appendf(text, "\",status=\"%s\"} %lld\n", counts->items[i].status,
                       (long long)counts->items[i].count);
    }
}

static void append_room(const struct backend_space *space, struct strbuf *text)
{
    if (space->free_bytes < 0)
        return;
    append_head(text, "deft_disk_free_bytes", "gauge",
                "Free bytes on the disk of the engine's data.");
    strbuf_appendf(text, "deft_disk_free_bytes %lld\n", (long long)space->free_bytes);
    if (space->n_free_files == INT64_MAX)
        return;
    append_head(text, "deft_disk_free_files", "gauge",
                "Free inodes on the disk of the engine's data.");
    strbuf_appendf(text, "deft_disk_free_files %lld\n", (long long)space->n_free_files);
}

void metrics_append(struct runtime_metrics *metrics, const struct tenant_count_list *counts,
                    const struct backend_space *space, struct strbuf *text)
{
    lock_take(&metrics->lock);
    append_pools(metrics, text);
    append_claims(metrics, text);
    append_starts(metrics, text);
    lock_release(&metrics->lock);
    append_counts(counts, text);
    append_room(space, text);
}
