/*
 * Counters of this process for Prometheus; values from the database are added when they are read.
 *
 * Threading: any thread.
 * Source:    https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4)
 */
#ifndef DEFT_RUNTIME_CORE_RUNTIME_METRICS_H
#define DEFT_RUNTIME_CORE_RUNTIME_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct backend_space;
struct pool_class;
struct runtime_metrics;
struct strbuf;
struct tenant_count_list;

#define START_KINDS(X) X(START_WARM, "warm") X(START_COLD, "cold")
/* Why a start missed the warm pool: no member was ready, or the class was not known. */
#define MISS_REASONS(X) X(MISS_NONE_READY, "none_ready") X(MISS_CLASS, "class")

#define X(constant, text) constant,
enum start_kind { START_KINDS(X) START_N_KINDS };
enum miss_reason { MISS_REASONS(X) MISS_N_REASONS };
#undef X

const char *start_kind_to_string(enum start_kind kind) MUST_CHECK;

struct runtime_metrics *metrics_new(void) MUST_CHECK;
void metrics_free(struct runtime_metrics *metrics);
/* A start used a warm sandbox. */
void metrics_count_hit(struct runtime_metrics *metrics) NONNULL;
/* A start found no warm sandbox. */
void metrics_count_miss(struct runtime_metrics *metrics, enum miss_reason reason) NONNULL;
/* A sandbox started; duration_ms: since its start began. */
void metrics_count_start(struct runtime_metrics *metrics, enum start_kind kind,
                         int64_t duration_ms) NONNULL;
/* A start failed; detail: the error message. */
void metrics_count_failure(struct runtime_metrics *metrics, const char *detail) NONNULL;

/* Members of a class: ready, and wanted. */
struct metrics_pool {
    const struct pool_class *class;
    size_t n_ready;
    size_t n_wanted;
};
/* n: POOL_CLASSES_MAX at most. */
void metrics_set_pool(struct runtime_metrics *metrics, const struct metrics_pool *pools,
                      size_t n) NONNULL;

/* room: free_bytes is -1 if unknown. */
void metrics_append(struct runtime_metrics *metrics, const struct tenant_count_list *counts,
                    const struct backend_space *space, struct strbuf *text) NONNULL;

#endif
